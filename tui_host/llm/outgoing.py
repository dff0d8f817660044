"""A request to a provider: a dialect writes path and body, `model_request` adds the address and the credential."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from typing_extensions import override

from tui_host.settings.environment_references import Secret
from tui_host.settings.urls import shown

AZURE = "azure"
_NEAR = 0.95  # of the window: a prompt that fills it may have been cut, because servers drop whole messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The service that a request is for, since services with the same dialect differ."""

    provider: str
    service: str = ""  # the preset's name, empty for other services
    api_version: str = ""
    has_short_ids: bool = False  # it has refused ids that were not nine letters and digits (Mistral behind a gateway)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The context window of a server that cuts longer prompts silently."""

    tokens: int  # for prompt and answer together
    remedy: str

    def is_filled(self, tokens: int | None) -> bool:
        """Tell whether a prompt of this many tokens may have been cut."""
        # A larger prompt proves that the window is larger.
        return tokens is not None and _NEAR * self.tokens <= tokens <= self.tokens


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Outgoing:
    """A request, with all headers but `Host` and `Content-Length`, which HTTP adds."""

    method: str = "POST"
    url: str  # until the provider's address is added: the path below it, perhaps with a query
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"), ("Accept", "application/json"))
    body: bytes = b""
    growing: str = ""  # the member of the body that grows from step to step, the conversation
    spans: tuple[tuple[int, int], ...] = ()  # the bytes of its elements
    secret: Secret | None = None
    window: Window | None = None  # None for servers that refuse long prompts
    unsent: Mapping[str, str] = field(default_factory=dict[str, str])  # options, each with the reason

    @override
    def __repr__(self) -> str:  # headers, path and query may hold keys
        return f"Outgoing({self.method} {self.origin}, {len(self.body)} bytes)"

    @property
    def origin(self) -> str:
        return shown(urlsplit(self.url))
