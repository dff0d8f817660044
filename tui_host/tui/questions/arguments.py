"""The lines of an approval that must be seen: the calls that wait, and the arguments of one of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rich.cells import cell_len
from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip
from typing_extensions import override

from tui_host.capture.visible import tool_name, visible
from tui_host.errors import JSON
from tui_host.servers.catalog import Tool, claims_of
from tui_host.tui.text_width import clip, fill
from tui_host.tui.widgets.lines.line_view import LineView

CallKey: TypeAlias = tuple[str, bytes]
"""A call, and the arguments to send."""
ROW_CHARACTERS = 500
"""Number of characters of arguments to use for a call's line."""
ARGUMENT_CELLS = 8
"""Least width for arguments on a call's line."""
_TAB = "␉   "
_RULE = "│ "


class SeenLines(LineView, can_focus=False):
    """Lines of which is known which were painted. The panel keeps the focus and scrolls them."""

    def __init__(self, seen: set[CallKey], id: str) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.seen = seen  # the calls whose arguments were painted to their end

    def painted(self, first: int, end: int) -> None:
        """Called with the range of lines that are painted."""
        raise NotImplementedError

    @override
    def render_lines(self, crop: Region) -> list[Strip]:
        first = max(0, crop.y - self.gutter.top) + self.top
        last = min(crop.bottom - self.gutter.top, self.view_height) + self.top
        self.painted(first, min(last, self.line_count()))
        return super().render_lines(crop)


# The calls that wait.


def name_of(tool: Tool) -> str:
    """Return the name of a tool: the server first, then the tool."""
    return visible(tool_name(tool.server, tool.name), newlines=False)


@dataclass(frozen=True, slots=True)
class CallLine:
    """A call that waits, as a line of the list."""

    key: CallKey
    tool: Tool
    arguments: str  # on one line, masked and visible; empty where they stand below alone
    is_plain: bool  # whether there is nothing else to read before the call is approved
    is_current: bool

    @property
    def claim(self) -> str:
        """The server's hints, as its claim; empty without any."""
        claims = claims_of(self.tool)
        return f"server claims: {claims}" if claims else ""

    def is_whole(self, width: int, claim: str = "") -> bool:
        """Whether a line of a width holds the arguments whole, and a claim."""
        room = width - 3 - cell_len(name_of(self.tool)) - (len(claim) + 2 if claim else 0)
        if not self.arguments:
            return room >= 0
        return room >= ARGUMENT_CELLS and len(self.arguments) <= ROW_CHARACTERS and cell_len(self.arguments) <= room

    def text(self, width: int) -> str:
        """Return name, arguments as far as there is room, and at the right the claim where it does not cut them."""
        name = clip(name_of(self.tool), width - 2)
        room = width - 3 - cell_len(name)
        shown = f" {clip(self.arguments, room)}" if self.arguments and room >= ARGUMENT_CELLS else ""
        claim = self.claim if self.is_whole(width, self.claim) else ""
        left = f"{'>' if self.is_current else ' '} {name}{shown}"
        return f"{left}{' ' * (width - cell_len(left) - len(claim))}{claim}"


class CallList(SeenLines):
    """The calls that wait; those that were painted with their whole arguments count as seen."""

    DEFAULT_CSS = "CallList { height: auto; max-height: 4; overflow-y: auto; }"
    _calls: Sequence[CallLine] = ()

    def show(self, calls: Sequence[CallLine]) -> None:
        self._calls = calls
        self.redraw()
        self.show_line(next((number for number, call in enumerate(calls) if call.is_current), 0))

    @override
    def line_count(self) -> int:
        return len(self._calls)

    @override
    def draw(self, number: int) -> Strip:
        call = self._calls[number]
        text, claim = call.text(self.view_width), call.claim
        at = len(text) - len(claim) if claim and text.endswith(claim) else len(text)
        return self.strip_of([(text[:at], "what" if call.is_current else "note"), (text[at:], "note")])

    @override
    def painted(self, first: int, end: int) -> None:
        shown = [call for call in self._calls[first:end] if call.arguments and call.is_plain]
        self.seen.update(call.key for call in shown if call.is_whole(self.view_width))


# The arguments of the current call.


def argument_lines(
    arguments: str, hide: Callable[[str], str], notes: Mapping[str, str], *, is_raw: bool
) -> Sequence[str]:
    """Return arguments as sent, or indented, a note of where a value comes from behind it.

    A string with line breaks becomes a block behind a vertical line. No argument can look like another one: what follows
    a rule belongs to the string, and JSON begins no line with a rule.
    """
    if is_raw:
        return [hide(arguments)]
    lines = _lines(json.loads(arguments), "", "", hide)
    return [f"{hide(text)} ← {notes[path]}" if path in notes else hide(text) for text, path in lines]


