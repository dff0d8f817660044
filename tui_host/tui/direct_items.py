"""What a person can ask a server for without a model: its tools, resources and prompts, each with the fields to fill in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import quote

if TYPE_CHECKING:
    from tui_host.chat.schema_form import Field
    from tui_host.chat.session import Session
    from tui_host.errors import JSON
    from tui_host.servers.catalog import ServerStatus, Tool

ItemKind: TypeAlias = Literal["tool", "resource", "template", "prompt"]
MOST_KEPT = 20
"""Number of requests to keep for a server."""
_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectItem:
    """Something that a server offers. All texts are untrusted.

    Attributes:
        kind: What it is.
        name: The tool's or prompt's name, the resource's URI, or the template.
        title: The display name; may be empty.
        description: The server's description.
        fields: The fields of the form.
        tool: The tool's definition, of a tool.
    """

    kind: ItemKind
    name: str
    title: str = ""
    description: str = ""
    fields: tuple[Field, ...] = ()
    tool: Tool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRequest:
    """A request that was made, to be made again.

    Attributes:
        item: The kind and the name of what was asked for.
        arguments: The arguments: of a tool any JSON object, else texts.
    """

    item: tuple[ItemKind, str]
    arguments: Mapping[str, JSON]


@dataclass(slots=True)
class DirectWork:
    """What a person did with servers directly, as long as the program runs.

    Attributes:
        session: The session that records the requests; None before the first request.
        kept: The last requests of each server, newest first.
    """

    session: Session | None = None
    kept: dict[str, list[KeptRequest]] = field(default_factory=dict[str, "list[KeptRequest]"])

    def keep(self, server: str, request: KeptRequest) -> None:
        """Keep a request; an equal one moves to the front."""
        others = [known for known in self.kept.get(server, ()) if known != request]
        self.kept[server] = [request, *others][:MOST_KEPT]


def items_of(status: ServerStatus) -> Sequence[DirectItem]:
    """Return everything that a server offers: tools, resources, templates, prompts."""
    from tui_host.chat.schema_form import Field, fields_of

    tools = [
        DirectItem(
            kind="tool",
            name=tool.name,
            title=tool.title,
            description=tool.description,
            fields=fields_of(tool.schema),
            tool=tool,
        )
        for tool in status.tools
    ]
    resources = [
        DirectItem(kind="resource", name=each.uri, title=each.name, description=each.description)
        for each in status.resources
    ]
    templates = [
        DirectItem(
            kind="template",
            name=template.uri,
            title=template.name,
            description=template.description,
            fields=tuple(
                Field(name=name, kind="text", schema={}, label=name) for name in template_variables(template.uri)
            ),
        )
        for template in status.templates
    ]
    prompts = [
        DirectItem(
            kind="prompt",
            name=prompt.name,
            title=prompt.title,
            description=prompt.description,
            fields=tuple(
                Field(
                    name=given.name,
                    kind="text",
                    schema={},
                    label=given.name,
                    description=given.description,
                    required=given.required,
                )
                for given in prompt.arguments
            ),
        )
        for prompt in status.prompts
    ]
    return [*tools, *resources, *templates, *prompts]


def template_variables(template: str) -> Sequence[str]:
    """Return the names of a URI template's variables, in order. Source: RFC 6570."""
    names = [_name(part) for _, body in _EXPRESSION.findall(template) for part in body.split(",")]
    return list(dict.fromkeys(filter(None, names)))


def filled_template(template: str, values: Mapping[str, str]) -> str:
    """Fill in a URI template with texts; a variable without a text is left out. Source: RFC 6570, levels 1 to 3."""

    def fill(match: re.Match[str]) -> str:
        operator, names = match[1], [_name(part) for part in match[2].split(",")]
        is_named = operator in {"?", "&", ";"}
        keeps = operator in {"+", "#"}
        safe = ":/?#[]@!$&'()*+,;=%" if keeps else ""
        parts = [
            f"{name}={quote(values[name], safe=safe)}" if is_named else quote(values[name], safe=safe)
            for name in names
            if values.get(name)
        ]
        between = {"": ",", "+": ",", "#": ",", "?": "&"}.get(operator, operator)
        first = "" if operator in {"", "+"} else operator
        return f"{first}{between.join(parts)}" if parts else ""

    return _EXPRESSION.sub(fill, template)


def _name(part: str) -> str:
    return part.strip().rstrip("*").partition(":")[0]
