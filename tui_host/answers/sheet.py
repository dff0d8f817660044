"""A page that answers a question, before anybody draws it: lines with figures, which open and which lead to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeGuard

if TYPE_CHECKING:
    from tui_host.errors import JSON

Style: TypeAlias = Literal["", "what", "note", "failed", "new", "key", "heading", "secret"]


Form: TypeAlias = Literal["raw", "json", "plain", "headers"]


class Place(NamedTuple):
    """Where a text comes from."""

    path: str  # the path in the body
    data: bytes  # the bytes that stand there
    is_decoded: bool  # whether the text is what a string says


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetLine:
    """A line of a sheet.

    Attributes:
        key: A name that is unique among the lines beside it.
        label: The line's text; foreign text as it came, secrets masked.
        figures: Columns at the right end.
        mark: What is special, behind the figures; empty if nothing.
        note: Further words, drawn where there is room.
        text: Makes what is shown below an open line, such as the bytes that the line is about; None without any.
        place: Makes the place of the text in a body; None where the text stands nowhere else.
        children: The lines below an open line.
        opened: Whether the line is open from the start.
        form: The form of the text; None to find it out from the text.
        is_wrapped: Whether the whole label is shown, with figures only while the line is closed.
        target: The row that the line leads to, by capture and number of its first record; None if it leads nowhere.
    """

    key: str
    label: str
    figures: tuple[str, ...] = ()
    mark: str = ""
    note: str = ""
    text: Callable[[], str] | None = None
    place: Callable[[], Place] | None = None
    children: tuple[SheetLine, ...] = ()
    opened: bool = False
    style: Style = ""
    form: Form | None = None
    is_wrapped: bool = False
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


def as_json(value: object) -> JSON:
    """Return an answer as JSON: the fields of its dataclasses by name, bytes as text."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if _is_mapping(value):
        return {str(key): as_json(member) for key, member in value.items()}
    if _is_list(value):
        return [as_json(member) for member in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _is_mapping(value: object) -> TypeGuard[Mapping[object, object]]:
    return isinstance(value, Mapping)


def _is_list(value: object) -> TypeGuard[Iterable[object]]:
    return isinstance(value, Sequence | AbstractSet) and not isinstance(value, str)
