"""The dialects by name. A new dialect needs a module and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from tui_host.errors import SettingsError
from tui_host.llm.dialects.anthropic import ANTHROPIC
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.dialects.gemini import GEMINI
from tui_host.llm.dialects.ollama import OLLAMA
from tui_host.llm.dialects.openai import OPENAI
from tui_host.llm.dialects.openai_responses import OPENAI_RESPONSES
from tui_host.settings.urls import parts_of

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {dialect.name: dialect for dialect in (OPENAI, OPENAI_RESPONSES, ANTHROPIC, GEMINI, OLLAMA)}
)


def dialect(name: str) -> Dialect:
    """Return the dialect with a name. Raises `SettingsError` if there is none."""
    found = DIALECTS.get(name)
    if found is None:
        raise SettingsError(f"no dialect {name!r}", "dialect", f"one of: {', '.join(DIALECTS)}")
    return found


@lru_cache(256)  # captures repeat their addresses
def dialect_at(url: str) -> Dialect | None:
    """Return the dialect of a request by its URL's path. None if the path is unknown.

    A capture without a URL has `DIALECT:` in its place.
    """
    parts = parts_of(url)
    path = parts.path.rstrip("/")
    if not path and not parts.netloc:
        return DIALECTS.get(parts.scheme)
    return next((spoken for spoken in DIALECTS.values() if path.endswith(spoken.paths)), None)
