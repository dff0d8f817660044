"""What the approval says: names, claims, arguments as lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from rich.cells import cell_len
from textual.content import Content

from tui_host.capture.visible import hidden, tool_name, visible
from tui_host.chat.call_arguments import pretty
from tui_host.chat.policy import CallRequest
from tui_host.errors import JSON
from tui_host.servers.catalog import Tool, claims_of
from tui_host.tui.markdown.wrap import clip, fill, fold
from tui_host.tui.masks import Mask
from tui_host.tui.widgets.status_lines import DIM

GAP = "   "
"""Between two keys."""
CLAIM = "server claims: "
BEYOND = 4096
"""Characters behind a cut that are looked at for a secret that the cut would halve."""
LONGEST_LINE = 500
"""Characters of arguments that a call's one line is made from."""
SHORTEST, ENOUGH = 8, 24
"""Cells below which arguments tell nothing; cells that they have before hints stand beside them."""
KEYS = (
    "y once",
    "Y all remaining",
    "A this tool, this session",
    "e edit",
    "n no",
    "r no, because…",
    "esc no, and stop the turn",
    "tab look around",
    "p pretty/raw",
    "d description",
)
"""Each key with how far it reaches, in the order of their importance on a low screen."""
EDITOR_KEYS = ("enter shows what will be sent", "ctrl+j new line", "esc cancel")
REASON_KEYS = ("enter rejects with this reason", "esc back")
"""The keys of the two fields."""


def name_of(tool: Tool) -> str:
    """Server first, then the tool."""
    return visible(tool_name(tool.server, tool.name), newlines=False)


def hints_of(tool: Tool) -> str:
    """The server's hints in a few words, as its claim; empty without any."""
    claims = claims_of(tool)
    return f"{CLAIM}{claims}" if claims else ""


def description_of(
    request: CallRequest, hints: str = "", limit: int | None = None, *, hide: Callable[[str], str] = str
) -> str:
    """What changed in the definition, hints that found no room elsewhere, and the server's own words about the tool.

    Args:
        request: The call.
        hints: Those that found no room.
        limit: Characters of the server's words, where only their beginning is shown.
        hide: Takes secrets out, before anything is cut.
    """
    tool = request.tool
    parts: list[str] = []
    if request.changed:
        parts.append(f"! the definition changed since the last approval: {visible(hide(request.changed))}")
    count = hidden(tool.description) + hidden(tool.title)
    if count:
        parts.append(f"! the description has {count} hidden characters")
    if hints:
        parts.append(hints)
    words = f"{tool.title}: {tool.description}" if tool.title else tool.description
    parts.append(
        visible(hide(words[: None if limit is None else limit + BEYOND])[:limit]).strip() or "(no description)"
    )
    return "\n".join(parts)


def call_row(tool: Tool, width: int, more: str, *, is_current: bool, arguments: str = "") -> str:
    """A call that waits: its name, what tells it from others of that name, and the server's hints at the right.

    Arguments that are given are shown as far as there is room; the whole of them stands below.
    """
    name = clip(name_of(tool), width - 2, more)
    hints = hints_of(tool) if hints_fit(tool, width, arguments) else ""
    room = width - 2 - cell_len(name)
    free = room - 1 - (len(hints) + 2 if hints else 0)
    told = f" {clip(_one_line(arguments), free, more)}" if arguments and free >= SHORTEST else ""
    return f"{'>' if is_current else ' '} {name}{told}{' ' * (room - cell_len(told) - len(hints))}{hints}".rstrip()


def call_rows(tools: Sequence[Tool], arguments: Sequence[str], current: int, width: int, more: str) -> list[str]:
    """The calls that wait, in the model's order; the mark alone moves."""
    return [
        call_row(tool, width, more, is_current=at == current, arguments=told)
        for at, (tool, told) in enumerate(zip(tools, arguments, strict=True))
    ]


def window(count: int, room: int, current: int, top: int) -> int:
    """The first of `room` rows to show out of `count`, so that the current one is among them and as little moves as can be."""
    least, most = current - room + 1, current
    return max(0, min(max(top, least), most, count - room))


