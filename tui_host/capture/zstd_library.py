"""The zstd library, from the standard library or the backport. Imported at first use, as loading takes time."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    import backports.zstd as zstd  # noqa: PLR0402 - by its whole name: the package around it may be untyped

__all__ = ["zstd"]
