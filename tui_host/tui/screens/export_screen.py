"""Asks in which format a session, a turn, a call or a row is exported, and to which file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from textual.binding import Binding, BindingType
from textual.screen import Screen
from typing_extensions import override

from tui_host.answers.names import call_named, request_named, turn_named
from tui_host.answers.session_exports import SESSION_EXPORTS
from tui_host.capture.exports.parts import PartOfSession, keys_in_words
from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.infer.story_reader import exported_session
from tui_host.tui.screens.field_screen import SaveScreen

if TYPE_CHECKING:
    from tui_host.answers.wires import Section
    from tui_host.capture.exports.parts import Exported
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.store.store import Store
    from tui_host.host.host import Host
    from tui_host.tui.sources.live import SessionSource

FORMS = tuple(SESSION_EXPORTS)
Parts: TypeAlias = "Mapping[str, Callable[[Exported], PartOfSession]]"
"""What may be exported, in words such as `turn 2`, and how it is taken from a session."""
THE_SESSION = "the session"
WHOLE: Parts = {THE_SESSION: PartOfSession}


def parts_around(source: SessionSource, row: Row | None, section: Section | None) -> Parts:
    """Return what may be exported at a row or heading: its call, the row with its other half, the marked rows, its turn, the session."""

    def keys(shown: Row) -> frozenset[tuple[str, int]]:
        own = frozenset(((shown.capture, shown.seq),))  # one record stands for the whole exchange
        return own if shown.exchange else own.union(record.key for page in source.pages_of(shown) for record in page)

    holder, numbers = row or section, (source.ladder.row_of(key) for key in reversed(source.row_marks.notes))
    groups = [keys(source.ladder.rows[number]) for number in numbers if number is not None]
    words = "the marked row" if len(groups) == 1 else f"the {len(groups)} marked rows"
    marked: Parts = {words: partial(PartOfSession, keys=frozenset(chain(*groups)))} if groups else {}
    numbered = (holder.turn,) if holder is not None and holder.turn else ()
    turns: Parts = {f"turn {turn}": partial(PartOfSession, turn=turn) for turn in numbered}
    if row is None:
        return {**turns, **marked, **WHOLE}
    calls: Parts = {f"call {line(call, 40)}": partial(PartOfSession, call=call) for call in sorted(row.calls)}
    return {**calls, "this row": partial(PartOfSession, keys=keys(row)), **marked, **turns, **WHOLE}


class ExportScreen(SaveScreen):
    """Asks for format, part (the first is suggested) and file. The file is made when `enter` is pressed."""

    HEADING = "Export"
    DEFAULT_CSS = "ExportScreen > #page-words { text-wrap: nowrap; text-overflow: ellipsis; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "choose(1, 0)", "format", key_display="up down", tooltip="choose the format"),
        Binding("up", "choose(-1, 0)"),
        Binding("tab", "choose(0, 1)", "part", tooltip="choose the call, the row, the turn or the session"),
        Binding("shift+tab", "choose(0, -1)"),
    ]

    def __init__(self, store: Store, session: str, parts: Parts, saved: Callable[[Path], None], form: str) -> None:
        super().__init__("", "", b"", saved)
        self._store, self._session, self._parts = store, session, [*parts.items()]
        self._part, self._form = 0, FORMS.index(form)
        self._suggested = self._warned = ""

    def on_mount(self) -> None:
        self.action_choose(0, 0)

    def action_choose(self, form: int, part: int) -> None:
        """Go to another format or part; a name that the person has not changed follows."""
        self._form = (self._form + form) % len(FORMS)
        self._part = (self._part + part) % len(self._parts)
        marks = {True: ">", False: " "}
        parts = "   ".join(f"{marks[n == self._part]} {words}" for n, (words, _) in enumerate(self._parts))
        forms = (f"{marks[n == self._form]} {name:<9} {SESSION_EXPORTS[name].words}" for n, name in enumerate(FORMS))
        about = f"Letters go into the name. Without a folder it is in {Path.cwd()}."
        self.note("\n".join((parts, "", *forms, about)), place="#page-words")
        if self.field.value in {"", self._suggested}:
            words, _ = self._parts[self._part]
            name = "" if words == THE_SESSION else f"-{words.removeprefix('the ').removeprefix('this ')}"
            safe = "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in name)
            self._suggested = f"{self._session}{safe}{SESSION_EXPORTS[FORMS[self._form]].suffix}"
            self.field.value = self._suggested
            self.field.cursor_position = len(self._suggested)

    @override
    def content(self) -> bytes:
        """Return the export; texts that look like keys are told once, by an error, before anything is written."""
        (_, part), form = self._parts[self._part], SESSION_EXPORTS[FORMS[self._form]]
        info, whole = exported_session(self._store, self._session)
        source = part(whole)
        words = keys_in_words(source, info.id)
        if words and words != self._warned:
            self._warned = words
            raise TuiHostError(words, remedy="press enter again to write the file")
        return b"".join(form.export(source, info))


def parts_named(source: SessionSource, words: str) -> tuple[Parts, str]:
    """Return what is named for an export, and the form: `turn 5 html`, `4` (as LLM 4), `call 1.1.2`, `lab #4 markdown`, `har`."""
    forms = [FORMS[0], *(word for word in words.split() if word in FORMS)]
    name = " ".join(word for word in words.split() if word not in FORMS)
    if not name:
        return WHOLE, forms[-1]
    if name.startswith("turn"):
        return parts_around(source, None, turn_named(source, name)), forms[-1]
    is_request = name.isdecimal() or name.lower().startswith("llm")
    return parts_around(source, (request_named if is_request else call_named)(source, name), None), forms[-1]


def ask_for_export(
    screen: Screen[None] | Screen[object], host: Host, session: str, parts: Parts, form: str = FORMS[0]
) -> None:
    """Open the screen over another one, and tell there where the file was written."""
    own = host.sessions.get(session)
    if host.store is None or (own is not None and not own.turn and not own.is_foreign):
        words = "Nothing is saved here" if host.store is None else "Nothing was asked in this session yet"
        screen.notify(f"{words}, so there is nothing to export.", severity="warning", markup=False)
        return
    saved: Callable[[Path], None] = lambda path: screen.notify(f"exported to {path}", markup=False)  # noqa: E731
    screen.app.push_screen(ExportScreen(host.store, session, parts, saved, form))  # pyright: ignore[reportUnknownMemberType] - of any app
