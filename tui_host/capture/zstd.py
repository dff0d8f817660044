"""Compresses bytes with zstd, alone or against earlier bytes. Imported at first use, since loading takes time."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    import backports.zstd as zstd  # noqa: PLR0402 - by its whole name: the package around it may be untyped

__all__ = ["LEVEL", "LONGEST", "compress", "decompress", "zstd"]
LEVEL = 6
LONGEST = 1 << 27
"""Bytes of prefix and content together that any decoder takes without being told."""


def compress(data: bytes, prefix: bytes = b"") -> bytes:
    """Return one frame with a checksum, to be decompressed with an equal prefix."""
    parameter = zstd.CompressionParameter
    window_log = max(10, (len(prefix) + len(data)).bit_length())  # so that the whole prefix stays in sight
    options: dict[int, int] = {
        parameter.compression_level: LEVEL,
        parameter.checksum_flag: 1,
        parameter.window_log: min(window_log, LONGEST.bit_length() - 1),
    }
    before = zstd.ZstdDict(prefix, is_raw=True).as_prefix if prefix else None
    return zstd.compress(data, options=options, zstd_dict=before)


def decompress(frame: bytes, prefix: bytes = b"") -> bytes:
    """Return the content of a frame.

    Raises:
        ValueError: The frame is damaged, or was packed with another prefix.
    """
    before = zstd.ZstdDict(prefix, is_raw=True).as_prefix if prefix else None
    try:
        return zstd.decompress(frame, zstd_dict=before)
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from error
