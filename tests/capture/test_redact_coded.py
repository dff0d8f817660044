"""A known secret never gets through in a body that is compressed as its head says."""

import gzip
import zlib
from collections.abc import Iterable
from hashlib import sha256

import pytest

from tests.capture.wires import Kept, coded
from tui_host.capture.content_codings import Decoder
from tui_host.capture.http.observer import Observer
from tui_host.capture.record import NOWHERE, Head, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.redact.text_stream import BodyRedactor

KEY = b"sk-canary-0123456789-abcdef"
REDACTOR = Redactor([("K", KEY.decode())])
SAID = b'{"error":{"message":"Incorrect API key provided: %s. You can find it"}}' % KEY
KEPT = SAID.replace(KEY, "⟨secret:K⟩".encode())
NOISE = b"".join(sha256(b"%d" % number).hexdigest().encode() for number in range(20000))
CODINGS = ["gzip", "deflate", "br", "zstd"]


def pieces_of(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


def kept_of(body: Iterable[bytes], encoding: str | None) -> tuple[BodyRedactor, bytes, bytes]:
    """What passes as it came, and what passes decoded."""
    stream = REDACTOR.body(encoding)
    as_it_came, decoded = list[bytes](), list[bytes]()
    for feed in (*(lambda piece=piece: stream.feed(piece) for piece in body), stream.flush):
        kept = feed()[0]
        (decoded if stream.decoded_from else as_it_came).append(kept)
    return stream, b"".join(as_it_came), b"".join(decoded)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("size", [1, 700, 1 << 20])
def test_a_coded_body_is_kept_as_it_came_until_a_secret_and_decoded_from_there(coding: str, size: int) -> None:
    sent = coded(NOISE[:3000], coding)
    stream, as_it_came, _ = kept_of(pieces_of(sent, size), coding)
    assert (as_it_came, stream.decoded_from) == (sent, "")
    sent = coded(NOISE[:3000] + SAID + NOISE[:500], coding)
    stream, as_it_came, decoded = kept_of(pieces_of(sent, size), coding)
    assert Decoder(coding).feed(as_it_came) + decoded == NOISE[:3000] + KEPT + NOISE[:500]
    assert (stream.decoded_from, stream.left_out) == (coding, 0)


@pytest.mark.parametrize("encoding", ["utf-8", "gzip", "br", "zstd", "x-pack", None])
@pytest.mark.parametrize("size", [1, 60, 1 << 20])
def test_text_that_is_not_in_the_coding_of_its_head_is_kept_as_it_was_sent(encoding: str | None, size: int) -> None:
    stream, as_it_came, _ = kept_of(pieces_of(SAID, size), encoding)
    assert (as_it_came, stream.left_out) == (KEPT, 0)


def with_fault(at: int) -> bytes:
    body = bytearray(gzip.compress(b'{"access": "' + KEY + b'", "more": "' + NOISE[:2000] + b'"}', mtime=0))
    body[at] ^= 0x55
    return bytes(body)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b" " * (3 << 20) + SAID, mtime=0)),
        ("gzip", gzip.compress(b"{}", mtime=0)[:-8] + b"x" * 8 + gzip.compress(SAID, mtime=0)),
        ("gzip", with_fault(-8)),
        ("gzip", with_fault(900)),
        ("deflate", b"\x78\x9c" + b"\xff" * 40 + gzip.compress(SAID, mtime=0)),
    ],
)
@pytest.mark.parametrize("size", [0, 1])
def test_what_cannot_be_decoded_is_not_kept_and_counted(encoding: str, body: bytes, size: int) -> None:
    stream, as_it_came, decoded = kept_of(pieces_of(body, size or len(body)), encoding)
    assert stream.left_out > 0
    assert body.startswith(as_it_came)
    readable = zlib.decompressobj(31).decompress(as_it_came) if encoding == "gzip" else as_it_came
    assert KEY not in readable + decoded


def test_a_zstd_body_that_is_cut_off_keeps_no_part_of_a_block() -> None:
    body = coded(NOISE[:200_000], "zstd") * 2
    for cut in (7, len(body) // 3, len(body) // 2 + 50, len(body) - 2):
        _, as_it_came, decoded = kept_of([body[: cut - 1], body[cut - 1 : cut]], "zstd")
        assert body.startswith(as_it_came)
        assert Decoder("zstd").feed(as_it_came) + decoded == Decoder("zstd").feed(body[:cut])


@pytest.mark.parametrize("is_late", [False, True])
def test_the_record_says_that_a_body_was_coded_and_reads_back_whole(*, is_late: bool) -> None:
    kept = Kept(("K", KEY.decode()))
    exchange = Observer(kept, wire="llm", peer="mine").begin("GET", "http://a/", (), b"", NOWHERE)
    body = coded(NOISE[:60_000] + SAID + NOISE[:60_000], "gzip")
    exchange.response(200, [("Content-Encoding", "gzip")])
    for piece in pieces_of(body, 1000 if is_late else len(body)):
        exchange.chunk(piece)
    exchange.end()
    chunks = kept.of("chunk")
    marks = [entry for chunk in chunks for entry in chunk.redacted]
    assert [(entry.name, entry.coding) for entry in marks] == [("was gzip", "gzip"), ("K", "")]
    assert {chunk.encoding for chunk in chunks} == ({"gzip", None} if is_late else {None})
    as_came, rest = (b"".join(each.data for each in chunks if bool(each.encoding) is coded) for coded in (True, False))
    assert Decoder("gzip").feed(as_came) + rest == NOISE[:60_000] + KEPT + NOISE[:60_000]
    assert kept.ending().kept == kept.ending().size == len(body)


@pytest.mark.parametrize("encoding", CODINGS)
def test_a_request_is_kept_decoded_only_where_a_secret_is_in_it(encoding: str) -> None:
    def request(data: bytes) -> Record:
        record = Record(wire="llm", kind="request", head=Head(url="http://a/v1"), data=data, encoding=encoding)
        return REDACTOR.record(REDACTOR.by_place(record))

    kept = request(harmless := coded(b'{"model":"a"}', encoding))
    assert (kept.data, kept.encoding, kept.redacted) == (harmless, encoding, ())
    kept = request(coded(b'{"m":"%s","api_key":"abc"}' % KEY, encoding))
    assert (kept.data.decode(), kept.encoding) == ('{"m":"⟨secret:K⟩","api_key":"⟨secret:api_key⟩"}', None)
    assert [entry.coding for entry in kept.redacted if entry.coding] == [encoding]
    kept = request(coded(NOISE[:20_000], encoding)[:-6] + b"x" * 6)
    assert NOISE.startswith(kept.data[:9000])
    assert (kept.malformed or "").endswith("what cannot be read is not kept")
    assert [entry.name for entry in kept.redacted] == [f"was {encoding}"]
    assert REDACTOR.record(kept) is kept
