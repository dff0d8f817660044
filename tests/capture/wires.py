"""A recorder that keeps everything in a list, and bodies in a content coding, as servers send them."""

import importlib
import zlib
from dataclasses import replace
from typing import Literal

from typing_extensions import override

from tui_host.capture.content_codings import codings_of, compress, decode_records
from tui_host.capture.http.exchange_end import Ending, Exchange, read_ending
from tui_host.capture.record import Kind, Record
from tui_host.capture.recording import Recording, Slot
from tui_host.capture.redact.redaction import Redactor


class Kept(Recording):
    def __init__(self, *secrets: tuple[str, str]) -> None:
        super().__init__("c", Redactor(secrets))
        self.drafts: list[Record] = []

    @override
    def now(self) -> int:
        return 5

    @override
    def append(self, record: Record, at_ns: int | None = None) -> int:
        self.drafts.append(self.redactor.record(record))
        return len(self.drafts)

    @override
    def take(self) -> list[Slot]:
        return []  # no writer takes them: they stay here

    @override
    def refused(self) -> None: ...

    def of(self, kind: Kind) -> list[Record]:
        return [draft for draft in self.drafts if draft.kind == kind]

    def body(self, exchange: str = "x1") -> bytes:
        return b"".join(draft.data for draft in self.of("chunk") if draft.exchange == exchange)

    def ending(self, exchange: str = "x1") -> Ending:
        (found,) = [draft for draft in self.drafts if draft.kind in {"end", "error"} and draft.exchange == exchange]
        return read_ending(found.data)

    def records(self) -> list[Record]:
        return [
            replace(draft, capture="c", seq=seq, time_ns=seq * 1_000_000, mono_ns=seq * 1_000_000)
            for seq, draft in enumerate(self.drafts, 1)
        ]


# Bodies in a content coding, as servers send them.


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
