"""What was recorded: the store, opened for a command, and the sessions and stories of taps in it by their names."""

from __future__ import annotations

from collections.abc import Container, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui_host.capture.ladder.filter_language import read_filter
from tui_host.capture.redact.redaction import redactor_of
from tui_host.capture.store.record_search import MOST_BYTES, RecordSearch
from tui_host.capture.store.schema_version import OlderFormError
from tui_host.capture.store.search import Found, search
from tui_host.capture.store.store import Store
from tui_host.capture.store.tap_summary import NOTHING, Passed, passed, total
from tui_host.errors import JSON, SettingsError, StoreError
from tui_host.infer.stories import Stories, TapStory
from tui_host.infer.whole_story import WholeStory
from tui_host.llm.exchange_summary import answer_text
from tui_host.llm.outline import estimate_tokens
from tui_host.settings.paths import DATABASE

if TYPE_CHECKING:
    from tui_host.capture.exports.exported import Exported
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.settings.schema import Settings


@contextmanager
def recorded(settings: Settings, *, write: bool = False) -> Generator[Store]:
    """Open the store. Raises StoreError if nothing has been recorded yet."""
    path = settings.data_dir / DATABASE
    if not path.exists():  # reading must not create a database
        remedy = 'record a session with tui-host ask "hello"'
        raise StoreError("nothing has been recorded yet", str(path), remedy)
    try:
        store = Store.open(path) if write else Store.open_to_read(path)
    except OlderFormError:
        store = Store.open(path)  # upgrades an older file as the app does, with a copy of the old file
    store.redactor = redactor_of(settings)
    with closing(store):
        yield store


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSession:
    """A line of the list of sessions; for a story or a tap, `info` is its summary, and `counts` what passed each tap."""

    info: SessionInfo
    story: TapStory | None = None
    counts: Mapping[str, Passed] = field(default_factory=dict[str, Passed])

    @property
    def halves(self) -> Sequence[ListedSession]:
        """Each tap of a story of several, by itself."""
        halves = () if self.story is None else self.story.halves
        return [ListedSession(info=half.info, story=half, counts=self.counts) for half in halves]

    @property
    def length(self) -> str:
        """The number of turns; for taps, the number of requests and frames."""
        if self.story is None:
            return counted(self.info.turns, "turn")
        passed = self._passed(self.story)
        counts = ((passed.exchanges, "request"), (passed.frames, "frame"))
        nothing = "nothing yet" if self.info.live else "nothing"
        return ", ".join(counted(*count) for count in counts if count[0]) or nothing

    def _passed(self, story: TapStory) -> Passed:
        return total(self.counts.get(tap.id, NOTHING) for tap in story.taps)

    def to_json(self) -> dict[str, JSON]:
        """Return the entry of `sessions list --json`."""
        info = self.info
        value: dict[str, JSON] = {
            "id": info.id,
            "title": info.title,
            "created": info.created,
            "updated": info.updated,
            "turns": info.turns,
            "source": info.listed_source,
            "live": info.live,
            "model": info.listed_model,
            "protocol": info.listed_protocol,
            "profile": info.profile,
        }
        if self.story is not None:
            passed = self._passed(self.story)
            counts = {"exchanges": passed.exchanges, "frames": passed.frames}
            value |= {"hosts": [*self.story.hosts], **counts, "taps": [tap.id for tap in self.story.taps]}
        return value


def counted(number: int, what: str) -> str:
    """Format a number with its noun: `1 turn`, `2 turns`."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def listing(store: Store) -> Sequence[ListedSession]:
    """List sessions and stories, newest first. Blocks on the disk."""
    counts = passed(store)
    return [
        ListedSession(info=line.info, story=line, counts=counts)
        if isinstance(line, TapStory)
        else ListedSession(info=line)
        for line in Stories(store).listed()[0]
    ]


def chosen(store: Store, name: str) -> tuple[ListedSession, Exported]:
    """Find a session by its name. For a story or a tap, its calls and frames are joined."""
    named = Stories(store).find(name)
    if not isinstance(named, TapStory):
        return ListedSession(info=named), store
    whole = WholeStory(store, named, store.redactor.text)
    return ListedSession(info=whole.info, story=named, counts=passed(store)), whole


def matching(
    store: Store, text: str, *, is_all: bool = False, within: Container[str] | None = None
) -> tuple[Sequence[Found], int]:
    """Return the matches, and the number of older sessions whose records were not searched, for words or a filter.

    `within` has the ids of the only sessions to search. Raises SettingsError if a term of the filter is wrong.
    """
    reading = read_filter(text)
    if reading.mistakes or reading.query is None:
        what = "; ".join(reading.mistakes) or "there is nothing to search for"
        raise SettingsError(what, "sessions search", "tui-host sessions search lookup, or server:math status:failed")
    matches = [match for match in search(store.sessions, text) if within is None or match.session.id in within]
    in_chat = {match.session.id for match in matches}
    most = None if is_all else MOST_BYTES
    records = RecordSearch(store, reading, answer=answer_text, estimate=estimate_tokens, most_bytes=most)
    listed = [session for session in store.sessions.list() if within is None or session.id in within]
    rest = [session for session in listed if session.id not in in_chat]
    matches += [match for session in rest if (match := records.in_session(session)) is not None]
    return matches, len(rest) - records.looked


def source_of(match: Found) -> str:
    """Return what of a session matches: its title, its chat, or its records."""
    if match.in_records:
        return "records"
    return "chat" if match.excerpt else "title"


def where(match: Found) -> str:
    """Return where a session matches: `3 rows`, `chat, turn 2`."""
    if match.rows:
        return counted(match.rows, "row")
    return f"{source_of(match)}, turn {match.turn}" if match.turn else source_of(match)
