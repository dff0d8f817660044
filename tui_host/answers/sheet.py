"""A page that answers a question, before anybody draws it: lines with figures, which open and which lead to rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from tui_host.errors import JSON

Style: TypeAlias = Literal["", "what", "note", "failed", "new", "key", "heading", "secret"]


Form: TypeAlias = Literal["raw", "json", "plain", "headers"]


class BodyPlace(NamedTuple):
    """Where a text comes from."""

    path: str  # the path in the body
    data: bytes  # the bytes that stand there
    is_decoded: bool  # whether the text is what a string says


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetLine:
    """A line of a sheet.

    Attributes:
        text: Makes what is shown below an open line, such as the bytes that the line is about; None without any.
        place: Makes the place of the text in a body; None where the text stands nowhere else.
        target: The row that the line leads to, by capture and number of its first record; None if it leads nowhere.
    """

    key: str  # a name that is unique among the lines beside it
    label: str  # the line's text; foreign text as it came, secrets masked
    figures: tuple[str, ...] = ()  # columns at the right end
    mark: str = ""  # what is special, behind the figures; empty if nothing
    note: str = ""  # further words, drawn where there is room
    text: Callable[[], str] | None = None
    place: Callable[[], BodyPlace] | None = None
    children: tuple[SheetLine, ...] = ()  # the lines below an open line
    opened: bool = False  # whether the line is open from the start
    style: Style = ""
    form: Form | None = None  # the form of the text; None to find it out from the text
    is_wrapped: bool = False  # whether the whole label is shown, with figures only while the line is closed
    target: tuple[str, int] | None = None

    @property
    def opens(self) -> bool:
        """Whether there is something to show below the line."""
        return bool(self.children) or self.text is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A page."""

    what: str  # what the page is about, in a few words: `time of turn 1`
    lines: Sequence[SheetLine]  # the lines
    notes: Sequence[str] = ()  # lines above, the program's own text
    empty: str = ""  # what would stand here, shown without lines


def as_json(sheet: Sheet) -> JSON:
    """Return a page as JSON: its notes and lines, each with what it has of label, figures, mark, note, row and lines."""
    lines: list[JSON] = [_line_as_json(line) for line in sheet.lines]
    return {"what": sheet.what, "notes": [*sheet.notes], "lines": lines, "empty": "" if lines else sheet.empty}


def _line_as_json(line: SheetLine) -> JSON:
    lines: list[JSON] = [_line_as_json(child) for child in line.children]
    row = None if line.target is None else f"{line.target[0]}:{line.target[1]}"
    text = line.text() if line.text is not None else ""
    members = {
        "figures": [*line.figures],
        "mark": line.mark,
        "note": line.note,
        "text": text,
        "row": row,
        "lines": lines,
    }
    return {"label": line.label, **{name: value for name, value in members.items() if value}}
