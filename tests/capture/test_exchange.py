"""Records fold into exchanges whose bodies are the bytes that came, and are decoded within bounds."""

import gzip
import zlib
from typing import get_args

import pytest

from tests.capture.wires import coded
from tui_host.capture.content_codings import CodingError, Decoder
from tui_host.capture.http.exchange_end import Ending, Reason, read_ending

EVENTS = b'data: {"a":1}\n\n: ping\n\ndata: [DONE]\n\n'


def test_an_end_is_read_as_it_was_written_and_one_in_other_words_is_a_failure() -> None:
    for reason in get_args(Reason):
        ending = Ending(reason=reason, error="工", size=3, kept=2)
        assert read_ending(ending.to_bytes()) == ending
    for data in (b"", b"ConnectError: refused", b"[]", b'{"reason": 3, "bytes": "x"}', b"\xff", b"[" * 5000):
        assert read_ending(data).reason == "failed"


def decoded(body: bytes, encoding: str, *, size: int = 10, ended: bool = True) -> tuple[bytes, str]:
    """A body without its coding, and why that is not all of it."""
    data = b""
    try:
        decode = Decoder(encoding)
        for at in range(0, len(body), size):
            data += decode.feed(body[at : at + size])
        if ended:
            decode.finish()
    except CodingError as error:
        return data, str(error)
    return data, ""


@pytest.mark.parametrize(
    ("body", "encoding", "data", "problem"),
    [
        (gzip.compress(EVENTS, mtime=0)[:-4], "gzip", EVENTS, "not complete"),
        (b"no gzip at all", "gzip", b"", "broken"),
        (b"\x78", "deflate", b"", "not complete"),
        (b"bytes", "gzip, compress", b"", "compress cannot be decoded here"),
        (coded(EVENTS, "br")[:-1], "br", EVENTS, "not complete"),
        (b"no brotli at all", "br", b"", "broken"),
        (coded(EVENTS, "zstd")[:-1], "zstd", EVENTS, "not complete"),
        (b"no zstd at all", "zstd", b"", "broken"),
        (b"", "gzip", b"", ""),
        (zlib.compress(EVENTS, wbits=-15), "deflate", EVENTS, ""),  # without its header
    ],
)
def test_a_body_that_cannot_be_decoded_whole_says_why(body: bytes, encoding: str, data: bytes, problem: str) -> None:
    found, why = decoded(body, encoding)
    assert found == data
    assert problem in why
    assert bool(problem) == bool(why)
    assert not decoded(gzip.compress(EVENTS)[:-4], "gzip", ended=False)[1]  # it is still coming
