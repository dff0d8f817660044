"""The approval's texts: names, claims, arguments, keys."""

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
    """Return changes of the definition, hints without room elsewhere, and the server's description.

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
    """Return a waiting call as a line: name, arguments, and hints at the right.

    Arguments that are given are shown as far as there is room; the whole of them stands below.
    """
    name = clip(name_of(tool), width - 2, more)
    hints = hints_of(tool) if hints_fit(tool, width, arguments) else ""
    room = width - 2 - cell_len(name)
    free = room - 1 - (len(hints) + 2 if hints else 0)
    shown = f" {clip(_one_line(arguments), free, more)}" if arguments and free >= SHORTEST else ""
    return f"{'>' if is_current else ' '} {name}{shown}{' ' * (room - cell_len(shown) - len(hints))}{hints}".rstrip()


def call_rows(tools: Sequence[Tool], arguments: Sequence[str], current: int, width: int, more: str) -> list[str]:
    """Return the waiting calls in the model's order, the current call marked."""
    return [
        call_row(tool, width, more, is_current=at == current, arguments=text)
        for at, (tool, text) in enumerate(zip(tools, arguments, strict=True))
    ]


def window(count: int, room: int, current: int, top: int) -> int:
    """Return the first of `room` rows to show, with the current row visible and little movement."""
    least, most = current - room + 1, current
    return max(0, min(max(top, least), most, count - room))


def in_window(rows: Sequence[str], room: int, top: int, width: int, more: str) -> list[str]:
    """Return the visible rows; a mark at the right shows hidden rows above or below."""
    shown = list(rows[top : top + room])
    marked = {0 if top > 0 else -1, len(shown) - 1 if top + room < len(rows) else -1}
    return [
        f"{row}{' ' * (width - 1 - cell_len(row))}{more}" if number in marked else row
        for number, row in enumerate(shown)
    ]


def calls_shown(rows: Sequence[str]) -> Content:
    """Style the waiting calls: the current call stands out, claims never do."""
    parts: list[Content] = []
    for row in rows:
        at = row.rfind(CLAIM) if CLAIM in row else len(row)
        own = "bold $foreground" if row.startswith(">") else DIM
        parts.append(Content.assemble(Content.styled(row[:at], own), Content.styled(row[at:], DIM)))
    return Content("\n").join(parts)


def plain(rows: Sequence[str]) -> Content:
    """Return lines without styles."""
    return Content("\n".join(rows))


def keys_shown(rows: Sequence[str]) -> Content:
    """Style lines of keys: the keys stand out."""
    parts: list[Content] = []
    for row in rows:
        pairs = [pair.partition(" ") for pair in row.split(GAP)]
        contents = [
            Content.assemble(Content.styled(key, "bold $text-warning"), Content(f" {does}")) for key, _, does in pairs
        ]
        parts.append(Content(GAP).join(contents))
    return Content("\n").join(parts)


def hints_fit(tool: Tool, width: int, arguments: str = "") -> bool:
    """Whether name, hints and enough of the arguments fit into one line."""
    needed = min(cell_len(_one_line(arguments)) + 1, ENOUGH) if arguments else 0
    return cell_len(name_of(tool)) + needed + len(hints_of(tool)) + 4 <= width


def _one_line(arguments: str) -> str:
    return visible(arguments[:LONGEST_LINE], newlines=False)


def arguments_text(arguments: bytes, *, raw: bool) -> str:
    """Return the arguments as they are sent or indented; not made visible yet."""
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
    """Explain the marks of secrets in the editor; empty without secrets."""
    names = ", ".join(values)
    return f"{names}: stands for a secret of yours; its value is sent in place of the mark" if names else ""


def notice(arguments: bytes, *, is_edited: bool, mask: Mask) -> str:
    """Warn of edits, hidden characters and secrets in the arguments."""
    text = arguments.decode()
    notices: list[str] = []
    if is_edited:
        notices.append("edited: this will be sent")
    count = hidden(text)
    if count:
        notices.append(f"{count} hidden characters, written as codes")
    secrets = mask.found(text)
    if secrets:
        notices.append(f"the arguments contain a secret of yours, {', '.join(secrets)}: its real value would be sent")
    return "  ".join(notices)


def key_name(key: str) -> str:
    """Return a deciding key's name in the line of keys."""
    return "esc" if key == "escape" else key


def readiness(*, ignored: str, is_ready: bool, more: str) -> Content:
    """Say whether keys decide now, and name a key that came too early.

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
    """Wrap words into lines."""
    return [row[start:end] for row in text.split("\n") for start, end in fill(row, width)]


def keys_in_rows(keys: str, width: int) -> list[str]:
    """Wrap keys into lines without parting a key from its effect."""
    rows = [""]
    for key in keys.split(GAP):
        longer = f"{rows[-1]}{GAP}{key}" if rows[-1] else key
        if len(longer) <= width or not rows[-1]:
            rows[-1] = longer
        else:
            rows.append(key)
    return rows
