"""Asks in which format a session, a turn, a call or a row is exported, and to which file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.screen import Screen
from typing_extensions import override

from tui_host.answers.session_exports import SESSION_EXPORTS
from tui_host.capture.exports.parts import PartOfSession, keys_in_words
from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.infer.story_reader import exported_session
from tui_host.tui.screens.save_screen import SaveScreen

if TYPE_CHECKING:
    from tui_host.answers.section import Section
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.store.store import Store
    from tui_host.host.host import Host
    from tui_host.tui.sources.live import SessionSource


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPart:
    """What may be exported."""

    words: str = "the session"  # the part in words: `turn 2`
    suffix: str = ""  # what the suggested name has behind the session's id
    turn: int | None = None
    call: str | None = None
    keys: frozenset[tuple[str, int]] = frozenset()


def parts_around(source: SessionSource, row: Row | None, section: Section | None) -> Sequence[ExportPart]:
    """Return what may be exported at a row: its call, the row with its other half, the marked rows, its turn, the session.

    Args:
        source: The session's rows.
        row: The selected row; None while a heading is selected.
        section: What the selected heading stands for.
    """
    numbers = (source.ladder.row_of(key) for key in source.row_marks.newest_first)
    keys = [_keys(source, source.ladder.rows[number]) for number in numbers if number is not None]
    words = "the marked row" if len(keys) == 1 else f"the {len(keys)} marked rows"
    marked = (
        (ExportPart(words=words, suffix="-marked", keys=frozenset(key for own in keys for key in own)),) if keys else ()
    )
    if row is None:
        return (*_turn(0 if section is None else section.turn), *marked, ExportPart())
    calls = (
        ExportPart(words=f"call {line(call, 40)}", suffix=f"-call-{call}", call=call) for call in sorted(row.calls)
    )
    of_row = ExportPart(words="this row", suffix="-row", keys=_keys(source, row))
    return (*calls, of_row, *marked, *_turn(row.turn), ExportPart())


def _keys(source: SessionSource, row: Row) -> frozenset[tuple[str, int]]:
    """Return the records that stand for a row: one of its exchange, or all without one."""
    own = frozenset(((row.capture, row.seq),))
    return own if row.exchange else own.union(record.key for page in source.pages_of(row) for record in page)


def _turn(turn: int) -> Sequence[ExportPart]:
    return (ExportPart(words=f"turn {turn}", suffix=f"-turn-{turn}", turn=turn),) if turn else ()


class ExportScreen(SaveScreen):
    """Asks for format, part and file. The file is made when `enter` is pressed.

    Args:
        store: Where the session is.
        session: The session's id, or a story's.
        parts: What may be exported; the first is suggested.
        saved: Called with the path of the written file.
    """

    HEADING = "Export"
    PLACE = "Export"
    DEFAULT_CSS = """
    ExportScreen > #field-words { text-wrap: nowrap; text-overflow: ellipsis; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "format(1)", show=False),
        Binding("up", "format(-1)", show=False),
        Binding("tab", "part(1)", show=False),
        Binding("shift+tab", "part(-1)", show=False),
    ]

    def __init__(self, store: Store, session: str, parts: Sequence[ExportPart], saved: Callable[[Path], None]) -> None:
        super().__init__("", "", b"", saved)
        self._store = store
        self._session = session
        self._parts = parts
        self._part = self._format = 0
        self._warned = ""

    def action_format(self, step: int) -> None:
        self._format = (self._format + step) % len(SESSION_EXPORTS)
        self.suggest()

    def action_part(self, step: int) -> None:
        self._part = (self._part + step) % len(self._parts)
        self.suggest()

    @override
    def suggest(self) -> None:
        """Draw the choices; a name that the person has not changed follows them."""
        name = list(SESSION_EXPORTS)[self._format]
        parts = "   ".join(
            f"> {part.words}" if number == self._part else f"  {part.words}" for number, part in enumerate(self._parts)
        )
        formats = (f"{'>' if form == name else ' '} {form:<9} {about.words}" for form, about in SESSION_EXPORTS.items())
        self.explain("\n".join((parts, "", *formats, f"A name without a folder is in {Path.cwd()}.")))
        if self.field.value in {"", self._suggested}:
            part = "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in self._chosen.suffix)
            self._suggested = f"{self._session}{part[:60]}{SESSION_EXPORTS[name].suffix}"
            self.field.value = self._suggested
            self.field.cursor_position = len(self._suggested)

    @property
    def _chosen(self) -> ExportPart:
        return self._parts[self._part]

    @override
    async def content(self) -> bytes:
        """Return the export. Texts that look like keys are told once, before anything is written.

        Raises:
            TuiHostError: There is nothing to export, or there are such texts.
        """
        return await asyncio.to_thread(self._made, self._chosen, list(SESSION_EXPORTS)[self._format])

    def _made(self, part: ExportPart, name: str) -> bytes:
        info, whole = exported_session(self._store, self._session)
        source = PartOfSession(whole, turn=part.turn, call=part.call, keys=part.keys)
        words = keys_in_words(source, info.id)
        if words and words != self._warned:
            self._warned = words
            raise TuiHostError(words, remedy="press enter again to write the file")
        return b"".join(SESSION_EXPORTS[name].export(source, info))


def ask_for_export(screen: Screen[None], host: Host, session: str, parts: Sequence[ExportPart]) -> None:
    """Open the screen over another one, and tell there where the file was written."""

    def saved(path: Path) -> None:
        screen.notify(f"exported to {path}", markup=False)

    if host.store is None:
        screen.notify("Nothing is saved here, so there is nothing to export.", severity="warning", markup=False)
    else:
        screen.app.push_screen(ExportScreen(host.store, session, parts, saved))  # pyright: ignore[reportUnknownMemberType] - of any app
