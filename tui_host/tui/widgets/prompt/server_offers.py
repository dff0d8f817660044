"""What can be put at the caret of the prompt; of it what servers offer: prompts as commands, resources, templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.visible import line
from tui_host.settings.frozen import Frozen

if TYPE_CHECKING:
    from tui_host.chat.attachments import Attached
    from tui_host.chat.schema_form import FormField
    from tui_host.chat.session import Session
    from tui_host.errors import JSON
    from tui_host.host.host import Host
    from tui_host.servers.catalog import OfferedPrompt, Resource, ServerStatus, Tool

MOST = 50  # resources that are suggested at once
_WORDS = 120
LINK, WATCH, UNWATCH = "link", "attach and watch", "watch no more"  # the ways to use a resource, besides attaching it


class Suggestion(NamedTuple):
    """What can be put at the caret."""

    words: str  # what is suggested; foreign text as it came
    note: str
    take: str | Callable[[str], None]  # what replaces the word before the caret, or what is done with that word
    by_enter: bool = True  # whether enter takes it, as tab and a click do; else enter sends what is written


class Form(Frozen):
    """What is filled in for a tool, a resource's template or a prompt. All texts but the server's name are untrusted."""

    server: str  # the server's configured name
    item: Tool | Resource | OfferedPrompt
    title: str  # what is filled in
    fields: tuple[FormField, ...]
    action: str  # the word for what is done with the values
    given: Mapping[str, JSON] = field(default_factory=dict[str, "JSON"])  # values to begin with
    completes: Mapping[str, JSON] | None = None  # the prompt or template whose values the server completes


def form_of(server: str, item: Tool | Resource | OfferedPrompt) -> Form:
    """Return the form of what a tool, a resource (which takes nothing), a template or a prompt takes."""
    from tui_host.chat.schema_form import fields_of
    from tui_host.servers.catalog import OfferedPrompt, Tool, variables

    if isinstance(item, Tool):
        title = f"Call {line(item.name, 80)} of {server}"
        return Form(server=server, item=item, title=title, fields=fields_of(item.schema), action="Call")
    if isinstance(item, OfferedPrompt):
        title, action = f"Prompt {line(item.title or item.name, 80)} of {server}", "Fill in"
        texts = {argument.name: argument.description for argument in item.arguments}
        required = [argument.name for argument in item.arguments if argument.required]
        completes = {"type": "ref/prompt", "name": item.name}
    else:
        title, action = f"Resource {line(item.name or item.uri, 80)} of {server}", "Read"
        texts = dict.fromkeys(variables(item.uri) if item.is_template else (), "")
        required, completes = [*texts], {"type": "ref/resource", "uri": item.uri}
    properties = {name: {"type": "string", "description": text} for name, text in texts.items()}
    fields = fields_of({"properties": properties, "required": required})
    return Form(server=server, item=item, title=title, fields=fields, action=action, completes=completes)


class ServerOffers(Frozen):
    """What the servers of a host offer now."""

    host: Host
    session: Callable[[], Session]  # returns the one on the screen
    # Asks for the values of a form, and calls the function with them.
    ask: Callable[[Form, Callable[[Mapping[str, JSON]], None]], None]

    def _ready(self) -> dict[str, ServerStatus]:
        statuses = () if self.host.pool is None else self.host.pool.statuses()
        return {status.name: status for status in statuses if status.state == "ready"}

    def prompts(self) -> dict[str, OfferedPrompt]:
        prompts = [prompt for status in self._ready().values() for prompt in status.prompts]
        return {line(f"{prompt.server}:{prompt.name}", _WORDS): prompt for prompt in prompts}

    def _listed(self, server: str) -> list[Resource]:
        status = self._ready().get(server)
        return [] if status is None else [*status.resources, *status.templates]

    def resource(self, server: str, uri: str) -> Resource | None:
        return next((resource for resource in self._listed(server) if resource.uri == uri), None)

    def suggestions(self, partial: str) -> list[tuple[str, str]]:
        """Return servers that have resources, or a server's resources and templates, for what is typed after `@`."""
        server, colon, typed = partial.partition(":")
        if not colon:
            return [
                (f"{name}:", f"{len(status.resources)} resource{'s' * (len(status.resources) != 1)} of this server")
                for name, status in self._ready().items()
                if name.casefold().startswith(server.casefold()) and self._listed(name)
            ]
        listed, begun = self._listed(server), typed.casefold()
        alike = [resource for resource in listed if begun in f"{resource.uri}\n{resource.name}".casefold()]
        offered: list[tuple[str, str]] = []
        for resource in alike[:MOST]:
            kind = "template: asks for its values" if resource.is_template else ""
            name = "" if resource.name == resource.uri else resource.name
            about = ", ".join(filter(None, (kind, name, resource.media_type, _size(resource))))
            offered.append((f"{server}:{resource.uri}", line(about, _WORDS)))
        if listed and ":" in typed and all(resource.uri != typed for resource in listed):
            offered.append((partial, "not listed by the server"))
        return offered

    def ways(self, server: str, uri: str) -> list[tuple[str, str]]:
        """Return the ways to use a resource in a message, each with what is sent."""
        resource, session, watches = self.resource(server, uri), self.session(), self.host.watches
        model, size = line(str(session.model), 60), "" if resource is None else _size(resource)
        ways = [("attach", f"{size} to {model}: read it now".lstrip()), (LINK, f"to {model}: only its address")]
        if watches is not None and watches.is_watched(session, server, uri):
            return [*ways, (UNWATCH, "the chat tells no more of changes")]
        status = self._ready().get(server)
        declared = mapping(mapping(None if status is None else status.capabilities).get("resources"))
        return [*ways, (WATCH, "and tell here when it changes")] if declared.get("subscribe") is True else ways

    async def use(self, server: str, uri: str, way: str) -> Sequence[Attached]:
        """Use a resource in one of its ways; return what is attached."""
        from tui_host.chat.attachments import attached_resource, linked_resource

        pool, watches, session, resource = self.host.pool, self.host.watches, self.session(), self.resource(server, uri)
        if way == LINK:
            return (linked_resource(server, uri, "" if resource is None else resource.name),)
        if pool is None or watches is None:
            return ()
        if way == UNWATCH:
            await watches.end(session, server, uri)
            return ()
        if way == WATCH:  # before it is read, so that no change is missed
            await watches.begin(session, server, uri)
        return attached_resource(server, uri, await pool.read(server, uri, place=session.place()))


def _size(resource: Resource) -> str:
    from tui_host.llm.outline import size_words

    return "" if resource.size is None else size_words(resource.size)
