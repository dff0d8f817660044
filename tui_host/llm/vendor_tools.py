"""Read what a vendor's built-in tool did, such as a web search, and which sources an answer cites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tui_host.errors import JSON
from tui_host.llm.events import Source, VendorToolUsed

_ASKED = ("query", "code", "url", "command", "queries")
"""The members of a tool's input that tell what it was asked for."""


def tool_used(name: JSON, given: JSON, start: int, end: int) -> list[VendorToolUsed]:
    """Return the event for a run of a built-in tool.

    Args:
        name: The tool's name.
        given: Its input, an object.
        start: First byte of the run in the body.
        end: One past its last byte.
    """
    if not isinstance(name, str) or not name:
        return []
    values = [given.get(member) for member in _ASKED] if isinstance(given, Mapping) else []
    texts = [text for value in values for text in (value if isinstance(value, list) else [value])]
    asked = "; ".join(dict.fromkeys(text for text in texts if isinstance(text, str) and text))
    return [VendorToolUsed(tool=name, asked=asked, start=start, end=end)]


def cited(values: JSON, start: int, end: int) -> list[VendorToolUsed]:
    """Return the event for the sources in some values: objects that have a URL, or contain an object with a URL."""
    sources = tuple(_sources(values if isinstance(values, list) else [values]))
    return [VendorToolUsed(sources=sources, start=start, end=end)] if sources else []


def _sources(values: Iterable[JSON]) -> Iterable[Source]:
    for value in values:
        if not isinstance(value, Mapping):
            continue
        for place in (value, value.get("url_citation"), value.get("web")):
            url = (place.get("url") or place.get("uri")) if isinstance(place, Mapping) else None
            if isinstance(place, Mapping) and isinstance(url, str) and url:
                title = place.get("title")
                yield Source(url=url, title=title if isinstance(title, str) else "")
