"""What was recorded: the store, opened for a command, sessions and stories of taps by their names, and the pages about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeAlias

from tui_host.answers.changes_page import WHOLE_TEXT
from tui_host.answers.names import UnknownNameError, subject_named
from tui_host.answers.pages import AnswerPage, sheet_of
from tui_host.answers.sheet import Sheet, SheetLine
from tui_host.answers.wires import RecordedWires
from tui_host.capture.ladder.row_filter import read_filter
from tui_host.capture.redact.redaction import redactor_of
from tui_host.capture.session_summary import SessionInfo, rfc3339
from tui_host.capture.short_units import counted, local_minute
from tui_host.capture.store.database import OlderFormError
from tui_host.capture.store.search import MOST_BYTES, Found, RecordSearch, search_chats
from tui_host.capture.store.store import Store
from tui_host.capture.visible import line
from tui_host.cli import output
from tui_host.errors import JSON, SettingsError, StoreError
from tui_host.infer.stories import Stories, TapStory
from tui_host.infer.story_reader import exported_session
from tui_host.llm.exchange_summary import answer_text
from tui_host.llm.outline import estimate_tokens
from tui_host.settings.paths import DATABASE

if TYPE_CHECKING:
    from tui_host.settings.schema import Settings


WiresOf: TypeAlias = "Callable[[str], tuple[RecordedWires, SessionInfo]]"
_LABEL_CHARACTERS = 400
_LABEL_CELLS = 100  # that labels take before the figures


@contextmanager
def recorded(settings: Settings, *, write: bool = False) -> Generator[Store]:
    """Open the store. Raises StoreError if nothing has been recorded yet."""
    path = settings.data_dir / DATABASE
    if not path.exists():  # reading must not create a database
        raise StoreError("nothing has been recorded yet", str(path), 'record a session with tui-host ask "hello"')
    try:
        store = Store.open(path) if write else Store.open_to_read(path)
    except OlderFormError:
        store = Store.open(path)  # sets an older file aside as the app does, and says so
    store.redactor = redactor_of(settings)
    with closing(store):
        if not write and store.sessions.left(has_turn=True):  # it is completed before anything is read
            from tui_host.chat.policy import Policy
            from tui_host.host.session_storage import finish_left

            with suppress(StoreError), closing(Store.open(path)) as writer:  # in a read-only folder it stays as it is
                writer.redactor = store.redactor
                finish_left(writer, Policy(()))
        yield store


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSession:
    """A line of the list of sessions; for a story or a tap, `info` is its summary, and `counts` what passed each tap."""

    info: SessionInfo
    story: TapStory | None = None
    counts: Mapping[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])

    def passed(self) -> Counter[str]:
        """Count what passed the taps of a story."""
        taps = () if self.story is None else self.story.taps
        return sum((self.counts.get(tap.id, Counter()) for tap in taps), Counter[str]())

    def to_json(self) -> dict[str, JSON]:
        """Return the entry of `sessions list --json`."""
        info = self.info
        value: dict[str, JSON] = {
            "id": info.id,
            "title": info.title,
            "created": rfc3339(info.created_ns),
            "updated": rfc3339(info.updated_ns),
            "turns": info.turns,
            "source": info.listed_source,
            "live": info.live,
            "model": info.asked[0],
            "protocol": info.asked[1],
            "profile": info.profile,
            "parent": info.parent and info.parent.parent,
            "parent_turn": info.parent and info.parent.parent_turn,
        }
        if self.story is not None:
            passed = self.passed()
            counts = {"exchanges": passed["exchanges"], "frames": passed["frames"]}
            value |= {"hosts": [*self.story.hosts], **counts, "taps": [tap.id for tap in self.story.taps]}
        return value


def listing(store: Store) -> Sequence[ListedSession]:
    """List sessions and stories, newest first. Blocks on the disk."""
    counts = store.sessions.passed()
    return [
        ListedSession(info=line, story=line if isinstance(line, TapStory) else None, counts=counts)
        for line in Stories(store).listed()
    ]


def matching(
    store: Store, text: str, *, is_all: bool = False, within: Container[str] | None = None
) -> tuple[Sequence[Found], int]:
    """Return what matches words or a filter, `within` some sessions, and how many older sessions were not searched."""
    reading = read_filter(text)
    if reading.mistakes or reading.query is None:
        what = "; ".join(reading.mistakes) or "there is nothing to search for"
        raise SettingsError(what, "sessions search", "tui-host sessions search lookup, or server:math status:failed")
    matches = [match for match in search_chats(store, text) if within is None or match.session.id in within]
    in_chat = {match.session.id for match in matches}
    most = float("inf") if is_all else MOST_BYTES
    records = RecordSearch(store, reading, answer=answer_text, estimate=estimate_tokens, bytes_left=most)
    listed = [session for session in store.sessions.list() if within is None or session.id in within]
    rest = [session for session in listed if session.id not in in_chat]
    matches += [match for session in rest if (match := records.in_session(session)) is not None]
    return matches, len(rest) - records.looked


def list_text(listed: Sequence[ListedSession]) -> str:
    """Return a list of sessions as a table, each tap of a story of several below it; empty for none."""
    rows: list[tuple[str, ...]] = []
    entries: list[tuple[str, ListedSession]] = []
    for entry in listed:
        halves = () if entry.story is None else entry.story.halves
        entries += [("", entry), *(("  ", replace(entry, info=half, story=half)) for half in halves)]
    for indent, entry in entries:
        info, passed = entry.info, entry.passed()
        length = counted(info.turns, "turn")
        if entry.story is not None:
            counts = ((passed["exchanges"], "request"), (passed["frames"], "frame"))
            nothing = "nothing yet" if info.live else "nothing"
            length = ", ".join(counted(*count) for count in counts if count[0]) or nothing
        source = f"{info.listed_source}{', live' if info.live else ''}"
        when = local_minute(info.updated_ns)
        rows.append((f"{indent}{info.id}", when, length, source, *info.asked, info.title))
    heads = ("ID", "UPDATED", "LENGTH", "SOURCE", "MODEL", "PROTOCOL", "TITLE")
    return output.table([heads, *rows]) if rows else ""


def found_text(matches: Sequence[Found]) -> str:
    """Return the sessions that match as a table; empty for none."""
    rows: list[tuple[str, ...]] = []
    for match in matches:
        place = f"{match.where}, turn {match.turn}" if match.turn else match.where
        if match.rows:
            place = counted(match.rows, "row")
        rows.append((match.session.id, place, match.session.title[:60], match.excerpt))
    return output.table([("ID", "WHERE", "TITLE", "TEXT"), *rows]) if rows else ""


def wires_of(store: Store, settings: Settings, name: str) -> tuple[RecordedWires, SessionInfo]:
    """Find a session by its name, and read its records."""
    info, source = exported_session(store, name)
    records = (record for record, _ in source.session_records(info.id))
    return RecordedWires(records, settings.providers, user="the user" if info.is_foreign else "you"), info


def page(read: WiresOf, session: str, shown: AnswerPage, text: str = "") -> Sheet:
    """Return a page about what is named by a text (`LLM 3`, `turn 2`, `math.add`); TuiHostError if nothing is."""
    wires, info = read(session)
    try:
        return sheet_of(shown.name, wires, subject_named(wires, shown, text, lambda other: read(other)[0]))
    except UnknownNameError as error:
        raise StoreError(error.what, info.id, error.remedy) from error


def sheet_text(sheet: Sheet) -> str:
    """Return a page as plain text, every line open, figures in columns."""
    lines = list(_walk(sheet.lines, 0))
    heads = [f"{'  ' * depth}{line(entry.label, _LABEL_CHARACTERS)}" for depth, entry in lines]
    room = min(max(map(output.cells, heads), default=0), _LABEL_CELLS)
    columns = zip_longest(*(entry.figures for _, entry in lines), fillvalue="")
    widths = [max(map(output.cells, column)) for column in columns]
    names = [*sheet.heads, *[""] * (len(widths) - len(sheet.heads))]
    widths = list(map(max, widths, map(len, names)))
    written = [line(sheet.what, _LABEL_CHARACTERS), *sheet.notes]
    if sheet.heads:
        written.append(" " * room + "  " + "  ".join(map(str.rjust, names, widths)))
    for (_, entry), head in zip(lines, heads, strict=True):
        figures = "  ".join(f"{figure:>{wide}}" for figure, wide in zip(entry.figures, widths, strict=False))
        rest = "  ".join(filter(None, (figures, entry.mark, entry.note)))
        written.append(f"{head}{' ' * (room - output.cells(head))}  {rest}" if rest else head)
    return "\n".join(written if lines else [*written, sheet.empty])


def _walk(lines: Sequence[SheetLine], depth: int) -> Iterator[tuple[int, SheetLine]]:
    for entry in lines:
        if entry.key != WHOLE_TEXT:  # that opens in the app only
            yield depth, entry
            yield from _walk(entry.children, depth + 1)
