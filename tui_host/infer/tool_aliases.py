"""Decide which tool a host's name for a tool means. Hosts join, shorten and clean names in different ways."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from tui_host.errors import JSON
from tui_host.infer.call_values import READING, Call, canonical, canonical_text

HUB = "invoke"
"""The end of the name of a hub's tool, whose arguments hold the actual call."""
_SHORTENED = 40
"""The length from which a name may have been shortened."""
_ALIKE = 12
"""Characters that the ends of a shortened name must share with the full name."""
_SERVER = 7
"""Characters that identify a server."""
_NO_WORD = re.compile(r"[\W_]+")
_NO_ASCII = re.compile(r"[^\x00-\x7f]|[^\w-]", re.ASCII)
"""Characters that hosts replace by `_`, as most APIs allow no others in a name."""
_BEHIND = re.compile(r"_(?:mcp_.*|(?=[a-z]*\d)[0-9a-z]{6,8})\Z")
"""What hosts append to a tool's name: the server's name, or a part of its id."""
_BY_KEY = re.compile(r"[0-9A-Za-z_-]{4,}0mcp0(.+)", re.DOTALL)
_KEY = re.compile(r"(?=[a-z]*\d)[0-9a-f]{6,}\Z")
"""A key that a host uses in place of a server's name."""
_NOTHING = ("mcp", "server")
"""Words that identify no server where they stand together."""
_PLUGIN = "plugin_"
"""The word before a plugin's name and a server's."""
_BEFORE = (["claude", "ai"], ["plugin"])
"""Words that hosts put before a server's name."""
_CUT_BEFORE_KEY = (_SERVER,)
_CUT_BEHIND_MCP = (12, 13, 14)
"""Lengths to which hosts cut a server's name even in short names: with a key behind the tool's name, or `mcp_` before."""
_PARTS = re.compile(r"__|--|[./:]")
_JOINING = ("", *"_-./:")
"""What may stand before a tool's name."""
_READING = re.compile(r"access_mcp_resource|read_?(?:mcp_?)?resource(?:_?tool)?\Z", re.IGNORECASE)
"""Names of tools that read a server's resource."""
_WHERE = ("server_name", "server", "serverName", "extension_name")


def meant(asked: Call) -> tuple[str, str | None]:
    """Return name and arguments of the tool meant by a call, also through a hub's `invoke` or a tool that reads resources."""
    arguments = canonical_text(asked.arguments)
    if arguments is None:
        return asked.name, None
    is_hub, reads = asked.name.endswith(HUB), _READING.search(asked.name)
    if not is_hub and not reads:
        return asked.name, arguments
    value: JSON = json.loads(arguments)
    if not isinstance(value, dict):
        return asked.name, arguments
    if is_hub and value.keys() == {"name", "params"} and isinstance(name := value["name"], str):
        return name, canonical(value["params"])
    uri = value.get("uri")
    if reads and isinstance(uri, str):
        server = next((named for key in _WHERE if isinstance(named := value.get(key), str)), "")
        before = asked.name[: reads.start()].strip("_")
        return f"{server or before}__{READING}", canonical({"uri": uri})
    return asked.name, arguments


