"""Reads the tools, resources and prompts that a server lists, one by one, so that a broken one costs itself alone.

Source: MCP 2025-11-25 and 2026-07-28, Server features.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from tui_host.capture.json.narrowing import as_json, items, mapping, text_or_empty
from tui_host.errors import JSON
from tui_host.servers.catalog import READ, OfferedPrompt, PromptArgument, Resource, Tool

NEEDS_TASKS = "it runs only as a task of MCP 2025-11-25, which is not supported"
MOST_RESOURCES = 200
"""Most resources, and most templates, of a server that are listed to a model; the rest can still be read."""
LONGEST_NAME, LONGEST_URI, LONGEST_WORDS = 256, 2_000, 400
_DEFINING = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
_READER: JSON = {
    "type": "object",
    "properties": {"uri": {"type": "string"}},
    "required": ["uri"],
    "additionalProperties": False,
}


def read_tools(
    listed: Sequence[object], *, server: str, identity: str, problems: Sequence[str | None] = ()
) -> tuple[Tool, ...]:
    """Read every tool of a listing, in order, including broken ones; `problems` says what else is wrong with each."""
    tools: list[Tool] = []
    names: set[str] = set()
    for definition, found in zip_longest(listed, problems):
        value = as_json(definition)
        size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
        if not isinstance(value, Mapping):
            tools.append(Tool(server=server, name="", problem=found or "malformed: not an object", size=size))
            continue
        name, meta = text_or_empty(value.get("name")), mapping(value.get("_meta"))
        # Source: MCP Apps (SEP-1865), `_meta.ui.resourceUri`; before, a flat key.
        page = text_or_empty(mapping(meta.get("ui")).get("resourceUri", meta.get("ui/resourceUri")))
        faults = (
            (not name, "malformed: no name"),
            (name == READ, "its name is reserved: it is a method of the protocol"),
            (len(name) > LONGEST_NAME, f"its name has more than {LONGEST_NAME} characters"),
            (mapping(value.get("execution")).get("taskSupport") == "required", NEEDS_TASKS),
            (name in names, "another tool of this server has the same name"),
        )
        names.add(name)
        tools.append(
            Tool(
                server=server,
                name=name,
                title=text_or_empty(value.get("title")),
                description=text_or_empty(value.get("description")),
                schema=value.get("inputSchema"),
                output_schema=value.get("outputSchema"),
                annotations=tuple(mapping(value.get("annotations")).items()),
                fingerprint=fingerprint(value, identity),
                size=size,
                problem=found or next((words for is_so, words in faults if is_so), None),
                page=page if page.startswith("ui://") and len(page) <= LONGEST_URI else "",
            )
        )
    return tuple(tools)


def fingerprint(definition: Mapping[str, JSON], identity: str) -> str:
    """Return the SHA-256 (hex) of what a user approves: the definition and where it runs."""
    value = {key: definition.get(key) for key in _DEFINING}
    # Equal values are spelled equally, and in ASCII, so that encoding never fails.
    spelled = json.dumps({**value, "where": identity}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(spelled.encode()).hexdigest()


def reader(server: str, identity: str, resources: Sequence[Resource]) -> Tool:
    """Return the pseudo-tool that reads a server's resources; it is offered, approved and recorded like a tool call."""
    plain = [each for each in resources if not each.is_template][:MOST_RESOURCES]
    templates = [each for each in resources if each.is_template][:MOST_RESOURCES]
    # Without the resources: an approval of the reader holds for whatever the server lists later.
    mark = fingerprint({"name": READ, "inputSchema": _READER}, identity)
    return Tool(server=server, name=READ, schema=_READER, fingerprint=mark, resources=(*plain, *templates))


def read_resources(listed: Sequence[object], *, is_template: bool = False) -> tuple[Resource, ...]:
    """Read the resources or templates of a listing, skipping entries without a URI."""
    resources: list[Resource] = []
    for value in (mapping(as_json(entry)) for entry in listed):
        uri, size = text_or_empty(value.get("uriTemplate" if is_template else "uri")), value.get("size")
        if 0 < len(uri) <= LONGEST_URI:
            resources.append(
                Resource(
                    uri=uri,
                    name=_words(value, "title") or _words(value, "name"),
                    description=_words(value, "description"),
                    media_type=_words(value, "mimeType"),
                    is_template=is_template,
                    size=size if isinstance(size, int) and not isinstance(size, bool) else None,
                    annotations=tuple(mapping(value.get("annotations")).items()),
                )
            )
    return tuple(resources)


def read_prompts(listed: Sequence[object], *, server: str) -> tuple[OfferedPrompt, ...]:
    """Read the prompts of a listing, skipping entries without a name and the second of two with one name."""
    prompts: dict[str, OfferedPrompt] = {}
    for value in (mapping(as_json(entry)) for entry in listed):
        name = text_or_empty(value.get("name"))
        if 0 < len(name) <= LONGEST_URI and name not in prompts:
            prompts[name] = OfferedPrompt(
                server=server,
                name=name,
                title=_words(value, "title"),
                description=_words(value, "description"),
                arguments=tuple(
                    PromptArgument(
                        name=text_or_empty(argument.get("name"))[:LONGEST_URI],
                        description=_words(argument, "description"),
                        required=argument.get("required") is True,
                    )
                    for argument in map(mapping, items(value.get("arguments")))
                ),
            )
    return tuple(prompts.values())


def _words(value: Mapping[str, JSON], key: str) -> str:
    # A screen needs no more of a text than a few lines.
    return text_or_empty(value.get(key))[:LONGEST_WORDS]
