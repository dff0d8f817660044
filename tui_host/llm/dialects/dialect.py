"""What a dialect is: messages to the bytes of a request, the bytes of a response to events. Pure: no I/O, no clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tui_host.capture.json.spans import read_json
from tui_host.errors import JSON, ModelError
from tui_host.llm.events import ModelEvent
from tui_host.llm.messages import Ask
from tui_host.llm.outline import Outline
from tui_host.llm.request_writing import Growing
from tui_host.llm.tool_names import NameRule
from tui_host.settings.secrets import Secret


def names_in(body: bytes) -> tuple[str, ...]:
    """The names in a list of models, in the provider's order; nothing where it cannot be read."""
    try:
        value = read_json(body)
    except ValueError:
        return ()
    found = value.get("data", value.get("models")) if isinstance(value, Mapping) else value
    names = [_id_of(entry) for entry in found] if isinstance(found, list) else []
    return tuple(dict.fromkeys(name for name in names if name))


def _id_of(entry: JSON) -> str:
    value = (entry.get("id") or entry.get("name")) if isinstance(entry, Mapping) else entry
    return value if isinstance(value, str) else ""


NEAR = 0.95
"""The share of its window from which a prompt may have been cut: what goes are whole messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """How much a server reads at most, where it may cut what is longer without a word.

    Attributes:
        tokens: Prompt and answer together.
        remedy: What gives it more.
    """

    tokens: int
    remedy: str

    def is_filled(self, tokens: int | None) -> bool:
        """Whether a prompt of which the server has read so many tokens may have been longer; more shows a larger window."""
        return tokens is not None and NEAR * self.tokens <= tokens <= self.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """A request, ready but for its address and credential.

    Attributes:
        path: What follows the provider's base URL, without a leading slash; may bring a query.
        body: The exact bytes.
        headers: Names and values, without the credential.
        growing: Where in the body the conversation stands.
        window: Where the server may cut the prompt unsaid; None where it refuses what is too long.
        unsent: The options that a person set and that are not in the body as they were set, each with the reason.
    """

    path: str
    body: bytes
    headers: tuple[tuple[str, str], ...]
    growing: Growing = field(default_factory=Growing)
    window: Window | None = None
    unsent: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Whom a request goes to: what differs between services that speak one dialect.

    Attributes:
        provider: The provider's name, for what belongs to one provider alone.
        service: The preset whose service it is, empty for others.
        api_version: As configured, empty for the dialect's own.
    """

    provider: str
    service: str = ""
    api_version: str = ""


class Decoder(Protocol):
    """Reads one response. Byte offsets in the events count from the body's first byte, after content decoding."""

    def feed(self, data: bytes) -> list[ModelEvent]:
        """What these bytes add, wherever they were cut."""
        ...

    def finish(self) -> list[ModelEvent]:
        """What the end of the body adds; the last event of every response is a `Stopped`."""
        ...


class Dialect(Protocol):
    """An HTTP API's wire format. One object for all providers: it keeps nothing between calls."""

    @property
    def name(self) -> str:
        """As in the configuration."""
        ...

    @property
    def versions(self) -> tuple[str, ...]:
        """Path segments of which one stands between an address and a path: the first where the base URL ends with none."""
        ...

    @property
    def paths(self) -> tuple[str, ...]:
        """How the paths of its requests end: by these a request is known that was made by others, or long ago."""
        ...

    @property
    def models_path(self) -> str:
        """What follows the base URL to list models; may bring a query."""
        ...

    @property
    def name_rule(self) -> NameRule:
        """What a tool may be called."""
        ...

    def write(self, ask: Ask, target: Target) -> WireRequest:
        """The request."""
        ...

    def headers(self, secret: Secret | None, target: Target) -> tuple[tuple[str, str], ...]:
        """What every request carries: the credential, and the version where the vendor wants one."""
        ...

    def decoder(self, content_type: str) -> Decoder:
        """A reader for one response with status 2xx, streamed or whole; content types are not taken at their word."""
        ...

    def error(self, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> ModelError:
        """What a refusal says: the provider's own words, and our remedy."""
        ...

    def outline(self, body: bytes, names: Mapping[str, tuple[str, str]] | None = None) -> Outline | None:
        """A request's body as a tree with byte spans; None if it is not JSON.

        Args:
            body: The exact bytes, ours or another host's.
            names: What each tool's name stands for (server, tool), to say where things come from.
        """
        ...

    def models(self, body: bytes) -> tuple[str, ...]:
        """The names in a list of models; nothing where it cannot be read."""
        ...
