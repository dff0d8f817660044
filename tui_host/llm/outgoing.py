"""A request to a provider: a dialect writes path and body, `model_request` adds the address and the credential."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from typing_extensions import override

from tui_host.settings.environment_references import Secret
from tui_host.settings.urls import shown

AZURE = "azure"
_NEAR = 0.95
"""A prompt that fills this share of the window may have been cut, because servers drop whole messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The service that a request is for, since services with the same dialect differ.

    `service` is the preset's name, empty for other services. `has_short_ids` tells that the service has refused ids
    that were not nine letters and digits (Mistral's models behind a gateway).
    """

    provider: str
    service: str = ""
    api_version: str = ""
    has_short_ids: bool = False

    def path(self, path: str) -> str:
        return f"{path}?api-version={self.api_version}" if self.service == AZURE and self.api_version else path


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The context window of a server that cuts longer prompts silently; `tokens` are for prompt and answer together."""

    tokens: int
    remedy: str

    def is_filled(self, tokens: int | None) -> bool:
        """Tell whether a prompt of this many tokens may have been cut. A larger prompt proves that the window is larger."""
        return tokens is not None and _NEAR * self.tokens <= tokens <= self.tokens


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Outgoing:
    """A request. Its repr has no headers and no path or query, since these may hold keys.

    Attributes:
        url: The path below the provider's address, perhaps with a query, until the address is added.
        headers: All headers but `Host` and `Content-Length`, which HTTP adds.
        growing: The member of the body that grows from step to step, the conversation; `spans` are its elements' bytes.
        secret: The credential in the request.
        window: The window of a server that cuts long prompts silently; None for servers that refuse them.
        unsent: The options not sent as the person set them, each with the reason.
    """

    method: str = "POST"
    url: str
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"), ("Accept", "application/json"))
    body: bytes = b""
    growing: str = ""
    spans: tuple[tuple[int, int], ...] = ()
    secret: Secret | None = None
    window: Window | None = None
    unsent: Mapping[str, str] = field(default_factory=dict[str, str])

    @override
    def __repr__(self) -> str:
        return f"Outgoing({self.method} {self.origin}, {len(self.body)} bytes)"

    @property
    def origin(self) -> str:
        return shown(urlsplit(self.url))
