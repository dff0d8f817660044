"""What a person can ask a server for without a model: its tools, resources and prompts, each with the fields to fill in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from tui_host.chat.schema_form import FormField
    from tui_host.chat.session import Session
    from tui_host.errors import JSON
    from tui_host.servers.catalog import ServerStatus, Tool

ItemKind: TypeAlias = Literal["tool", "resource", "template", "prompt"]
MOST_KEPT = 20
"""Number of requests to keep for a server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectItem:
    """Something that a server offers. All texts are untrusted."""

    kind: ItemKind  # what it is
    name: str  # the tool's or prompt's name, the resource's URI, or the template
    title: str = ""  # the display name; may be empty
    description: str = ""  # the server's description
    fields: tuple[FormField, ...] = ()  # the fields of the form
    tool: Tool | None = None  # the tool's definition, of a tool


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRequest:
    """A request that was made, to be made again."""

    item: tuple[ItemKind, str]  # the kind and the name of what was asked for
    arguments: Mapping[str, JSON]  # the arguments: of a tool any JSON object, else texts


@dataclass(slots=True)
class DirectWork:
    """What a person did with servers directly, as long as the program runs.

    Attributes:
        kept: The last requests of each server, newest first.
    """

    session: Session | None = None  # the session that records the requests; None before the first request
    kept: dict[str, list[KeptRequest]] = field(default_factory=dict[str, "list[KeptRequest]"])

    def keep(self, server: str, request: KeptRequest) -> None:
        """Keep a request; an equal one moves to the front."""
        others = [known for known in self.kept.get(server, ()) if known != request]
        self.kept[server] = [request, *others][:MOST_KEPT]


def items_of(status: ServerStatus) -> Sequence[DirectItem]:
    """Return everything that a server offers: tools, resources, templates, prompts."""
    from tui_host.chat.schema_form import FormField, fields_of
    from tui_host.servers.catalog import variables

    def item(
        kind: ItemKind, name: str, title: str, about: str, *fields: FormField, tool: Tool | None = None
    ) -> DirectItem:
        return DirectItem(kind=kind, name=name, title=title, description=about, fields=fields, tool=tool)

    def field(name: str, about: str = "", *, required: bool = False) -> FormField:
        return FormField(name=name, kind="text", schema={}, label=name, description=about, required=required)

    return [
        *(item("tool", it.name, it.title, it.description, *fields_of(it.schema), tool=it) for it in status.tools),
        *(item("resource", it.uri, it.name, it.description) for it in status.resources),
        *(item("template", it.uri, it.name, it.description, *map(field, variables(it.uri))) for it in status.templates),
        *(
            item(
                "prompt",
                it.name,
                it.title,
                it.description,
                *(field(given.name, given.description, required=given.required) for given in it.arguments),
            )
            for it in status.prompts
        ),
    ]
