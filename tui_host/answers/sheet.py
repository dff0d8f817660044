"""A page that answers a question, before anybody draws it: lines with figures, which open and which lead to rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from tui_host.capture.short_units import money, short_time

if TYPE_CHECKING:
    from tui_host.errors import JSON

Style: TypeAlias = Literal["", "what", "note", "failed", "new", "key", "heading", "secret"]
Form: TypeAlias = Literal["raw", "json", "plain", "headers"]
Value: TypeAlias = "int | float | str | None"


_FORMS: Mapping[str, Callable[[float], str]] = {
    "tokens": "~{:,}".format,
    "all tokens": "~{:,}".format,
    "share": lambda share: f"{100 * share:.0f} %",
    "money": lambda amount: f"~{money(amount)}",
    "time": short_time,
    "ran": short_time,
    "change": "{:+,}".format,
}
"""How the numbers of a column are written, by the column's head; all others as `{:,}`."""


class BodyPlace(NamedTuple):
    """Where a text comes from."""

    path: str  # the path in the body
    data: bytes  # the bytes that stand there
    is_decoded: bool  # whether the text is what a string says


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetLine:
    """A line of a sheet."""

    key: str  # a name that is unique among the lines beside it
    label: str  # the line's text; foreign text as it came, secrets masked
    # Numbers by the heads of their columns: `{"bytes": 2048, "tokens": 540}`; None where a column is empty.
    values: Mapping[str, Value] = field(default_factory=dict[str, Value])
    figures: tuple[str, ...] = ()  # columns at the right end: the values as they are written, or texts
    mark: str = ""  # what is special, behind the figures; empty if nothing
    note: str = ""  # further words, drawn where there is room
    text: Callable[[], str] | None = None  # makes what is shown below an open line, such as bytes
    place: Callable[[], BodyPlace] | None = None  # makes the place of the text in a body
    children: tuple[SheetLine, ...] = ()  # the lines below an open line
    opened: bool = False  # whether the line is open from the start
    style: Style = ""
    form: Form | None = None  # the form of the text; None to find it out from the text
    is_wrapped: bool = False  # whether the whole label is shown, with figures only while the line is closed
    target: tuple[str, int] | None = None  # the row it leads to, by capture and number of its first record

    def __post_init__(self) -> None:
        figures: list[str] = []
        for head, value in self.values.items():
            if value is None or isinstance(value, str):
                figures.append(value or "")
            else:
                figures.append(_FORMS.get(head, "{:,}".format)(value))
        if figures:
            object.__setattr__(self, "figures", tuple(figures))

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

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads of the columns, of lines that have values."""
        return next((tuple(line.values) for line in self.lines if line.values), ())


def as_json(sheet: Sheet) -> JSON:
    """Return a page as JSON: its notes and lines, each with what it has of label, values, mark, note, row and lines."""
    lines: list[JSON] = [_line_as_json(line) for line in sheet.lines]
    return {"what": sheet.what, "notes": [*sheet.notes], "lines": lines, "empty": "" if lines else sheet.empty}


def _line_as_json(line: SheetLine) -> JSON:
    lines: list[JSON] = [_line_as_json(child) for child in line.children]
    values: dict[str, JSON] = {head: value for head, value in line.values.items() if value not in {None, ""}}
    members: dict[str, JSON] = {
        "values": values,
        "mark": line.mark,
        "note": line.note,
        "text": line.text() if line.text is not None else "",
        "row": None if line.target is None else f"{line.target[0]}:{line.target[1]}",
        "lines": lines,
    }
    return {"label": line.label, **{name: value for name, value in members.items() if value}}
