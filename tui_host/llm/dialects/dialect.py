"""What a dialect is: writes messages as request bytes, reads response bytes as events. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tui_host.capture.json.narrowing import mapping, text_or_empty
from tui_host.capture.json.reading import read_json
from tui_host.errors import JSON, ModelError
from tui_host.llm.body_framing import BodyDecoder, Framing, Reading
from tui_host.llm.dialects.body_kinds import AnswerPart, Fit
from tui_host.llm.events import ModelEvent
from tui_host.llm.layout import Layout, outline_of
from tui_host.llm.messages import Ask
from tui_host.llm.outline import Outline
from tui_host.llm.provider_faults import refusal
from tui_host.llm.request_writing import Growing
from tui_host.llm.schema_adaptation import SchemaRules
from tui_host.llm.tool_names import OPENAI_NAMES, NameRule
from tui_host.settings.environment_references import Secret

NEAR = 0.95
"""A prompt that fills this share of the window may have been cut, because servers drop whole messages."""
AZURE = "azure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The context window of a server that cuts longer prompts silently; `tokens` are for prompt and answer together."""

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
        service: The preset's name, empty for other services.
        api_version: As configured, empty for the dialect's own.
        has_short_ids: Whether the service has refused ids that were not nine letters and digits (Mistral's models).
    """

    provider: str
    service: str = ""
    api_version: str = ""
    has_short_ids: bool = False


class Decoder(Protocol):
    """Reads a response. Byte offsets in the events count from the body's first byte, after content decoding."""

    def feed(self, data: bytes) -> list[ModelEvent]:
        """Return the events completed by these bytes, which may be cut anywhere."""
        ...

    def finish(self) -> list[ModelEvent]:
        """Return the events at the end of the body. The last event of every response is a `Stopped`."""
        ...


def path_of(path: str, target: Target) -> str:
    """Return a path below the base URL, with the version in the query for Azure."""
    return f"{path}?api-version={target.api_version}" if target.service == AZURE and target.api_version else path


def bearer(secret: Secret | None, target: Target) -> tuple[tuple[str, str], ...]:
    """Return a bearer token, or the header for Azure's keys."""
    if secret is None:
        return ()
    if target.service == AZURE:
        return (("api-key", secret.reveal()),)
    return (("Authorization", f"Bearer {secret.reveal()}"),)


def name_or_id(entry: JSON) -> str:
    """Return the name in an entry of a list of models; empty if the entry should be left out."""
    if isinstance(entry, Mapping):
        entry = entry.get("id") or entry.get("name")
    return text_or_empty(entry)


def unchanged(error: ModelError, body: bytes) -> ModelError:
    """Leave an error as it is."""
    del body
    return error


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """An HTTP API's wire format. A single stateless value serves all providers.

    Attributes:
        name: As in the configuration.
        paths: The ends of request paths, by which requests of other hosts are recognised.
        versions: The API's versions as path segments; the first is added to a base URL without a version.
        models_path: The path below the base URL for the list of models, perhaps with a query.
        model_name: Returns the name in an entry of that list, empty for an entry to leave out.
        name_rule: The rule for tool names.
        schema_rules: What the vendor refuses in the schemas of tools.
        write: Writes a request, the conversation last: each step's request begins with all bytes of the previous one. The
            inspector shows that beginning, and the store saves it only once. Providers' caches compare prompts instead.
        headers: Returns the headers of every request: the credential, and the version if the vendor requires one.
        framing: How answers are streamed.
        reading: Makes the reader of one answer.
        layout: Where the parts of a request stand in its body.
        fits_request: Tells whether a JSON object may be a request's body, when the address is unknown.
        answer_part: Recognises a JSON object as part of an answer, when the address is unknown. None if it is none.
        refine: Adds what this vendor says to the error for a refusal.
    """

    name: str
    paths: tuple[str, ...]
    write: Callable[[Ask, Target], WireRequest]
    reading: Callable[[], Reading]
    layout: Layout
    fits_request: Callable[[Mapping[str, JSON]], Fit]
    answer_part: Callable[[Mapping[str, JSON]], AnswerPart | None]
    versions: tuple[str, ...] = ()
    models_path: str = "models"
    model_name: Callable[[JSON], str] = name_or_id
    name_rule: NameRule = OPENAI_NAMES
    schema_rules: SchemaRules = field(default_factory=SchemaRules)
    headers: Callable[[Secret | None, Target], tuple[tuple[str, str], ...]] = bearer
    framing: Framing = "sse"
    refine: Callable[[ModelError, bytes], ModelError] = unchanged

    def decoder(self, content_type: str) -> Decoder:
        """Make a reader for a response with status 2xx, streamed or whole. The content type is only shown in errors."""
        return BodyDecoder(self.reading(), content_type, framing=self.framing)

    def error(self, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> ModelError:
        """Make the error for a refusal, with the provider's message and our remedy."""
        return self.refine(refusal(status, headers, body), body)

    def outline(self, body: bytes, names: Mapping[str, tuple[str, str]] | None = None) -> Outline | None:
        """Read a request's body, ours or another host's, as a tree with byte spans. None if the body is not JSON.

        `names` has server and tool for each tool name, to show where parts come from.
        """
        return outline_of(self.layout, body, names or {})

    def models(self, body: bytes) -> tuple[str, ...]:
        """Return the names in a list of models, in the provider's order; nothing if the list is unreadable."""
        try:
            value = read_json(body)
        except ValueError:
            return ()
        listed = mapping(value).get("data", mapping(value).get("models")) if isinstance(value, Mapping) else value
        names = [self.model_name(entry) for entry in listed] if isinstance(listed, list) else []
        return tuple(dict.fromkeys(name for name in names if name))
