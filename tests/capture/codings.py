"""Bodies in a content coding, as servers send them."""

from __future__ import annotations

import importlib
import zlib
from typing import Literal

from tui_host.capture.content_codings import codings_of, compress, decode_records
from tui_host.capture.http.exchange_end import Exchange


def coded(data: bytes, encoding: str) -> bytes:
    """Bytes in the codings that a `Content-Encoding` names."""
    for coding in codings_of(encoding):
        match coding:
            case "gzip":
                data = zlib.compress(data, wbits=31)
            case "deflate":
                data = zlib.compress(data)
            case "br":
                data = importlib.import_module("brotli").compress(data, quality=5)
            case _:
                assert coding == "zstd"
                data = compress(data)
    return data


def undone(exchange: Exchange, side: Literal["request", "response"]) -> bytes:
    records = exchange.chunks if side == "response" else [record for record in (exchange.request,) if record]
    return decode_records(record for record in records)[0]