def tools_named(name: str, tools: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Return the tools that a name may stand for.

    `mcp__server__tool`, `server__tool`, `server-tool`, `server.tool` and plain `tool` end with the tool's own name, other names
    begin with the tool's. The longest tool name counts, and of several servers the server named in the rest. A shortened name
    begins or ends like the full name.

    Args:
        name: The name that the model uses.
        tools: Server and own name of all known tools.
    """
    all_tools = list(tools)
    if same := [tool for tool in all_tools if not tool[1].isascii() and name in _full_names(*tool)]:
        return frozenset(same)  # without letters each `_` counts
    fitting = [(tool, beside) for tool in all_tools for beside in _rests(name, tool[1])]
    if fitting:
        longest = max(len(_squeezed(tool)) for (_, tool), _ in fitting)
        fitting = [fit for fit in fitting if len(_squeezed(fit[0][1])) == longest]
        named = {tool: _server_characters(tool[0], beside) for tool, beside in fitting}
        most = max(named.values())
        return frozenset(tool for tool, length in named.items() if length == most)
    squeezed = _squeezed(name)
    same = [(server, tool) for server, tool in all_tools if squeezed in {_squeezed(server + tool), _squeezed(tool)}]
    if same or len(name) < _SHORTENED:
        return frozenset(same)
    return frozenset(_shortened(name, all_tools))


def names_server(name: str, server: str, tool: str) -> bool:
    """Return whether a name states the server of a tool."""
    whole = _squeezed(name)
    if whole == _squeezed(server + tool) != _squeezed(tool):
        return True
    return any(_is_server_name(server, beside, name, tool) for beside in _rests(name, tool) if _identifying(beside))


def names_another(name: str, server: str, tool: str) -> bool:
    """Return whether a name states another server for a tool of the same name."""
    return any(_identifying(beside) for beside in _rests(name, tool)) and not names_server(name, server, tool)


def _cleaned(name: str) -> str:
    return _NO_WORD.sub("_", name).lower()


def _squeezed(name: str) -> str:
    return _NO_WORD.sub("", name).lower()


def _in_ascii(name: str) -> Sequence[str]:
    """Return the spellings of a name in ASCII; hosts in JavaScript replace a wide character by two underscores."""
    plain = _NO_ASCII.sub("_", name)
    wide = _NO_ASCII.sub(lambda match: "__" if match[0] > "\uffff" else "_", name)
    return (plain,) if wide == plain else (plain, wide)


def _spelled(name: str) -> tuple[str, ...]:
    """Return a name with its ASCII spellings."""
    return (name,) if name.isascii() else (name, *_in_ascii(name))


def _rests(name: str, tool: str) -> Iterator[str]:
    """Yield the rest of a name beside a tool's full name; nothing if the name does not contain the tool's."""
    wanted, own = _cleaned(name), _cleaned(tool).strip("_")
    if not own:
        return
    if not tool.isascii() and name.isascii():
        for spelled in _in_ascii(tool):
            before = name.removesuffix(spelled)
            is_joined = before.endswith("__") if before.startswith("mcp__") else before[-1:] in _JOINING
            if before != name and is_joined:
                yield _cleaned(before).strip("_")
        return
    by_key = _BY_KEY.fullmatch(name)
    if wanted.strip("_") == own or (by_key and by_key[1] == tool):
        yield ""
    elif wanted.endswith(f"_{own}"):
        yield wanted[: -len(own) - 1]
    elif wanted.startswith(own) and _BEHIND.fullmatch(wanted[len(own) :]):
        yield behind if (behind := wanted[len(own) + 1 :]).startswith("mcp_") else ""
    elif (match := _BEHIND.search(wanted)) and wanted[: match.start()].endswith(f"_{own}"):
        yield wanted[: match.start() - len(own) - 1]
    else:
        *before, last = _PARTS.split(name)
        if before and _squeezed(last) == _squeezed(tool):
            yield "_".join(before)


def _server_characters(server: str, beside: str) -> int:
    """Return how many characters of a server's name, whole or cut, stand beside the tool's; 0 for none."""
    there = _squeezed(beside)
    whole = next((spelling for spelling in map(_squeezed, _spelled(server)) if spelling and spelling in there), "")
    if whole:
        return len(whole)
    whole = _squeezed(server)
    return _SERVER if len(whole) > _SERVER and whole[:_SERVER] in there else 0


def _identifying(beside: str) -> str:
    """Remove words that identify no server from the rest of a name."""
    words = [word for word in _cleaned(beside).split("_") if word and not _KEY.match(word)]
    ignored = _NOTHING if "mcp" in words else ()
    for place in (0, -1):
        while words and words[place] in ignored:
            words.pop(place)
    for before in _BEFORE:
        if words[: len(before)] == before and len(words) > len(before):
            words = words[len(before) :]
    return "_".join(words)


def _is_server_name(server: str, beside: str, name: str, tool: str) -> bool:
    """Return whether the rest of a name is the server's name, whole or cut."""
    return any(_is_called(spelling, beside, name, tool) for spelling in _spelled(server))


def _is_called(server: str, beside: str, name: str, tool: str) -> bool:
    cleaned, there = _cleaned(server), _identifying(beside)
    whole = _identifying(server) or cleaned.strip("_")
    if _squeezed(there) == _squeezed(whole) or (_PLUGIN in _cleaned(beside) and there.endswith(f"_{whole}")):
        return True
    if len(name) >= _SHORTENED and len(there) >= _SERVER and whole.startswith(there):
        return True
    lengths = _CUT_BEHIND_MCP if beside.startswith("mcp_") else ()
    if not _cleaned(name).endswith(_cleaned(tool)):
        lengths = _CUT_BEFORE_KEY
    return any(cleaned[:length].strip("_") == there for length in lengths if length < len(cleaned))


def _shortened(name: str, tools: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the tools whose full names a shortened name may come from: by likeness."""
    all_tools = list(tools)
    alike = {tool: _likeness(_squeezed(name), *tool) for tool in all_tools}
    most = max(alike.values(), default=0)
    yield from (tool for tool, length in alike.items() if length == most >= _ALIKE)


def _full_names(server: str, tool: str) -> Iterator[str]:
    cleaned = list(product(_in_ascii(server), _in_ascii(tool)))
    for pattern in ("mcp__{}__{}", "{}__{}", "mcp--{}--{}", "mcp_{}_{}", "{}_{}", "{}-{}"):
        yield pattern.format(server, tool)
        yield from (pattern.format(*clean) for clean in cleaned)


def _likeness(squeezed: str, server: str, tool: str) -> int:
    """Return how many characters a shortened name shares with a tool's full name at both ends."""
    most = 0
    for whole in (_squeezed(server + tool), _squeezed(f"{server[:_SERVER]}{tool}"), _squeezed(tool)):
        start = squeezed.find(whole[:_ALIKE])
        if start < 0 or start > _ALIKE:
            continue
        front = _common(squeezed[start:], whole)
        back = _common(squeezed[start:][::-1], whole[::-1])
        most = max(most, front + (back if back >= _ALIKE else 0))
    return most


def _common(first: str, second: str) -> int:
    return next(
        (place for place, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]),
        min(len(first), len(second)),
    )
