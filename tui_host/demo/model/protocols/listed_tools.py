"""Reads the tools that a system prompt lists as tags, as JSON, or as paragraphs with labels."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from tui_host.demo.model.json_values import is_object
from tui_host.demo.model.request_content import Tool, tool_of

_LIST = re.compile(r"<tools>(.*?)</tools>", re.DOTALL)
_TAGGED = re.compile(r"<tool>(.*?)</tool>", re.DOTALL)
_LABELLED = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+|#{1,6}[ \t]+|\d+[.)][ \t]+)?[`*]*"
    r"(?P<label>(?:tool|name|function|action|工具|名称|函数)(?:[ \t]+name)?[`*]*[ \t]*[:：][ \t]*)?"
    r"[`*\"']*(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]*)[`*\"']*(?P<rest>[ \t]*(?:[:：(（—–-][^\n]*)?)$",
    re.IGNORECASE | re.MULTILINE,
)
_PARAMETERS = re.compile(
    r"^[^\n]*\b(?:arguments|parameters|inputs?)\b[^\n]*$|^[^\n]*参数[^\n]*$", re.IGNORECASE | re.MULTILINE
)
_PARAMETER = re.compile(
    r"^[ \t]*[-*+][ \t]+[`*\"']*(?P<name>[A-Za-z_][\w.-]*)[`*\"']*[ \t]*(?P<kind>[(（\[][^)）\]\n]*[)）\]])?[ \t]*(?P<rest>[:：—–-][^\n]*)?$",
    re.MULTILINE,
)
_DESCRIPTION = re.compile(
    r"^[ \t]*(?:[-*][ \t]+)?[`*]*(?:description|描述|说明)[`*]*[ \t]*[:：][ \t]*(.+)$", re.IGNORECASE | re.MULTILINE
)
_KINDS = re.compile(r"\b(string|number|integer|boolean|array|object)\b", re.IGNORECASE)
_REQUIRED = re.compile(r"\brequired\b|必填|必需", re.IGNORECASE)
_SIGNATURE = re.compile(r"\s*\(([^()]*)\)")


def offered_in(prompt: str) -> tuple[Tool, ...]:
    """Return all tools in a prompt in order, each once."""
    lists = "\n".join(tool_list[1] for tool_list in _LIST.finditer(prompt))
    place = lists if lists.strip() else prompt
    return once((*tagged(place), *in_json(place))) or once(labelled(place))


def once(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """Return the first tool of each name."""
    tools_by_name: dict[str, Tool] = {}
    for tool in tools:
        tools_by_name.setdefault(tool.name, tool)
    return tuple(tools_by_name.values())


def tagged(prompt: str) -> Iterator[Tool]:
    """Read elements `<tool>` with `<name>`, `<description>` and a schema in `<arguments>`."""
    for block in _TAGGED.finditer(prompt):
        name = inner(block[1], "name")
        if name:
            yield tool_of(name, inner(block[1], "description"), schema_in(inner(block[1], "arguments") or block[1]))


def inner(text: str, tag: str) -> str:
    """Return the text inside the first element with a tag, empty if there is none."""
    match = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    return match[1].strip() if match else ""


def in_json(prompt: str) -> Iterator[Tool]:
    """Read JSON objects with a name and a schema, plain or in the form of a vendor's tool."""
    for value in objects_in(prompt):
        function = value.get("function")
        tool = function if is_object(function) else value
        schema = next(
            (tool[key] for key in ("parameters", "inputSchema", "input_schema", "arguments") if key in tool), None
        )
        name, description = tool.get("name"), tool.get("description")
        if isinstance(name, str) and (is_object(schema) or function is tool or isinstance(description, str)):
            yield tool_of(name, description if isinstance(description, str) else "", schema)


def labelled(prompt: str) -> Iterator[Tool]:
    """Read paragraphs and lists that begin with a name, followed by a schema or the parameters."""
    heads = [head for head in _LABELLED.finditer(prompt) if head["label"] or "__" in head["name"]]
    ends = [head.start() for head in heads[1:]] + [len(prompt)]
    for head, end in zip(heads, ends, strict=True):
        text = prompt[head.start("rest") : end]
        described = _DESCRIPTION.search(text)
        description = described[1] if described else head["rest"].strip(" \t:：—–-")
        schema = schema_in(text)
        if schema is not None:
            yield tool_of(head["name"], description, schema)
        else:
            types, required = _one_by_one(head["rest"], text)
            yield Tool(name=head["name"], description=description, types=types, required=required)


def _one_by_one(rest: str, text: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Read the parameters from a signature, or from a list below a line about parameters."""
    signature = _SIGNATURE.match(rest)
    if signature and ":" in signature[1]:
        pairs = [part.partition(":") for part in signature[1].split(",")]
        types = {name.strip(" `?"): kind.strip(" `").lower() for name, _, kind in pairs if name.strip()}
        return types, tuple(name for (raw, _, _), name in zip(pairs, types, strict=False) if "?" not in raw)
    begun = _PARAMETERS.search(text)
    named: dict[str, str] = {}
    required: list[str] = []
    place = begun.end() if begun else len(text)
    for entry in _PARAMETER.finditer(text, place):
        # Any other text between entries ends the list, even an empty line.
        gap = text[place : entry.start()]
        if gap.strip() or (named and gap.count("\n") > 1):
            break
        place = entry.end()
        words = f"{entry['kind'] or ''} {entry['rest'] or ''}"
        kind = _KINDS.search(words)
        named[entry["name"]] = kind[1].lower() if kind else ""
        if _REQUIRED.search(words):
            required.append(entry["name"])
    return named, tuple(required)


def schema_in(text: str) -> dict[str, object] | None:
    """Return the first object in a text that looks like a schema of parameters."""
    return next((value for value in objects_in(text) if "properties" in value or value.get("type") == "object"), None)


def objects_in(text: str) -> Iterator[dict[str, object]]:
    """Yield the outermost JSON objects in a text."""
    decoder = json.JSONDecoder()
    place = text.find("{")
    while place >= 0:
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            value, end = None, place + 1
        if is_object(value):
            yield value
        place = text.find("{", end)
