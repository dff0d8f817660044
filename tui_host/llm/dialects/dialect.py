"""The interface of a dialect: messages to the bytes of a request, bytes of a response to events. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tui_host.capture.json.reading import read_json
from tui_host.errors import JSON, ModelError
from tui_host.llm.dialects.body_kinds import AnswerPart, Fit
from tui_host.llm.events import ModelEvent
from tui_host.llm.messages import Ask
from tui_host.llm.outline import Outline
from tui_host.llm.request_writing import Growing
from tui_host.llm.tool_names import NameRule
from tui_host.settings.environment_references import Secret


def names_in(body: bytes) -> tuple[str, ...]:
    """Return the names in a list of models, in the provider's order; nothing if the list is unreadable."""
    try:
        value = read_json(body)
    except ValueError:
        return ()
    listed = value.get("data", value.get("models")) if isinstance(value, Mapping) else value
    names = [_id_of(entry) for entry in listed] if isinstance(listed, list) else []
    return tuple(dict.fromkeys(name for name in names if name))


def _id_of(entry: JSON) -> str:
    value = (entry.get("id") or entry.get("name")) if isinstance(entry, Mapping) else entry
    return value if isinstance(value, str) else ""


NEAR = 0.95
"""The share of the window from which a prompt may have been cut: servers drop whole messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The tokens read by a server with silent cuts of longer prompts.

    Attributes:
        tokens: The size for prompt and answer together.
        remedy: How to get a larger window.
    """

    tokens: int
    remedy: str

    def is_filled(self, tokens: int | None) -> bool:
        """Tell whether a prompt of this many tokens may have been cut; a larger number shows a larger window."""
        return tokens is not None and NEAR * self.tokens <= tokens <= self.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """A request without address and credential.

    Attributes:
        path: The path below the provider's base URL, without a leading slash, perhaps with a query.
        body: The exact bytes.
        headers: Names and values, without the credential.
        growing: The place of the conversation in the body.
        window: The window of a server that cuts long prompts silently; None for servers that refuse them.
        unsent: The options not sent as the person set them, each with the reason.
    """

    path: str
    body: bytes
    headers: tuple[tuple[str, str], ...]
    growing: Growing = field(default_factory=Growing)
    window: Window | None = None
    unsent: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The addressee of a request: the differences between services with the same dialect.

    Attributes:
        provider: The provider's name.
        service: The preset's name, empty for other services.
        api_version: As configured, empty for the dialect's own.
    """

    provider: str
    service: str = ""
    api_version: str = ""


class Decoder(Protocol):
    """Reads a response. Byte offsets in the events count from the body's first byte, after content decoding."""

    def feed(self, data: bytes) -> list[ModelEvent]:
        """Return the events in these bytes, wherever they were cut."""
        ...

    def finish(self) -> list[ModelEvent]:
        """Return the events at the end of the body. The last event of every response is a `Stopped`."""
        ...


class Dialect(Protocol):
    """An HTTP API's wire format. A single stateless object serves all providers."""

    @property
    def name(self) -> str:
        """As in the configuration."""
        ...

    @property
    def versions(self) -> tuple[str, ...]:
        """The API's versions as path segments; the first is added to a base URL without a version."""
        ...

    @property
    def paths(self) -> tuple[str, ...]:
        """The ends of request paths, by which requests of other hosts are recognised."""
        ...

    @property
    def models_path(self) -> str:
        """The path below the base URL for the list of models, perhaps with a query."""
        ...

    @property
    def name_rule(self) -> NameRule:
        """The rule for tool names."""
        ...

    def write(self, ask: Ask, target: Target) -> WireRequest:
        """The request."""
        ...

    def headers(self, secret: Secret | None, target: Target) -> tuple[tuple[str, str], ...]:
        """Return the headers of every request: the credential, and the version where the vendor wants a version."""
        ...

    def decoder(self, content_type: str) -> Decoder:
        """Make a reader for a response with status 2xx, streamed or whole. The content type is only shown in errors."""
        ...

    def error(self, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> ModelError:
        """Read a refusal: the provider's words, and a remedy of ours."""
        ...

    def outline(self, body: bytes, names: Mapping[str, tuple[str, str]] | None = None) -> Outline | None:
        """Read a request's body as a tree with byte spans. None if the body is not JSON.

        Args:
            body: The exact bytes, ours or another host's.
            names: Server and tool of each tool name, for the origins of parts.
        """
        ...

    def fits_request(self, body: Mapping[str, JSON]) -> Fit:
        """Whether a JSON object can be the body of a request, its address unknown."""
        ...

    def answer_part(self, body: Mapping[str, JSON]) -> AnswerPart | None:
        """What a JSON object is of an answer, its address unknown; None if it is nothing of one."""
        ...

    def models(self, body: bytes) -> tuple[str, ...]:
        """Return the names in a list of models; nothing if the list is unreadable."""
        ...
