"""What connected servers offer to the prompt: prompts as commands, resources and templates to attach."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.capture.visible import line

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.servers.catalog import OfferedPrompt, PromptArgument, Resource, ServerStatus

MOST = 50
"""Resources that are suggested at once."""
_WORDS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What is filled in. All texts but the server's name are untrusted."""

    server: str  # the server's configured name
    arguments: tuple[PromptArgument, ...]  # what to ask for
    title: str  # what is filled in
    about: str = ""  # the server's description
    prompt: str = ""  # the prompt's name, empty for a template
    template: str = ""  # the template, empty for a prompt


class ServerOffers:
    """What the servers of a host offer now.

    Args:
        host: The host.
        session: Returns the session on the screen.
        ask: Asks for the values of a form, and calls the function with them.
    """

    def __init__(
        self,
        host: Host,
        session: Callable[[], Session],
        ask: Callable[[Form, Callable[[Mapping[str, str]], None]], None],
    ) -> None:
        self.host = host
        self.ask = ask
        self._session = session

    @property
    def session(self) -> Session:
        return self._session()

    def _ready(self) -> list[ServerStatus]:
        pool = self.host.pool
        return [status for status in pool.statuses() if status.state == "ready"] if pool is not None else []

    # Prompts.

    def commands(self) -> list[tuple[str, str]]:
        """Return each prompt as `server:prompt`, with its description."""
        prompts = (prompt for status in self._ready() for prompt in status.prompts)
        return [(_command(prompt), line(prompt.description or prompt.title, _WORDS)) for prompt in prompts]

    def prompt(self, command: str) -> OfferedPrompt | None:
        """Return the prompt of a command, None if there is none."""
        prompts = (prompt for status in self._ready() for prompt in status.prompts)
        return next((prompt for prompt in prompts if _command(prompt) == command), None)

    # Resources.

    def suggestions(self, partial: str) -> list[tuple[str, str]]:
        """Return servers that have resources, or a server's resources and templates, for what is typed after `@`."""
        server, colon, typed = partial.partition(":")
        statuses = [status for status in self._ready() if status.resources or status.templates]
        if not colon:
            return [
                (f"{status.name}:", f"{_counted(len(status.resources), 'resource')} of this server")
                for status in statuses
                if status.name.casefold().startswith(server.casefold())
            ]
        status = next((status for status in statuses if status.name == server), None)
        if status is None:
            return []
        offered = [*status.resources, *status.templates]
        matching = [resource for resource in offered if _is_like(resource, typed)]
        found = [(f"{server}:{resource.uri}", _about(resource)) for resource in matching[:MOST]]
        if ":" in typed and all(resource.uri != typed for resource in offered):
            found.append((partial, "not listed by the server"))
        return found

    def resource(self, server: str, uri: str) -> Resource | None:
        """Return a listed resource or template, None if it is not listed."""
        offered = (
            entry
            for status in self._ready()
            if status.name == server
            for entry in (*status.resources, *status.templates)
        )
        return next((entry for entry in offered if entry.uri == uri), None)

    def ways(self, server: str, uri: str) -> list[tuple[str, str]]:
        """Return the ways to use a resource in a message, each with what is sent."""
        resource, model = self.resource(server, uri), line(str(self.session.model), 60)
        size = f"{_size(resource.size)} " if resource is not None and resource.size is not None else ""
        ways = [(ATTACH, f"{size}to {model}: read it now"), (LINK, f"to {model}: only its address")]
        watches = self.host.watches
        if watches is not None and watches.is_watched(self.session, server, uri):
            return [*ways, (UNWATCH, "the chat tells no more of changes")]
        return [*ways, (WATCH, "and tell here when it changes")] if self._announces(server) else ways

    def _announces(self, server: str) -> bool:
        """Whether a server says that it announces changes of single resources."""
        declared = next((status.capabilities for status in self._ready() if status.name == server), None)
        resources = declared.get("resources") if isinstance(declared, dict) else None
        return isinstance(resources, dict) and resources.get("subscribe") is True


ATTACH, LINK, WATCH, UNWATCH = "attach", "link", "attach and watch", "watch no more"
"""The ways to use a resource."""


def _command(prompt: OfferedPrompt) -> str:
    return line(f"{prompt.server}:{prompt.name}", _WORDS)


def _is_like(resource: Resource, typed: str) -> bool:
    words = f"{resource.uri}\n{resource.name}".casefold()
    return typed.casefold() in words


def _about(resource: Resource) -> str:
    size = "" if resource.size is None else _size(resource.size)
    kind = "template: asks for its values" if resource.is_template else ""
    facts: Sequence[str] = (kind, resource.name if resource.name != resource.uri else "", resource.media_type, size)
    return line(", ".join(fact for fact in facts if fact), _WORDS)


def _size(size: int) -> str:
    from tui_host.llm.outline import size_words

    return size_words(size)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
