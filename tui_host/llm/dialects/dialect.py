"""The base of all dialects: writes messages as request bytes, reads response bytes as events. No I/O, no clock."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tui_host.capture.json.reading import read_json
from tui_host.errors import JSON, ModelError
from tui_host.llm.body_framing import BodyDecoder, Framing, Reading
from tui_host.llm.dialects.body_kinds import AnswerPart, Fit
from tui_host.llm.events import ModelEvent
from tui_host.llm.messages import Ask
from tui_host.llm.outline import Outline
from tui_host.llm.outline_parts import PartReader
from tui_host.llm.provider_faults import refusal
from tui_host.llm.request_writing import Growing
from tui_host.llm.schema_adaptation import SchemaRules
from tui_host.llm.tool_names import OPENAI_NAMES, NameRule
from tui_host.settings.environment_references import Secret

NEAR = 0.95
"""A prompt that fills this share of the window may have been cut, because servers drop whole messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The context window of a server that cuts longer prompts silently.

    Attributes:
        tokens: The size in tokens, for prompt and answer together.
        remedy: How to get a larger window.
    """

    tokens: int
    remedy: str

    def is_filled(self, tokens: int | None) -> bool:
        """Tell whether a prompt of this many tokens may have been cut. A larger prompt proves that the window is larger."""
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
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"), ("Accept", "application/json"))
    growing: Growing = field(default_factory=Growing)
    window: Window | None = None
    unsent: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The service that a request is for, since services with the same dialect differ.

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
        """Return the events completed by these bytes, which may be cut anywhere."""
        ...

    def finish(self) -> list[ModelEvent]:
        """Return the events at the end of the body. The last event of every response is a `Stopped`."""
        ...


class Dialect(abc.ABC):
    """An HTTP API's wire format. A single stateless object serves all providers.

    Attributes:
        name: As in the configuration.
        versions: The API's versions as path segments; the first is added to a base URL without a version.
        paths: The ends of request paths, by which requests of other hosts are recognised.
        models_path: The path below the base URL for the list of models, perhaps with a query.
        name_rule: The rule for tool names.
        schema_rules: What the vendor refuses in the schemas of tools.
        answer_reader: The dialect's part of a reader for a response.
        part_reader: Reads a request's body as a tree; None if the bodies are no JSON.
        framing: How answers are streamed.
    """

    name: str
    versions: tuple[str, ...] = ()
    paths: tuple[str, ...]
    models_path: str = "models"
    name_rule: NameRule = OPENAI_NAMES
    schema_rules: SchemaRules = SchemaRules()
    answer_reader: type[Reading]
    part_reader: type[PartReader] | None = None
    framing: Framing = "sse"

    @abc.abstractmethod
    def write(self, ask: Ask, target: Target) -> WireRequest:
        """Write the request, the conversation last: each step's request begins with all bytes of the previous request.

        The inspector shows that common beginning, and the store saves it only once. Providers' caches are not affected:
        they compare prompts, in which the tools come first.
        """

    @abc.abstractmethod
    def fits_request(self, body: Mapping[str, JSON]) -> Fit:
        """Tell whether a JSON object may be a request's body, when the address is unknown."""

    @abc.abstractmethod
    def answer_part(self, body: Mapping[str, JSON]) -> AnswerPart | None:
        """Recognise a JSON object as part of an answer, when the address is unknown. None if it is none."""

    def headers(self, secret: Secret | None, target: Target) -> tuple[tuple[str, str], ...]:
        """Return the headers of every request: the credential, and the version if the vendor requires one."""
        del target
        return () if secret is None else (("Authorization", f"Bearer {secret.reveal()}"),)

    def decoder(self, content_type: str) -> Decoder:
        """Make a reader for a response with status 2xx, streamed or whole. The content type is only shown in errors."""
        return BodyDecoder(self.answer_reader(), content_type, framing=self.framing)

    def error(self, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> ModelError:
        """Make the error for a refusal, with the provider's message and our remedy."""
        return refusal(status, headers, body)

    def outline(self, body: bytes, names: Mapping[str, tuple[str, str]] | None = None) -> Outline | None:
        """Read a request's body as a tree with byte spans. None if the body is not JSON.

        Args:
            body: The exact bytes, ours or another host's.
            names: Server and tool for each tool name, to show where parts come from.
        """
        return None if self.part_reader is None else self.part_reader.outline(body, names or {})

    def models(self, body: bytes) -> tuple[str, ...]:
        """Return the names in a list of models, in the provider's order; nothing if the list is unreadable."""
        try:
            value = read_json(body)
        except ValueError:
            return ()
        listed = value.get("data", value.get("models")) if isinstance(value, Mapping) else value
        names = [self.model_name(entry) for entry in listed] if isinstance(listed, list) else []
        return tuple(dict.fromkeys(name for name in names if name))

    def model_name(self, entry: JSON) -> str:
        """Return the name in an entry of a list of models; empty if the entry should be left out."""
        value = (entry.get("id") or entry.get("name")) if isinstance(entry, Mapping) else entry
        return value if isinstance(value, str) else ""
