"""What the approval says: names, claims, arguments as lines, what is wrong with an edit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from textual.content import Content

from tui_host.capture.visible import hidden, visible
from tui_host.chat.arguments import canonical, pretty, read_arguments
from tui_host.chat.policy import CallRequest
from tui_host.errors import JSON, TuiHostError
from tui_host.servers.catalog import Tool
from tui_host.tui.foreign import tool_name
from tui_host.tui.markdown.wrap import clip, fill, fold
from tui_host.tui.widgets.status import DIM

GAP = "   "
"""Between two keys."""
CLAIM = "server says: "
SHORTEST, ENOUGH = 8, 24
"""Cells below which arguments tell nothing; cells that they have before hints stand beside them."""
HINTS = {
    ("readOnlyHint", True): "reads",
    ("readOnlyHint", False): "changes things",
    ("destructiveHint", True): "may destroy",
    ("destructiveHint", False): "only adds",
    ("idempotentHint", True): "may be repeated",
    ("openWorldHint", True): "reaches outside",
}
KEYS = (
    "y once",
    "Y all that remain",
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
EDITOR_KEYS = ("enter shows it as it will be sent", "ctrl+j new line", "esc back, unchanged")
REASON_KEYS = ("enter rejects with this reason", "esc back")
"""The keys of the two fields."""


def name_of(tool: Tool) -> str:
    """Server first, then the tool."""
    return visible(tool_name(tool.server, tool.name), newlines=False)


def hints_of(tool: Tool) -> str:
    """The server's hints in a few words, as its claim; empty if it gives none.

    Whether a tool destroys or may be repeated means something only where it changes things (`ToolAnnotations`).
    """
    given = [(name, value) for name, value in tool.annotations if isinstance(value, bool)]
    if ("readOnlyHint", True) in given:
        given = [hint for hint in given if hint[0] in {"readOnlyHint", "openWorldHint"}]
    found = [HINTS[hint] for hint in given if hint in HINTS]
    return f"{CLAIM}{', '.join(found)}" if found else ""


def description_of(request: CallRequest, hints: str = "") -> str:
    """What changed in the definition, hints that found no room elsewhere, and the server's own words about the tool."""
    tool = request.tool
    parts: list[str] = []
    if request.changed:
        parts.append(f"! changed since it was last approved: {visible(request.changed)}")
    count = hidden(tool.description) + hidden(tool.title)
    if count:
        parts.append(f"! its description has {count} hidden characters")
    if hints:
        parts.append(hints)
    words = f"{tool.title}: {tool.description}" if tool.title else tool.description
    parts.append(visible(words).strip() or "(the server gives no description)")
    return "\n".join(parts)


def call_row(tool: Tool, width: int, more: str, *, is_current: bool, arguments: bytes = b"") -> str:
    """A call that waits: its name, what tells it from others of that name, and the server's hints at the right.

    Arguments that are given are shown as far as there is room; the whole of them stands below.
    """
    name = clip(name_of(tool), width - 2, more)
    hints = hints_of(tool) if hints_fit(tool, width, arguments) else ""
    room = width - 2 - cell_len(name)
    free = room - 1 - (len(hints) + 2 if hints else 0)
    told = f" {clip(_one_line(arguments), free, more)}" if arguments and free >= SHORTEST else ""
    return f"{'>' if is_current else ' '} {name}{told}{' ' * (room - cell_len(told) - len(hints))}{hints}".rstrip()


def call_rows(tools: Sequence[Tool], arguments: Sequence[bytes], current: int, width: int, more: str) -> list[str]:
    """The calls that wait, the current one first if there is room for one alone."""
    return [
        call_row(tools[at], width, more, is_current=at == current, arguments=arguments[at])
        for at in [*range(current, len(tools)), *range(current)]
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


def hints_fit(tool: Tool, width: int, arguments: bytes = b"") -> bool:
    """Whether a tool's name, its hints and enough of the arguments stand in one line of so many cells."""
    told = min(cell_len(_one_line(arguments)) + 1, ENOUGH) if arguments else 0
    return cell_len(name_of(tool)) + told + len(hints_of(tool)) + 4 <= width


def _one_line(arguments: bytes) -> str:
    return visible(arguments.decode(), newlines=False)


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


def editable(arguments: bytes) -> str:
    """The arguments for an editor: characters that would not be seen as JSON escapes, so that the value is the same."""
    text = arguments_text(arguments, raw=False)
    if visible(text) == text:
        return text
    return "".join(character if visible(character) == character else json.dumps(character)[1:-1] for character in text)


def read_edit(text: str, schema: JSON) -> bytes:
    """An edit as it would be sent.

    Raises:
        TuiHostError: It is no JSON object, or its top level does not fit the tool's schema.
    """
    value = read_arguments(text)
    complaints = misfits(value, schema)
    if complaints:
        raise TuiHostError("; ".join(complaints))
    return canonical(value)


TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


def misfits(value: Mapping[str, JSON], schema: JSON) -> list[str]:
    """What at the top level does not fit a schema: missing names, wrong types, values that are not offered."""
    if not isinstance(schema, Mapping):
        return []
    found: list[str] = []
    required = schema.get("required")
    if isinstance(required, Sequence) and not isinstance(required, str):
        found += [
            f"{visible(name, newlines=False)} is missing"
            for name in required
            if isinstance(name, str) and name not in value
        ]
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for name, given in value.items():
            complaint = _misfit(given, properties.get(name))
            if complaint:
                found.append(f"{visible(name, newlines=False)} {complaint}")
            elif name not in properties and schema.get("additionalProperties") is False:
                found.append(f"{visible(name, newlines=False)} is not offered")
    return found


def _misfit(given: JSON, schema: JSON) -> str:
    if not isinstance(schema, Mapping):
        return ""
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) else list(wanted) if isinstance(wanted, Sequence) else []
    known = [name for name in names if isinstance(name, str) and name in TYPES]
    if known and not any(_is(given, name) for name in known):
        return f"must be {' or '.join(known)}"
    offered = schema.get("enum")
    if isinstance(offered, Sequence) and not isinstance(offered, str) and given not in offered:
        return f"must be one of {visible(json.dumps(list(offered), ensure_ascii=False)[:200], newlines=False)}"
    return ""


def _is(given: JSON, name: str) -> bool:
    if isinstance(given, bool):
        return name == "boolean"
    if name == "integer" and isinstance(given, float):
        return given.is_integer()
    return isinstance(given, TYPES[name])


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
