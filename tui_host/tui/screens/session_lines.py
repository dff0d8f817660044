"""The lines of the list of sessions, as searched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.capture.ladder.row_filter import read_filter
from tui_host.capture.store.search import Found, RecordSearch, search_chats
from tui_host.infer.stories import Stories, TapStory
from tui_host.tui.screens.session_preview import moment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tui_host.capture.store.store import Store


@dataclass(frozen=True, slots=True)
class Listed:
    """A line of the list."""

    found: Found  # the session; for a story or a tap, its summary in the form of a session
    story: TapStory | None = None  # the story or the single tap; None for other sessions
    whole: str = ""  # for a tap that stands below its story the id of that story

    @property
    def key(self) -> tuple[str, str]:
        """A unique name of the line: a shared server is listed below several stories."""
        return self.found.session.id, self.whole

    @property
    def shown(self) -> tuple[object, ...]:
        """The values that make the list redraw."""
        session = self.found.session
        return self.key, session.title, session.live, moment(session.updated_ns)


def listed_sessions(store: Store, stories: Stories, words: str, in_records: Mapping[str, Found]) -> list[Listed]:
    """Return the lines of the list. Blocks.

    Those that only records match stand last: a word of a tool's definition is in every request.

    Args:
        store: The store to list.
        stories: The stories of the store.
        words: The words to search for, empty for all sessions.
        in_records: The sessions whose records match, as far as they were searched.
    """
    matches = {match.session.id: match for match in search_chats(store.sessions, words)} if words else {}
    wanted = [text.casefold() for text in read_filter(words).whole_texts]
    first: list[Listed] = []
    last: list[Listed] = []
    for session in stories.listed():
        if isinstance(session, TapStory):
            has_words = not words or (bool(wanted) and all(word in session.title.casefold() for word in wanted))
            is_first = has_words or any(tap.id in matches for tap in session.taps)
            lines = first if is_first else last
            if is_first or any(tap.id in in_records for tap in session.taps):
                lines.append(Listed(Found(session=session), session))
                lines += [Listed(Found(session=half), half, session.id) for half in session.halves]
        elif not words:
            first.append(Listed(Found(session=session)))
        elif session.id in matches:
            first.append(Listed(matches[session.id]))
        elif session.id in in_records:
            last.append(Listed(in_records[session.id]))
    return [*first, *last]


def records_of(store: Store, words: str, goes_on: Callable[[], bool]) -> RecordSearch:
    """Return a search in records; `goes_on` is asked now and then."""
    from tui_host.llm.exchange_summary import answer_text
    from tui_host.llm.outline import estimate_tokens

    reading = read_filter(words)
    return RecordSearch(store, reading, answer=answer_text, estimate=estimate_tokens, goes_on=goes_on)
