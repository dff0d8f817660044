"""What hosts do in their own ways: how they name tools, change arguments, run calls, and tell results."""

import hashlib
import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_host.errors import JSON

LONG = "create_or_update_purchase_order_line_items_for_{}_contract"
TOOLS: Mapping[str, Mapping[str, Mapping[str, JSON]]] = {
    "math": {"add": {}, "multiply": {}},
    "time": {"now": {}, "convert": {"zone": None, "exact": False}},
    "clock": {"now": {}},
    "jobs": {"status": {}, "get_status": {}, "start": {}},
    "docs": {"search": {"limit": 10, "page": None}, "readPage": {}},
    "resource-planning": {LONG.format("supplier"): {}, LONG.format("customer"): {}, "list_items": {}},
    "web": {"search": {"limit": 10}},
}
"""Server, tool, and the defaults of its arguments."""
NOT_TAPPED = ("web",)


def schema_of(server: str, tool: str) -> JSON:
    properties = {name: {"default": value} for name, value in TOOLS[server][tool].items()}
    return {"name": tool, "description": "It does.", "inputSchema": {"type": "object", "properties": {**properties}}}


def _clean(name: str) -> str:
    return re.sub(r"[^0-9A-Za-z_-]", "_", name)


def _camel(name: str) -> str:
    return re.sub(r"[^0-9A-Za-z]+(.)", lambda match: match[1].upper(), name)


