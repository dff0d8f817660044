"""Secrets never get through in what stands for something else, whether it says so, does not, or says so falsely."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from hashlib import sha256

import pytest

from tui_host.capture.content_codings import CodingError, coded, decoder
from tui_host.capture.record import Draft, Head
from tui_host.capture.redact.coded_bodies import CodedStream
from tui_host.capture.redact.login_bodies import without_credentials
from tui_host.capture.redact.redaction import Redactor

KEY = b"sk-canary-0123456789-abcdef"
REDACTOR = Redactor([("K", KEY.decode())])
SAID = b'{"error":{"message":"Incorrect API key provided: %s. You can find it"}}' % KEY
KEPT = SAID.replace(KEY, "⟨secret:K⟩".encode())
CUT = SAID.index(KEY) + 10
HALVES = (SAID[:CUT], SAID[CUT:])
BLANKS = b" " * (3 << 20)


def packed(text: bytes) -> bytes:
    return gzip.compress(text, mtime=0)


def told(data: bytes, depth: int = 4) -> Iterator[bytes]:
    """All that somebody who tries could read in these bytes: what begins anywhere in them, wrong sums or not."""
    yield data
    for at in range(len(data)) if depth else ():
        for wbits, magic in ((-15, b"\x1f\x8b\x08"), (-15, b"\x78")):
            if data.startswith(magic, at):
                inner = zlib.decompressobj(wbits)
                begin = at + (10 if magic == b"\x1f\x8b\x08" else 2)
                text = b""
                try:
                    for byte in data[begin:]:
                        text += inner.decompress(bytes((byte,)))
                except zlib.error:
                    pass
                if len(text) > 8:
                    yield from told(text[-4096:], depth - 1)


def kept_of(stream: CodedStream, pieces: Iterable[bytes]) -> bytes:
    return b"".join(stream.feed(piece)[0] for piece in pieces) + stream.flush()[0]


WHOLE: dict[str, tuple[str | None, tuple[bytes, ...], bytes]] = {
    "said to be UTF-8": ("utf-8", HALVES, KEPT),
    "said to be nothing": ("none", HALVES, KEPT),
    "said to be gzip": ("gzip", HALVES, KEPT),
    "said to be deflate": ("deflate", HALVES, KEPT),
    "said to be br": ("br", HALVES, KEPT),
    "said to be zstd": ("zstd", HALVES, KEPT),
    "like zlib at first": (None, (b"x^2 + ", *HALVES), b"x^2 + " + KEPT),
    "padding between members": ("gzip", (packed(b"{}"), bytes(8), packed(SAID)), b"{}" + KEPT),
    "gzip unsaid, a byte first": (None, (packed(SAID)[:1], packed(SAID)[1:]), KEPT),
    "gzip unsaid, two bytes first": (None, (packed(SAID)[:2], packed(SAID)[2:]), KEPT),
    "zlib unsaid": (None, (zlib.compress(SAID),), KEPT),
    "zlib unsaid, of another window": (None, (zlib.compress(SAID, wbits=10),), KEPT),
    "zstd unsaid": (None, (coded(SAID, "zstd"),), KEPT),
    "packed in a coding that nobody knows": ("x-pack", (packed(SAID),), KEPT),
}
CODINGS = {
    "said to be": "gzip",
    "like": "",
    "padding": "gzip",
    "gzip": "gzip",
    "zlib": "deflate",
    "zstd": "zstd",
    "packed": "gzip",
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("size", [0, 1, 1 << 20])
@pytest.mark.parametrize("is_held", [False, True])
def test_what_is_packed_otherwise_than_it_says_is_kept_without_a_secret(name: str, size: int, *, is_held: bool) -> None:
    encoding, pieces, kept = WHOLE[name]
    body = b"".join(pieces)
    cut = [body[at : at + size] for at in range(0, len(body), size)] if size else list(pieces)
    stream = CodedStream(REDACTOR, encoding, is_held=is_held)
    data = kept_of(stream, cut)
    assert not [each for each in told(data) if KEY in each]
    if stream.left_out:  # what came first had gone before the secret was known
        assert size != 1 << 20
        assert body.startswith(data)
    else:
        coding = next(coding for begin, coding in CODINGS.items() if name.startswith(begin))
        text = data if name.startswith(("said to be", "like")) else decoder(coding).feed(data)
        assert text == kept


@pytest.mark.parametrize(
    ("encoding", "pieces"),
    [
        ("gzip", (packed(BLANKS + SAID),)),
        (None, (packed(BLANKS + SAID),)),
        ("deflate", (zlib.compress(BLANKS + SAID),)),
        ("gzip", (packed(b"{}")[:-8] + b"x" * 8 + packed(SAID),)),
        ("gzip", (packed(b"{}")[:-8] + b"x" * 8, packed(SAID))),
        ("deflate", (zlib.compress(b"{}"), packed(SAID))),
        ("br", (coded(b"{}", "br"), SAID)),
        ("br", (coded(b"{}", "br"), packed(SAID))),
        ("gzip", (packed(b"{}"), *HALVES)),
        ("gzip", (packed(b"{}") + HALVES[0], HALVES[1])),
        ("gzip, gzip, gzip, gzip, gzip", (packed(packed(packed(packed(packed(SAID))))),)),
        (None, (packed(packed(packed(packed(packed(SAID))))),)),
    ],
)
@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("is_held", [False, True])
def test_of_what_cannot_be_looked_through_the_record_ends_and_says_so(
    encoding: str | None, pieces: tuple[bytes, ...], size: int, *, is_held: bool
) -> None:
    body = b"".join(pieces)
    stream = CodedStream(REDACTOR, encoding, is_held=is_held)
    kept = kept_of(stream, [body[at : at + 1] for at in range(len(body))] if size else pieces)
    assert body.startswith(kept)
    assert stream.left_out == len(body) - len(kept) > 0
    assert not [each for each in told(kept) if KEY in each]


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("is_held", [False, True])
def test_what_is_said_to_be_packed_as_nobody_here_knows_is_kept_as_it_is_but_for_secrets(
    size: int, *, is_held: bool
) -> None:
    begin = bytes(range(256))
    body = begin + b"".join(HALVES)
    stream = CodedStream(REDACTOR, "x-pack", is_held=is_held)
    assert kept_of(stream, [body[at : at + 1] for at in range(len(body))] if size else [begin, *HALVES]) == begin + KEPT
    assert not stream.left_out


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("said", [0, 1, 4])
def test_what_is_packed_more_often_than_it_says_is_packed_so_again_without_a_secret(depth: int, said: int) -> None:
    body, kept = SAID, KEPT
    for _ in range(depth):
        body = packed(body)
    data = kept_of(CodedStream(REDACTOR, ", ".join(["gzip"] * min(said, depth)) or None, is_held=False), [body])
    assert decoder(", ".join(["gzip"] * depth)).feed(data) == kept


def test_a_secret_that_stands_beside_what_is_packed_is_not_kept() -> None:
    """As in a file's name."""
    body = packed(b"{}")
    named = body[:3] + b"\x08" + body[4:10] + KEY + b"\0" + body[10:]
    for size in (1, len(named)):
        kept = kept_of(
            CodedStream(REDACTOR, "gzip", is_held=False), [named[at : at + size] for at in range(0, len(named), size)]
        )
        assert KEY not in kept


