"""Secrets never get through, whatever form they come in and wherever the bytes are cut."""

import base64
import json
from itertools import pairwise, product
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_host.capture.record import Head, Record, Redaction
from tui_host.capture.redact.redaction import Redactor

KEY = "sk-canary-0123456789"
ODD = 'p"q\\r/s+t=ü w&x%y'
REDACTOR = Redactor([("API_KEY", KEY), ("ODD", ODD)])
OTHERS = "sk-of-somebody-else-1234"


def test_every_part_of_a_record_is_redacted_and_says_what_was_taken_out() -> None:
    earlier = Redaction(where="data", name="X", length=9)
    basic = base64.b64encode(f"me:{KEY}".encode()).decode()
    head = Head(
        method="POST",
        url=f"https://u:p@a.example/{KEY}/x?q={KEY}",
        headers=(("Authorization", f"Bearer {KEY}"), ("Proxy-Authorization", f"Basic {basic}"), ("Accept", "*/*")),
    )
    data, malformed = b'{"env":"%s!"}' % KEY.encode(), f"no JSON: {KEY}"
    kept = REDACTOR.record(
        Record(wire="llm", kind="request", head=head, data=data, malformed=malformed, redacted=(earlier,))
    )
    assert kept.head == Head(
        method="POST",
        url="https://⟨secret:userinfo⟩@a.example/⟨secret:API_KEY⟩/x?q=⟨secret:API_KEY⟩",
        headers=(
            ("Authorization", "Bearer ⟨secret:API_KEY⟩"),
            ("Proxy-Authorization", "Basic ⟨secret:API_KEY⟩"),
            ("Accept", "*/*"),
        ),
    )
    assert (kept.data.decode(), kept.malformed) == ('{"env":"⟨secret:API_KEY⟩!"}', "no JSON: ⟨secret:API_KEY⟩")
    assert kept.redacted[0] == earlier
    assert Redaction(where="data", name="API_KEY", length=len(KEY)) in kept.redacted
    assert REDACTOR.record(kept) is kept


@pytest.mark.parametrize("secret", [KEY, ODD])
@pytest.mark.parametrize("offset", range(4))
def test_a_secret_is_found_in_each_spelling_that_is_promised(secret: str, offset: int) -> None:
    around = "u" * offset
    text = f"{around}{secret}{around}"
    raw, in_json = text.encode(), json.dumps(text)
    forms = [
        raw,
        in_json.encode(),
        json.dumps(text, ensure_ascii=False).encode(),
        in_json.replace("/", "\\/").encode(),  # of PHP
        in_json.replace("&", "\\u0026").encode(),  # of Go
        quote(raw, safe="").encode(),
        quote(raw).encode(),
        quote_plus(raw).encode(),
        quote(raw, safe="-_.!~*'()").lower().encode(),
        base64.b64encode(raw),
        base64.urlsafe_b64encode(raw),
        raw.hex().encode(),
        raw.hex().upper().encode(),
    ]
    for form, start in product(forms, range(0, 64, 9)):
        kept, found = REDACTOR.bytes(b"~" * start + form + b"~" * 64)
        assert found, form
        assert "⟨secret:".encode() in kept
        assert not [each for each in (KEY.encode(), b"canary", b'"q', b"%y", b"636e6172") if each in kept], form


def test_overlapping_secrets_leave_nothing_of_either_and_a_mark_breaks_no_json() -> None:
    redactor = Redactor([("A", "abcdefgh"), ("B", "efghijkl"), ("C", "abcdefghijklmnop"), ('a"b\\c', "12345678")])
    assert (redactor.text("<abcdefghijkl>"), redactor.text("<abcdefghijklmnop>")) == ("<⟨secret:A⟩>", "<⟨secret:C⟩>")
    saved = redactor.json_text('{"n": 12345678, "l": [-12345678.5, 1], "t": "is \\"12345678\\", so"}')
    mark = "⟨secret:a_b_c⟩"
    assert json.loads(saved) == {"n": mark, "l": [f"-{mark}.5", 1], "t": f'is "{mark}", so'}


def test_the_pieces_of_a_text_are_the_text_and_name_what_is_secret() -> None:
    assert REDACTOR.pieces(f"a {KEY} ü {KEY}") == [("a ", ""), (KEY, "API_KEY"), (" ü ", ""), (KEY, "API_KEY")]
    assert (REDACTOR.pieces("nothing"), REDACTOR.pieces("")) == ([("nothing", "")], [])
    assert REDACTOR.lengths == {"API_KEY": len(KEY), "ODD": len(ODD)}


@given(st.binary(max_size=60), st.binary(max_size=60), st.lists(st.integers(0, 200), max_size=6))
def test_a_body_cut_anywhere_is_redacted_as_if_it_came_whole(before: bytes, after: bytes, cuts: list[int]) -> None:
    body = before + KEY.encode() + after + base64.b64encode(f"x{KEY}".encode()) + b"sk-canary"
    stream = REDACTOR.body()
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    pieces = [stream.feed(body[start:end]) for start, end in pairwise(edges)]
    pieces.append(stream.flush())
    kept = b"".join(data for data, _ in pieces), tuple(each for _, some in pieces for each in some)
    assert kept == REDACTOR.bytes(body)


def test_a_stream_holds_back_no_more_than_could_begin_a_secret() -> None:
    stream = Redactor([("A", "abcdefgh"), ("B", "abcdefgh-and-more")]).body()
    kept = [stream.feed(piece)[0].decode() for piece in (b"so ab", b"c ", b"<abcdefgh", b"-and-more>")]
    assert kept == ["so ", "abc ", "<", "⟨secret:B⟩>"]
    assert stream.flush() == (b"", ())


def asking(key: str) -> Head:
    return Head(method="POST", headers=(("Authorization", f"Bearer {key}"),))


def test_a_credential_that_a_request_has_shown_is_found_in_what_follows_however_it_is_cut() -> None:
    redactor = Redactor([("API_KEY", KEY)])
    for head in (asking(OTHERS), asking(KEY), Head(headers=(("X-Api-Key", "⟨secret:x-api-key-1⟩"),))):
        redactor.learn(head)
    body = json.dumps({"error": f"Incorrect API key provided: {OTHERS}."}).encode()
    for cut in range(len(body)):
        stream = redactor.body()
        kept = stream.feed(body[:cut])[0] + stream.feed(body[cut:])[0] + stream.flush()[0]
        assert json.loads(kept) == {"error": "Incorrect API key provided: ⟨secret:authorization⟩."}
    assert redactor.bytes(base64.b64encode(f"u:{OTHERS}".encode()))[1]
    # One that is configured keeps its name, and a mark is no key.
    assert redactor.text(f"{KEY} ⟨secret:x-api-key-1⟩") == "⟨secret:API_KEY⟩ ⟨secret:x-api-key-1⟩"


def test_of_many_credentials_those_that_were_used_last_are_remembered() -> None:
    redactor = Redactor()
    for number in range(100):
        for value in (OTHERS, f"signed-anew-{number:08d}"):
            redactor.learn(asking(value))
    assert redactor.text(f"{OTHERS} signed-anew-00000000") == "⟨secret:authorization⟩ signed-anew-00000000"
    tools = [{"server_url": "https://a/", "authorization": f"tool-key-{number}-abc"} for number in range(40)]
    body = json.dumps({"tools": tools}).encode()
    redactor.by_place(Record(wire="llm", kind="request", head=asking(OTHERS), data=body))
    assert redactor.text(f"{OTHERS} tool-key-7-abc") == "⟨secret:authorization⟩ ⟨secret:authorization⟩"