def _digest(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()  # noqa: S324


def _joined(pattern: str) -> Callable[[str, str], str]:
    return lambda server, tool: pattern.format(server=server, tool=tool)


def _hashed(kept: int, length: int) -> Callable[[str, str], str]:
    """A long name's beginning with a hash of all of it behind."""

    def name(server: str, tool: str) -> str:
        whole = f"mcp__{_clean(server)}__{_clean(tool)}"
        return whole if len(whole) <= 64 else whole[:kept] + hashlib.sha1(whole.encode()).hexdigest()[:length]  # noqa: S324

    return name


def _middle_out(server: str, tool: str) -> str:
    whole = f"mcp_{_clean(server)}_{_clean(tool)}"
    return whole if len(whole) <= 63 else f"{whole[:28]}___{whole[-32:]}"


def _of_server_id(server: str, tool: str) -> str:
    cleaned = f"{_clean(server).replace('-', '_')[:7]}-{_clean(tool).replace('-', '_')}"
    return f"{cleaned[:56]}_{_digest(server)[:6]}"


NAMINGS: tuple[Callable[[str, str], str], ...] = (
    _joined("{server}__{tool}"),
    _joined("mcp__{server}__{tool}"),
    _joined("{server}.{tool}"),
    _joined("{server}-{tool}"),
    _joined("{server}_{tool}"),
    _joined("mcp_{server}_{tool}"),
    _joined("{tool}"),
    _joined("{tool}_mcp_{server}"),
    _joined("mcp--{server}--{tool}"),
    lambda server, tool: f"mcp__{_camel(server)}__{_camel(tool)}"[:63],
    _of_server_id,
    lambda server, tool: f"c{_digest(server)[:5]}0mcp0{tool}",
    _hashed(24, 40),
    _hashed(55, 8),
    _middle_out,
)
PLAIN = NAMINGS[0]


Arguments: TypeAlias = Mapping[str, JSON]


def _double(value: JSON) -> JSON:
    """A number as JavaScript has it: whole ones are written without a point."""
    is_whole = isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
    return int(float(value)) if is_whole and isinstance(value, int | float) else value


def _number(value: JSON) -> JSON:
    """What the schema asks for, where the model wrote a text."""
    return int(value) if isinstance(value, str) and value.isdigit() else value


SENDINGS: tuple[Callable[[Arguments, Arguments], dict[str, JSON]], ...] = (
    lambda arguments, _: dict(arguments),
    lambda arguments, _: dict(arguments),
    lambda arguments, _: {name: value for name, value in arguments.items() if value is not None},
    lambda arguments, defaults: {**defaults, **arguments},
    lambda arguments, _: {name: _double(value) for name, value in arguments.items()},
    lambda arguments, _: {name: _number(value) for name, value in arguments.items()},
)


def _same(text: str) -> str:
    return text


def _of_long(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: text if len(text) <= 1200 else change(text)


TELLINGS: tuple[Callable[[str], str], ...] = (
    *(_same, _same, _same),
    lambda text: f"Result: {text}",
    lambda text: f"Tool output:\n{text}\n",
    lambda text: f"<output>{text}</output>",
    lambda text: json.dumps([{"type": "text", "text": text}]),
    lambda text: json.dumps({"content": [{"type": "text", "text": text}], "isError": False}, ensure_ascii=False),
    _of_long(lambda text: f"{text[:1000]}\n... [truncated, {len(text) - 1000} characters]"),
    _of_long(lambda text: f"{text[:400]}\n...\n[{len(text) - 800} characters omitted]\n...\n{text[-400:]}"),
    _of_long(lambda _: "The tool found several pages; none is about the matter itself."),
)
REWORDINGS: tuple[Callable[[str], str], ...] = (
    lambda _: "OK",
    lambda text: text if len(text) <= 18 else f"{text[:18]}…",
    # A bare number is no object: some hosts take that for an error of the server.
    lambda text: "Error: invalid tool response" if text.replace(".", "").isdigit() else text,
    lambda text: f"The tool answered in {len(text.split())} words.",
)
"""How some hosts say less than what came, or something else."""
DENIALS = (
    "The user denied this operation.",
    "The user doesn't want to proceed with this tool use. The tool use was rejected.",
    "User rejected the tool call",
    "Error: tool call was cancelled by the user",
    "[Tool execution denied]",
)


@dataclass(frozen=True, kw_only=True)
class Habits:
    """What one host always does: names, what it sends of arguments, how it runs calls and in which order, what it tells of results.

    `is_eager` asks for many at a time, mostly of one server; `names_calls` sends the model's id along; `forgets` is how likely it drops old
    messages from a request; `again`, how likely it gives a frame up and sends it again, `cancels`, whether it then says so;
    `keeps`, how likely it tells what it knows in place of asking; `reword` is what it tells in place of what it would tell.
    """

    name: Callable[[str, str], str]
    send: Callable[[Arguments, Arguments], dict[str, JSON]]
    tell: Callable[[str], str]
    runs: Literal["one by one", "at once", "as approved"]
    order: Literal["as asked", "reversed", "any"]
    tells: Literal["as asked", "as they came", "as run"]
    is_eager: bool
    names_calls: bool
    forgets: float
    thinks: bool
    denial: str
    again: float
    cancels: bool
    keeps: float
    reword: Callable[[str], str] = _same


def habits(chance: random.Random, *, is_native: bool, with_ids: bool) -> Habits:
    is_impatient = chance.random() < 0.3
    return Habits(
        name=chance.choice(NAMINGS) if is_native else PLAIN,
        send=chance.choice(SENDINGS),
        tell=chance.choice(TELLINGS),
        runs=chance.choices(("one by one", "at once", "as approved"), (3, 4, 1))[0],
        order=chance.choices(("as asked", "reversed", "any"), (4, 1, 1))[0],
        tells=chance.choices(("as asked", "as they came", "as run"), (5, 2, 1))[0],
        is_eager=chance.random() < 0.4,
        names_calls=with_ids and chance.random() < 0.1,
        forgets=chance.choice((0.0, 0.0, 0.0, 0.1)),
        thinks=chance.random() < 0.3,
        denial=chance.choice(DENIALS),
        again=chance.choice((0.1, 0.2)) * is_impatient,
        cancels=chance.random() < 0.8,
        keeps=chance.choice((0.0, 0.0, 0.0, 0.3)),
    )