def test_what_only_begins_as_zlib_does_is_kept() -> None:
    fault = b"x\x9c" + b"\xff" * 40
    assert kept_of(CodedStream(REDACTOR, None, is_held=False), [fault]) == fault
    assert kept_of(CodedStream(REDACTOR, None, is_held=False), [fault + SAID]) == fault + KEPT


def test_where_no_secret_is_known_all_is_kept_whatever_it_is() -> None:
    for body in (packed(SAID)[:-9] + b"x" * 9, b"\xff" * 40, SAID):
        assert kept_of(CodedStream(Redactor(), "gzip", is_held=True), [body]) == body


def test_the_end_of_a_zstd_body_that_is_cut_off_is_not_kept_where_it_tells_nothing() -> None:
    noise = b"".join(sha256(b"%d" % number).hexdigest().encode() for number in range(20000))
    body = coded(noise, "zstd")
    pieces = [body[at : at + 1000] for at in range(0, len(body) - 200_000, 1000)]
    stream = CodedStream(REDACTOR, "zstd", is_held=False)
    kept = kept_of(stream, pieces)
    came = b"".join(pieces)
    assert came.startswith(kept)
    assert stream.left_out == len(came) - len(kept) > 0
    assert len(decoder("zstd").feed(kept)) >= len(decoder("zstd").feed(came)) - (1 << 17) > 0


