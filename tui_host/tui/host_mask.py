"""The mask for the secrets that a host knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_host.answers.masks import Mask

if TYPE_CHECKING:
    from tui_host.host.host import Host


def mask_of(host: Host) -> Mask:
    """Return a mask for a host's secrets."""
    return Mask(lambda: host.redactor)