def in_window(rows: Sequence[str], room: int, top: int, width: int, more: str) -> list[str]:
    """The rows that are shown, made two cells narrower than `width`; a mark at the right where others are above or below."""
    shown = list(rows[top : top + room])
    marked = {0 if top > 0 else -1, len(shown) - 1 if top + room < len(rows) else -1}
    return [
        f"{row}{' ' * (width - 1 - cell_len(row))}{more}" if number in marked else row
        for number, row in enumerate(shown)
    ]


def calls_shown(rows: Sequence[str]) -> Content:
    """The calls that wait, the current one standing out, claims never."""
    parts: list[Content] = []
    for row in rows:
        at = row.rfind(CLAIM) if CLAIM in row else len(row)
        own = "bold $foreground" if row.startswith(">") else DIM
        parts.append(Content.assemble(Content.styled(row[:at], own), Content.styled(row[at:], DIM)))
    return Content("\n").join(parts)


def plain(rows: Sequence[str]) -> Content:
    """Lines as they are."""
    return Content("\n".join(rows))


def keys_shown(rows: Sequence[str]) -> Content:
    """Keys with what they do, the keys standing out."""
    parts: list[Content] = []
    for row in rows:
        pairs = [pair.partition(" ") for pair in row.split(GAP)]
        said = [
            Content.assemble(Content.styled(key, "bold $text-warning"), Content(f" {does}")) for key, _, does in pairs
        ]
        parts.append(Content(GAP).join(said))
    return Content("\n").join(parts)


def hints_fit(tool: Tool, width: int, arguments: str = "") -> bool:
    """Whether a tool's name, its hints and enough of the arguments stand in one line of so many cells."""
    told = min(cell_len(_one_line(arguments)) + 1, ENOUGH) if arguments else 0
    return cell_len(name_of(tool)) + told + len(hints_of(tool)) + 4 <= width


def _one_line(arguments: str) -> str:
    return visible(arguments[:LONGEST_LINE], newlines=False)


def arguments_text(arguments: bytes, *, raw: bool) -> str:
    """The arguments as they would be sent: byte for byte, or indented. Not yet made visible."""
    text = arguments.decode()
    if raw:
        return text
    value: JSON = json.loads(text)
    return pretty(value)


def folded(text: str, width: int) -> list[str]:
    """A text's lines, none wider than `width` cells, every character visible; nothing is left out."""
    lines: list[str] = []
    for row in visible(text).expandtabs(4).split("\n"):
        lines.extend(row[start:end] for start, end in fold(row, width))
    return lines


def stand_ins(values: Iterable[str]) -> str:
    """What the marks in the field are, empty if there is none."""
    names = ", ".join(values)
    return f"{names}: stands for a secret of yours; its value is sent in place of the mark" if names else ""


def notice(arguments: bytes, *, is_edited: bool, mask: Mask) -> str:
    """What stands in the way of reading the arguments as they seem: an edit, hidden characters, a secret."""
    text = arguments.decode()
    notices: list[str] = []
    if is_edited:
        notices.append("edited: this will be sent")
    count = hidden(text)
    if count:
        notices.append(f"{count} hidden characters, written as codes")
    found = mask.found(text)
    if found:
        notices.append(f"the arguments contain a secret of yours, {', '.join(found)}: its real value would be sent")
    return "  ".join(notices)


def key_name(key: str) -> str:
    """A deciding key as the line of keys has it."""
    return "esc" if key == "escape" else key


def readiness(*, ignored: str, is_ready: bool, more: str) -> Content:
    """Whether keys decide now; a key that came too early is named, so that nobody takes it for a decision.

    Args:
        ignored: That key, empty if there was none.
        is_ready: A key would decide now.
        more: What stands for a moment's wait.
    """
    if not ignored:
        return Content("ready" if is_ready else more)
    early = f"{ignored} came too early and was ignored"
    return Content(f"{early}; press it again") if is_ready else Content.styled(f"{early}; wait", "bold $text-warning")


def in_rows(text: str, width: int) -> list[str]:
    """Words in lines of at most so many cells."""
    return [row[start:end] for row in text.split("\n") for start, end in fill(row, width)]


def keys_in_rows(keys: str, width: int) -> list[str]:
    """Keys with what they do, never torn apart."""
    rows = [""]
    for key in keys.split(GAP):
        longer = f"{rows[-1]}{GAP}{key}" if rows[-1] else key
        if len(longer) <= width or not rows[-1]:
            rows[-1] = longer
        else:
            rows.append(key)
    return rows