@pytest.mark.parametrize("is_held", [False, True])
@pytest.mark.parametrize("size", [300, 200_000])
def test_of_a_zstd_body_without_secrets_that_is_cut_off_what_is_kept_is_what_came(size: int, *, is_held: bool) -> None:
    """Packed anew it was another body, of which a byte was said to be missing."""
    noise = b"".join(sha256(b"%d" % number).hexdigest().encode() for number in range(size // 64 + 1))[:size]
    body = coded(noise, "zstd") + coded(noise, "zstd")
    for cut in (1, 7, len(body) // 7, len(body) // 3, len(body) // 2 + 50, len(body) * 3 // 4, len(body) - 2):
        stream = CodedStream(REDACTOR, "zstd", is_held=is_held)
        kept = kept_of(stream, [body[: cut - 1], body[cut - 1 : cut]])
        assert body.startswith(kept)
        assert stream.left_out == cut - len(kept)
        assert decoder("zstd").feed(kept) == decoder("zstd").feed(body[:cut])


@pytest.mark.parametrize("cut", [5, 40, 300])
def test_a_zstd_request_without_secrets_that_is_cut_off_is_kept_as_it_came_too(cut: int) -> None:
    noise = b"".join(sha256(b"%d" % number).hexdigest().encode() for number in range(20))
    body = coded(noise[:500], "zstd") + coded(noise[500:], "zstd") + coded(noise, "zstd")[:-cut]
    draft = REDACTOR.draft(request(body, "zstd"))
    assert body.startswith(draft.data)
    assert decoder("zstd").feed(draft.data) == noise
    assert [(each.name, each.length) for each in draft.redacted] == [("body", len(body) - len(draft.data))]


def request(data: bytes, encoding: str | None) -> Draft:
    draft = Draft(wire="llm", kind="request", head=Head(method="POST", url="http://a/v1"), data=data, encoding=encoding)
    return REDACTOR.draft(without_credentials(draft, lambda _name, _value: None))


@pytest.mark.parametrize("encoding", ["utf-8", "none", "gzip", "br", "x-pack", None])
def test_a_request_that_is_not_packed_as_it_says_is_kept_without_keys(encoding: str | None) -> None:
    assert (
        request(b'{"m":"%s","api_key":"abc"}' % KEY, encoding).data
        == '{"m":"⟨secret:K⟩","api_key":"⟨secret:api_key⟩"}'.encode()
    )


@pytest.mark.parametrize("encoding", ["gzip", None, "x-pack"])
def test_a_request_that_is_packed_is_kept_without_keys_though_it_does_not_say_so(encoding: str | None) -> None:
    kept = request(packed(b'{"m":"%s","api_key":"abc"}' % KEY), encoding)
    assert gzip.decompress(kept.data) == '{"m":"⟨secret:K⟩","api_key":"⟨secret:api_key⟩"}'.encode()


@pytest.mark.parametrize("charset", ["utf-16", "utf-16-le", "utf-16-be"])
def test_what_is_utf_16_is_kept_as_such_without_keys(charset: str) -> None:
    body = f'{{"m":"{KEY.decode()}","api_key":"abc"}}'
    kept = request(body.encode(charset), None).data
    assert kept.decode(charset) == '{"m":"⟨secret:K⟩","api_key":"⟨secret:api_key⟩"}'
    answer = kept_of(CodedStream(REDACTOR, None, is_held=False), [body.encode(charset)])
    assert answer.decode(charset) == body.replace(KEY.decode(), "⟨secret:K⟩")


def test_a_request_that_cannot_be_read_to_its_end_is_kept_as_far_as_it_can_and_says_so() -> None:
    body = packed(SAID.replace(KEY, b"nothing"))
    broken = body[:-8] + b"x" * 8 + packed(SAID)
    kept = request(broken, "gzip")
    assert broken.startswith(kept.data)
    assert not [each for each in told(kept.data) if KEY in each]
    assert [(each.name, each.length) for each in kept.redacted] == [("body", len(broken) - len(kept.data))]
    assert kept.malformed == f"{len(broken) - len(kept.data)} bytes of the body cannot be read, and are not kept"
    assert REDACTOR.draft(kept) is kept


def test_a_decoder_goes_on_behind_padding_and_tells_of_what_is_no_part() -> None:
    found = decoder("gzip")
    assert b"".join(map(found.feed, (packed(b"a"), b"\0\0", b"\0", packed(b"b"), b"\0"))) == b"ab"
    assert found.behind == 0
    assert found.feed(b"more") + found.feed(packed(b"c")) == b""
    assert found.behind == 4 + len(packed(b"c"))
    with pytest.raises(CodingError):
        decoder("gzip").feed(packed(b"a") + b"\x1f" + b"no member")
