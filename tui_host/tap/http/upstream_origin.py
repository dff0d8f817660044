"""The upstream's origin in what it says, and what stands for it."""

from __future__ import annotations

import re


class Origin:
    """The upstream's origin however it is written, and what stands for it.

    Args:
        origin: Such as `https://mcp.example`.
        own: The relay's.
    """

    def __init__(self, origin: str, own: str) -> None:
        scheme, _, place = origin.lower().partition("://")
        host, _, port = place.rpartition(":") if re.search(r":\d+$", place) else (place, "", "")
        default = {"http": "80", "https": "443"}[scheme]
        endings = ("", ":" + default) if port in {"", default} else (":" + port,)
        slashes = r":\\?/\\?/"  # in JSON they may be escaped
        pattern = f"(?:{scheme}{slashes}|//){re.escape(host)}(?:{'|'.join(reversed(endings))})" + r"(?=[/?#\\]|$)"
        self._pattern = re.compile(pattern.encode(), re.IGNORECASE)
        self._own = own.encode()

    def changed(self, url: bytes) -> bytes:
        """The same place by way of the relay; itself if it is none of this origin."""
        rest = self.rest(url)
        return url if rest is None else self._own + rest

    def rest(self, url: bytes) -> bytes | None:
        """What stands behind this origin, None if the URL is none of it."""
        found = self._pattern.match(url)
        return url[found.end() :] if found else None
