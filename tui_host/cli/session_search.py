"""The command `sessions search`: sessions by title, conversation and records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_host.capture.ladder.filter_language import read_filter
from tui_host.capture.store.record_search import MOST_BYTES, RecordSearch
from tui_host.capture.store.search import Found, search
from tui_host.cli import diagnostics
from tui_host.cli import standard_output as output
from tui_host.errors import JSON, SettingsError
from tui_host.llm.exchange_summary import answer_text
from tui_host.llm.outline import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from tui_host.capture.store.store import Store
    from tui_host.cli.arguments import Arguments


def search_sessions(store: Store, arguments: Arguments) -> None:
    """Print the sessions that match: first by title and conversation, then by records alone; the last changed first.

    Raises:
        SettingsError: A term of the filter is wrong.
    """
    matches, unsearched = matching(store, " ".join(arguments.words), is_all=arguments.all)
    if unsearched:
        diagnostics.tell(f"the records of {unsearched:,} older sessions were not searched: --all searches them too")
    _print(matches, as_json=arguments.json)


def matching(
    store: Store, text: str, *, is_all: bool, within: Container[str] | None = None
) -> tuple[Sequence[Found], int]:
    """Return the matches, and the number of older sessions whose records were not searched.

    Args:
        store: The sessions.
        text: Words, or a filter.
        is_all: Whether to look at all records, however many there are.
        within: Ids of the only sessions to search; None for all.

    Raises:
        SettingsError: A term of the filter is wrong.
    """
    reading = read_filter(text)
    if reading.mistakes or reading.query is None:
        what = "; ".join(reading.mistakes) or "there is nothing to search for"
        raise SettingsError(what, "sessions search", "tui-host sessions search lookup, or server:math status:failed")
    matches = [match for match in search(store.sessions, text) if within is None or match.session.id in within]
    in_chat = {match.session.id for match in matches}
    records = RecordSearch(
        store,
        reading,
        answer=answer_text,
        estimate=estimate_tokens,
        most_bytes=None if is_all else MOST_BYTES,
    )
    listed = [session for session in store.sessions.list() if within is None or session.id in within]
    rest = [session for session in listed if session.id not in in_chat]
    matches += [match for session in rest if (match := records.in_session(session)) is not None]
    return matches, len(rest) - records.looked


def _print(matches: Sequence[Found], *, as_json: bool) -> None:
    if as_json:
        output.value({"sessions": [_value(match) for match in matches]})
    elif not matches:
        diagnostics.tell("no session matches")
    else:
        rows = [(match.session.id, where(match), match.session.title[:60], match.excerpt) for match in matches]
        output.table([("ID", "WHERE", "TITLE", "TEXT"), *rows])


def _value(match: Found) -> dict[str, JSON]:
    info = match.session
    return {
        "id": info.id,
        "title": info.title,
        "updated": info.updated,
        "in": "records" if match.in_records else "chat" if match.excerpt else "title",
        "turn": match.turn,
        "rows": match.rows,
        "excerpt": match.excerpt,
    }


def where(match: Found) -> str:
    """Return where a session matches: `3 rows`, `chat, turn 2`."""
    if match.rows:
        return f"{match.rows:,} row{'s' * (match.rows != 1)}"
    place = "records" if match.in_records else "chat" if match.excerpt else "title"
    return f"{place}, turn {match.turn}" if match.turn else place
