"""The zstd library, under one name wherever it comes from. Loading it takes time: imported at first use, never before a frame."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    import backports.zstd as zstd  # noqa: PLR0402 - by its whole name: the package around it may be untyped

__all__ = ["zstd"]
