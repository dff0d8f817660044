"""What a dialect is: writes messages as request bytes, reads response bytes as events. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.capture.json.reading import read_json
from tui_host.errors import ModelError
from tui_host.llm.answer_state import AnswerReader
from tui_host.llm.body_framing import BodyDecoder, Framing
from tui_host.llm.outgoing import AZURE, Target
from tui_host.llm.provider_faults import refusal
from tui_host.llm.request_writing import RequestWriter
from tui_host.llm.tool_names import OPENAI_NAMES, NameRule
from tui_host.settings.environment_references import Secret

_WINDOWS = (
    "loaded_context_length",  # LM Studio
    "max_input_tokens",  # Anthropic
    "inputTokenLimit",  # Gemini
    "max_model_len",  # vLLM
    "context_length",  # OpenRouter, Together, Moonshot
    "context_window",  # Groq
    "max_context_length",  # Mistral, LM Studio
)
"""The members of a listed model that give the size of its context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """An HTTP API's wire format. A single stateless value serves all providers."""

    name: str
    paths: tuple[str, ...]  # the ends of request paths, by which requests of other hosts are recognised
    writer: type[RequestWriter]
    reader: type[AnswerReader]
    versions: tuple[str, ...] = ()  # as path segments; the first is added to a base URL without a version
    models_path: str = "models"  # the list of models, below the base URL, perhaps with a query
    model_prefix: str = ""  # of the names in that list
    name_rule: NameRule = OPENAI_NAMES
    key_header: str = ""  # empty for a bearer token; a key in the URL would be logged
    version: Callable[[Target], str] | None = None  # the value of the header `NAME-version`
    framing: Framing = "sse"
    takes_calls_without_tools: bool = False  # such servers refuse tools where the model knows none
    remedies: Mapping[str, str] = field(default_factory=dict[str, str])  # by words in a refusal
    refine: Callable[[ModelError, bytes], None] | None = None  # adds what else this vendor says in a refusal

    def headers(self, secret: Secret | None, target: Target) -> tuple[tuple[str, str], ...]:
        """Return the headers of every request: the credential, and the version if the vendor requires one."""
        version = ((f"{self.name}-version", self.version(target)),) if self.version is not None else ()
        if secret is None:
            return version
        key_header = self.key_header or ("api-key" if target.service == AZURE else "")
        key = (key_header, secret.reveal()) if key_header else ("Authorization", f"Bearer {secret.reveal()}")
        return (key, *version)

    def decoder(self, content_type: str) -> BodyDecoder:
        """Make a reader for a response with status 2xx, streamed or whole. The content type is only shown in errors."""
        return BodyDecoder(self.reader(), content_type, self.framing)

    def error(self, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> ModelError:
        error = refusal(status, headers, body)
        error.remedy = next((remedy for words, remedy in self.remedies.items() if words in error.what), error.remedy)
        if self.refine is not None:
            self.refine(error, body)
        return error

    def models(self, body: bytes) -> Mapping[str, int | None]:
        """Return the names in a list of models, in the provider's order, each with the size of its context, if the list says it.

        Empty if the list is unreadable.
        """
        try:
            value = read_json(body)
        except ValueError:
            return {}
        listed = mapping(value).get("data", mapping(value).get("models", value))
        found: dict[str, int | None] = {}
        for entry in items(listed):
            about = mapping(entry)
            methods = about.get("supportedGenerationMethods")  # Google's, which lists models that make no text too
            if not isinstance(methods, list) or "generateContent" in methods:
                named = about.get("id") or about.get("name") if about else entry
                name = text_or_empty(named).removeprefix(self.model_prefix)
                sizes = (value for key in _WINDOWS if isinstance(value := about.get(key), int) and value > 0)
                found.setdefault(name, next(sizes, None))
        found.pop("", None)
        return found
