"""Secrets never get through in a body that has a content coding, whether its head names the coding, does not, or names another."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from hashlib import sha256

import pytest

from tests.capture.codings import coded
from tests.capture.wires import Kept
from tui_host.capture.content_codings import CodingError, decoder
from tui_host.capture.http.observer import Observer
from tui_host.capture.record import NOWHERE, Head, Record
from tui_host.capture.redact.coded import HELD_LIMIT, CodedStream
from tui_host.capture.redact.login_exchanges import without_credentials
from tui_host.capture.redact.redaction import Redactor

KEY = b"sk-canary-0123456789-abcdef"
REDACTOR = Redactor([("K", KEY.decode())])
SAID = b'{"error":{"message":"Incorrect API key provided: %s. You can find it"}}' % KEY
KEPT = SAID.replace(KEY, "⟨secret:K⟩".encode())
NOISE = b"".join(sha256(b"%d" % number).hexdigest().encode() for number in range(20000))
CODINGS = ["gzip", "deflate", "br", "zstd"]


def packed(text: bytes) -> bytes:
    return gzip.compress(text, mtime=0)


def readable(data: bytes, depth: int = 4) -> Iterator[bytes]:
    """All that somebody who tries could read in these bytes: what begins anywhere in them, wrong sums or not."""
    yield data
    for at in range(len(data)) if depth else ():
        for magic, size in ((b"\x1f\x8b\x08", 10), (b"\x78", 2)):
            if data.startswith(magic, at):
                inner = zlib.decompressobj(-15)
                text = b""
                try:
                    for byte in data[at + size :]:
                        text += inner.decompress(bytes((byte,)))
                except zlib.error:
                    pass
                if len(text) > 8:
                    yield from readable(text[-4096:], depth - 1)


def pieces_of(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


def kept_of(body: Iterable[bytes], encoding: str | None) -> tuple[CodedStream, bytes, bytes]:
    """What passes as it came, and what passes decoded."""
    stream = CodedStream(REDACTOR, encoding)
    as_it_came, decoded = list[bytes](), list[bytes]()
    for piece in body:
        kept = stream.feed(piece)[0]
        (decoded if stream.decoded_from else as_it_came).append(kept)
    kept = stream.flush()[0]
    (decoded if stream.decoded_from else as_it_came).append(kept)
    return stream, b"".join(as_it_came), b"".join(decoded)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("size", [1, 700, 1 << 20])
def test_a_coded_body_is_kept_as_it_came_until_a_secret_and_decoded_from_there(coding: str, size: int) -> None:
    for body, kept in (
        (NOISE[:3000], NOISE[:3000]),
        (NOISE[:3000] + SAID + NOISE[:500], NOISE[:3000] + KEPT + NOISE[:500]),
    ):
        sent = coded(body, coding)
        stream, as_it_came, decoded = kept_of(pieces_of(sent, size), coding)
        assert decoder(coding).feed(as_it_came) + decoded == kept
        assert not stream.left_out
        if kept == body:
            assert (as_it_came, stream.decoded_from) == (sent, "")
        else:
            assert stream.decoded_from == coding
            assert KEY[:12] not in as_it_came


UNSAID: dict[str, tuple[str | None, bytes]] = {
    "gzip": (None, packed(SAID)),
    "zlib": (None, zlib.compress(SAID)),
    "zstd": (None, coded(SAID, "zstd")),
    "in a coding that nobody knows": ("x-pack", packed(SAID)),
    "padding between members": ("gzip", packed(SAID[:9]) + bytes(8) + packed(SAID[9:])),
    "coded once more than said": ("gzip", packed(packed(SAID))),
    "coded four times, unsaid": (None, packed(packed(packed(packed(SAID))))),
    "UTF-16 with its mark": (None, SAID.decode().encode("utf-16")),
    "UTF-16": (None, SAID.decode().encode("utf-16-le")),
    "big-endian UTF-16": (None, SAID.decode().encode("utf-16-be")),
}


@pytest.mark.parametrize("name", UNSAID)
@pytest.mark.parametrize("size", [1, 2, 1 << 20])
def test_a_coding_that_no_head_names_is_known_by_its_first_bytes(name: str, size: int) -> None:
    encoding, body = UNSAID[name]
    stream, as_it_came, decoded = kept_of(pieces_of(body, size), encoding)
    assert not [text for text in readable(as_it_came) if KEY in text]
    assert KEY not in decoded
    assert "⟨secret:K⟩".encode() in decoded
    if size == 1 << 20:
        assert decoded.removeprefix(b"\xef\xbb\xbf") == KEPT
        assert (as_it_came, stream.left_out) == (b"", 0)


@pytest.mark.parametrize("encoding", ["utf-8", "gzip", "deflate", "br", "zstd", "x-pack", None])
@pytest.mark.parametrize("size", [1, 60, 1 << 20])
def test_text_that_is_not_in_the_coding_that_its_head_names_is_kept_as_it_was_sent(
    encoding: str | None, size: int
) -> None:
    stream, as_it_came, _ = kept_of(pieces_of(SAID, size), encoding)
    assert (as_it_came, stream.left_out) == (KEPT, 0)


@pytest.mark.parametrize("begin", [b"x^2 + ", b"x\x9c" + b"\xff" * 40])
def test_what_only_begins_like_a_coding_is_kept_as_it_was_sent(begin: bytes) -> None:
    assert kept_of([begin + SAID], None)[1] == begin + KEPT


FAULTY = packed(b'{"access": "' + KEY + b'", "more": "' + NOISE[:2000] + b'"}')


def with_fault(at: int) -> bytes:
    """A body with one wrong byte."""
    body = bytearray(FAULTY)
    body[at] ^= 0x55
    return bytes(body)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", packed(b" " * (3 << 20) + SAID)),
        (None, packed(b" " * (3 << 20) + SAID)),
        ("gzip", packed(b"{}")[:-8] + b"x" * 8 + packed(SAID)),
        ("deflate", zlib.compress(b"{}") + packed(SAID)),
        ("br", coded(b"{}", "br") + packed(SAID)),
        ("gzip", packed(b"{}") + SAID),
        ("gzip, gzip, gzip, gzip, gzip", packed(packed(packed(packed(packed(SAID)))))),
        (None, packed(packed(packed(packed(packed(SAID)))))),
        ("gzip", with_fault(-8)),  # the sum
        ("gzip", with_fault(-1)),  # the length
        ("gzip", with_fault(len(FAULTY) * 3 // 4)),
    ],
)
@pytest.mark.parametrize("size", [0, 1])
def test_what_cannot_be_decoded_is_not_kept_and_counted(encoding: str | None, body: bytes, size: int) -> None:
    stream, as_it_came, decoded = kept_of(pieces_of(body, size or len(body)), encoding)
    assert stream.left_out > 0
    assert body.startswith(as_it_came)
    assert not [text for text in (*readable(as_it_came), decoded[-4096:]) if KEY in text]


def test_a_secret_beside_the_compressed_data_is_not_kept() -> None:
    """As in the name of a file."""
    body = packed(b"{}")
    named = body[:3] + b"\x08" + body[4:10] + KEY + b"\0" + body[10:]
    for size in (1, len(named)):
        _, as_it_came, decoded = kept_of(pieces_of(named, size), "gzip")
        assert KEY not in as_it_came
        assert decoded == b"{}"


@pytest.mark.parametrize("coding", CODINGS)
def test_all_that_is_decoded_comes_at_once_however_much_is_fed(coding: str) -> None:
    sent = coded(NOISE, coding)
    body = decoder(coding)
    first = body.feed(sent[:-1000])
    assert len(first) > len(NOISE) - (1 << 18)
    assert first + body.feed(sent[-1000:]) == NOISE


def test_where_no_secret_is_known_every_body_is_kept_as_it_came() -> None:
    for body in (packed(SAID)[:-9] + b"x" * 9, b"\xff" * 40, SAID):
        stream = CodedStream(Redactor(), "gzip")
        assert stream.feed(body)[0] + stream.flush()[0] == body


@pytest.mark.parametrize("size", [300, 200_000])
def test_a_zstd_body_that_is_cut_off_keeps_no_part_of_a_block(size: int) -> None:
    body = coded(NOISE[:size], "zstd") + coded(NOISE[:size], "zstd")
    for cut in (7, len(body) // 3, len(body) // 2 + 50, len(body) - 2):
        stream, as_it_came, decoded = kept_of([body[: cut - 1], body[cut - 1 : cut]], "zstd")
        assert body.startswith(as_it_came)
        assert decoder("zstd").feed(as_it_came) + decoded == decoder("zstd").feed(body[:cut])
        assert stream.left_out or len(as_it_came) == cut


def test_a_body_waits_no_longer_than_its_limit() -> None:
    redactor = Redactor([("LONG", "0" * 10_000)])
    body = coded(b"0" * 9000, "gzip")[:-8]
    stream = CodedStream(redactor, "gzip", held_limit=len(body) - 1)
    assert stream.feed(body[:-1]) == (b"", ()), "a secret may begin here"
    kept = stream.feed(body[-1:])[0] + stream.flush()[0]
    assert (kept, stream.decoded_from, HELD_LIMIT) == (b"0" * 9000, "gzip", 1 << 20)


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
    as_it_came = b"".join(chunk.data for chunk in chunks if chunk.encoding)
    rest = b"".join(chunk.data for chunk in chunks if not chunk.encoding)
    assert decoder("gzip").feed(as_it_came) + rest == NOISE[:60_000] + KEPT + NOISE[:60_000]
    assert kept.ending().kept == kept.ending().size == len(body)


def request(data: bytes, encoding: str | None) -> Record:
    draft = Record(
        wire="llm", kind="request", head=Head(method="POST", url="http://a/v1"), data=data, encoding=encoding
    )
    return REDACTOR.draft(without_credentials(draft, lambda _name, _value: None))


def utf_16(text: bytes) -> bytes:
    return text.decode().encode("utf-16-le")


@pytest.mark.parametrize(
    ("header", "packed", "coding"),
    [
        *((coding, partial(coded, encoding=coding), coding) for coding in CODINGS),
        ("x-pack", gzip.compress, "gzip"),
        (None, utf_16, "utf-16-le"),
        ("gzip", bytes, ""),
    ],
)
def test_a_request_is_kept_decoded_only_where_a_secret_is_in_it(
    header: str | None, packed: Callable[[bytes], bytes], coding: str
) -> None:
    harmless = packed(b'{"model":"a"}')
    kept = request(harmless, header)
    assert (kept.data, kept.encoding, kept.redacted) == (harmless, header, ())

    secret = request(packed(b'{"m":"%s","api_key":"abc"}' % KEY), header)
    assert secret.data == '{"m":"⟨secret:K⟩","api_key":"⟨secret:api_key⟩"}'.encode()
    assert secret.encoding == (None if coding else header)
    assert [entry.coding for entry in secret.redacted if entry.coding] == ([coding] if coding else [])


def test_a_request_that_cannot_be_decoded_to_its_end_says_so() -> None:
    broken = packed(NOISE[:9000])[:-8] + b"x" * 8 + packed(SAID)
    kept = request(broken, "gzip")
    assert NOISE.startswith(kept.data)
    assert kept.malformed == f"{kept.redacted[-1].length} bytes of the body cannot be read, and are not kept"
    assert [entry.name for entry in kept.redacted] == ["was gzip", "body"]
    assert REDACTOR.draft(kept) is kept


def test_a_decoder_goes_on_behind_padding_and_counts_what_is_no_part_of_the_body() -> None:
    gzip_decoder = decoder("gzip")
    assert b"".join(map(gzip_decoder.feed, (packed(b"a"), b"\0\0", b"\0", packed(b"b"), b"\0"))) == b"ab"
    assert gzip_decoder.behind == 0
    assert gzip_decoder.feed(b"more") + gzip_decoder.feed(packed(b"c")) == b""
    assert gzip_decoder.behind == 4 + len(packed(b"c"))
    with pytest.raises(CodingError):
        decoder("gzip").feed(packed(b"a") + b"\x1f" + b"no member")
