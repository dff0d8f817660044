"""Bodies in a content coding, as servers send them."""

from __future__ import annotations

import importlib
import zlib
from typing import Literal

from tui_host.capture.content_codings import CodingError, codings_of, decoder
from tui_host.capture.http.exchange import Exchange
from tui_host.capture.zstd import compress


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


def undone(exchange: Exchange, side: Literal["request", "response"] = "response") -> tuple[bytes, str]:
    """A body without its content coding, and why that is not all of it."""
    records = exchange.chunks if side == "response" else [exchange.request] if exchange.request else []
    drafts = [record.draft for record in records]
    data = b""
    try:
        decode = decoder(drafts[0].encoding if drafts else None)
        for draft in drafts:
            data += draft.data if draft.encoding is None else decode.feed(draft.data)
        if exchange.end is not None and drafts and drafts[-1].encoding is not None:
            data += decode.finish()
    except CodingError as error:
        return data, str(error)
    return data, ""
