"""The dialects by name. A new dialect needs a folder and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tui_host.errors import SettingsError
from tui_host.llm.dialects.anthropic.write import Anthropic
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.dialects.gemini.write import Gemini
from tui_host.llm.dialects.ollama.write import Ollama
from tui_host.llm.dialects.openai.write import OpenAI
from tui_host.llm.dialects.openai_responses.write import OpenAIResponses
from tui_host.settings.urls import parts_of

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {
        "openai": OpenAI(),
        "openai-responses": OpenAIResponses(),
        "anthropic": Anthropic(),
        "gemini": Gemini(),
        "ollama": Ollama(),
    }
)


def dialect(name: str) -> Dialect:
    """Return the dialect with a name.

    Raises:
        SettingsError: There is none.
    """
    dialect_of_name = DIALECTS.get(name)
    if dialect_of_name is None:
        raise SettingsError(f"no dialect {name!r}", "dialect", f"one of: {', '.join(DIALECTS)}")
    return dialect_of_name


def dialect_at(url: str) -> Dialect | None:
    """Return the dialect of a request by its URL's path. None if the path is unknown.

    A capture without a URL has `DIALECT:` in its place.
    """
    parts = parts_of(url)
    path = parts.path.rstrip("/")
    if not path and not parts.netloc:
        return DIALECTS.get(parts.scheme)
    return next((spoken for spoken in DIALECTS.values() if path.endswith(spoken.paths)), None)
