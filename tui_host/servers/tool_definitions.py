"""Tool definitions read one by one from what a server lists, each with its fingerprint; what is broken says why.

Source: MCP 2025-11-25 and 2026-07-28, Server features, Tools; threats.md, APR-05 and APR-07.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tui_host.capture.json.narrowing import as_json, is_object
from tui_host.errors import JSON
from tui_host.servers.catalog import READ, Resource, Tool

NEEDS_TASKS = "it runs only as a task, which is not supported yet"
MOST_RESOURCES = 200
"""Resources, and templates, of one server that are kept by name; all can be read."""
LONGEST_URI, LONGEST_WORDS = 2_000, 400
_DEFINING = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


def read_tools(
    listed: Sequence[object],
    *,
    server: str,
    identity: str,
    problem_of: Callable[[object], str | None],
    kept: frozenset[str] | None = None,
) -> tuple[Tool, ...]:
    """Every tool of a listing, in its order, broken ones too.

    Args:
        listed: As they came.
        server: The server's configured name.
        identity: Its command or URL; a fingerprint holds for it alone.
        problem_of: Why the SDK refuses a definition, None if it does not.
        kept: Names that the SDK kept, None if it was not asked.
    """
    found: list[Tool] = []
    names: set[str] = set()
    for definition in listed:
        tool = _read(definition, server, identity)
        problem = problem_of(definition) or tool.problem
        if problem is None and tool.name in names:
            problem = "another tool of this server has the same name"
        if problem is None and kept is not None and tool.name not in kept:
            problem = "its schema asks for headers that are not allowed (x-mcp-header)"
        names.add(tool.name)
        found.append(replace(tool, problem=problem))
    return tuple(found)


def read_resources(listed: Sequence[object], *, is_template: bool = False) -> tuple[Resource, ...]:
    """The resources of a listing, the first so many of them; what has no URI is none.

    Args:
        listed: As they came.
        is_template: They are templates.
    """
    found: list[Resource] = []
    for value in map(as_json, listed[:MOST_RESOURCES]):
        uri = _text(value.get("uriTemplate" if is_template else "uri")) if isinstance(value, Mapping) else ""
        if isinstance(value, Mapping) and uri and len(uri) <= LONGEST_URI:
            found.append(
                Resource(
                    uri=uri,
                    name=(_text(value.get("title")) or _text(value.get("name")))[:LONGEST_WORDS],
                    description=_text(value.get("description"))[:LONGEST_WORDS],
                    media_type=_text(value.get("mimeType"))[:LONGEST_WORDS],
                    is_template=is_template,
                )
            )
    return tuple(found)


def reader(server: str, identity: str, resources: tuple[Resource, ...]) -> Tool:
    """What reads a server's resources, in the form of a tool: it is asked for, decided and recorded as a call of one is.

    Its fingerprint holds for the server, whatever that lists.
    """
    schema: JSON = {
        "type": "object",
        "properties": {"uri": {"type": "string"}},
        "required": ["uri"],
        "additionalProperties": False,
    }
    mark = fingerprint({"name": READ, "inputSchema": schema}, identity)
    return Tool(server=server, name=READ, schema=schema, fingerprint=mark, resources=resources)


def changes(before: Sequence[Tool], after: Sequence[Tool]) -> tuple[str, ...]:
    """What is different between two listings, a sentence for each tool."""
    old = {tool.name: tool for tool in before}
    new = {tool.name: tool for tool in after}
    told = [f"{name} is new" for name in new if name not in old]
    told += [f"{name} is gone" for name in old if name not in new]
    for name, tool in new.items():
        was = old.get(name)
        if was is None or (was.fingerprint, was.problem) == (tool.fingerprint, tool.problem):
            continue
        parts = [
            word
            for word, differs in (
                ("title", was.title != tool.title),
                ("description", was.description != tool.description),
                ("input schema", _spelled(was.schema) != _spelled(tool.schema)),
                ("output schema", _spelled(was.output_schema) != _spelled(tool.output_schema)),
                ("annotations", _spelled(dict(was.annotations)) != _spelled(dict(tool.annotations))),
            )
            if differs
        ]
        told.append(f"{name} changed: {', '.join(parts) or 'whether it can be used'}")
    return tuple(told)


def fingerprint(definition: Mapping[str, JSON], identity: str) -> str:
    """SHA-256 (hex) over what a person approves: the definition and where it runs."""
    value = {key: definition.get(key) for key in _DEFINING}
    return hashlib.sha256(_spelled({**value, "where": identity}).encode()).hexdigest()


def _read(definition: object, server: str, identity: str) -> Tool:
    value = as_json(definition)
    if not isinstance(value, Mapping):
        return Tool(server=server, name="", problem="malformed: not an object", size=len(_spelled(value)))
    name = _text(value.get("name"))
    annotations = value.get("annotations")
    return Tool(
        server=server,
        name=name,
        title=_text(value.get("title")),
        description=_text(value.get("description")),
        schema=value.get("inputSchema"),
        output_schema=value.get("outputSchema"),
        annotations=tuple(annotations.items()) if isinstance(annotations, Mapping) else (),
        fingerprint=fingerprint(value, identity),
        size=len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")),
        problem=_problem(name, value),
    )


def _problem(name: str, definition: Mapping[str, JSON]) -> str | None:
    if not name:
        return "malformed: it has no name"
    if name == READ:
        return "its name is that of a request of the protocol, which it could be taken for"
    if len(name) > 256:
        return "its name has more than 256 characters"
    execution = definition.get("execution")
    if is_object(execution) and execution.get("taskSupport") == "required":
        return NEEDS_TASKS
    return None


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else ""


def _spelled(value: JSON) -> str:
    """One spelling for equal values; ASCII, so that nothing in it can fail to be encoded."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