def _lines(
    value: JSON, start: str, path: str, hide: Callable[[str], str], comma: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield each line behind its start, indentation and name, with the path of the value that begins there."""
    deeper = " " * (len(start) - len(start.lstrip(" ")) + 2)
    match value:
        case str() if "\n" in value:
            rows = hide(value).split("\n")  # before it is cut at its line breaks, since a secret may hold one
            yield f"{start}a string of {len(rows):,} lines:", path
            yield from ((f"{deeper}{_RULE}{visible(row).replace(chr(9), _TAB)}", "-") for row in rows)
        case Mapping() if value:
            yield f"{start}{{", path
            for number, (key, member) in enumerate(value.items(), start=1):
                name = f"{deeper}{json.dumps(key, ensure_ascii=False)}: "
                yield from _lines(member, name, f"{path}.{key}".lstrip("."), hide, "," * (number < len(value)))
            yield f"{deeper[2:]}}}{comma}", "-"
        case list() if value:
            yield f"{start}[", path
            for number, member in enumerate(value, start=1):
                yield from _lines(member, deeper, f"{path}[{number - 1}]", hide, "," * (number < len(value)))
            yield f"{deeper[2:]}]{comma}", "-"
        case _:
            yield f"{start}{json.dumps(value, ensure_ascii=False)}{comma}", path


def wrapped(lines: Sequence[str], width: int) -> list[str]:
    """Return visible lines of a width. Those that continue a row keep its indentation; behind a rule a dot marks them."""
    shown: list[str] = []
    for row in visible("\n".join(lines)).expandtabs(4).split("\n"):
        words = row.lstrip(" ")
        indent = " " * min(len(row) - len(words), width // 2)
        mark = _RULE if words.startswith(_RULE) else ""
        words, again = words[len(mark) :], indent + ("· " if mark else "")
        pieces = [words[start:end] for start, end in fill(words, max(1, width - len(again)))]
        shown += [f"{again if number else indent + mark}{piece}" for number, piece in enumerate(pieces)]
    return shown


class Arguments(SeenLines):
    """The arguments of a call, wrapped to the width; knows how far they were read without a gap."""

    FOLLOWS = True
    DEFAULT_CSS = """
    Arguments {
        height: auto;
        overflow-y: auto;
        border: round $foreground 40%;
        border-subtitle-align: right;
        border-subtitle-color: $text-muted;
        padding: 0 1;
    }
    """
    _key: CallKey | None = None
    _source: Sequence[str] = ()
    _lines: Sequence[str] = ()
    _read_to = 0  # the end of the lines that were painted without a gap
    _has_notes = False

    def show(self, key: CallKey | None, lines: Sequence[str], *, has_notes: bool = False, stays: bool = False) -> None:
        """Show lines from their beginning, or from where they are if only notes came; `key` is None for another text.

        The call is seen once the last line was painted. Notes say where values come from.
        """
        self._key, self._source, self._has_notes, self.at_tail = key, lines, has_notes, False
        self.width_changed()
        self.redraw()
        if not stays:
            self.scroll_to(y=0, animate=False, force=True)
        self._tell_rest()

    @override
    def width_changed(self) -> None:
        self._lines, self._read_to = wrapped(self._source, max(1, self.view_width or 60)), 0

    @override
    def painted(self, first: int, end: int) -> None:
        if first <= self._read_to < end:
            self._read_to = end
        if self._key is not None and self._lines and end == len(self._lines):
            self.seen.add(self._key)

    def _tell_rest(self) -> None:
        below = max(0, len(self._lines) - self.top - self.view_height)
        jumped = max(0, self.top - self._read_to)
        rest = "all shown"
        if below:
            rest = f"{below} more line{'s' * (below != 1)}: pagedown, end"
        elif jumped:
            rest = f"{jumped} line{'s' * (jumped != 1)} jumped over"
        self.border_subtitle = Content(f"← verbatim only · {rest}" if self._has_notes else rest)

    @override
    def on_resize(self) -> None:
        super().on_resize()
        self._tell_rest()

    @override
    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._tell_rest()

    @override
    def line_count(self) -> int:
        return len(self._lines)

    @override
    def draw(self, number: int) -> Strip:
        return self.strip_of([(self._lines[number], "")])
