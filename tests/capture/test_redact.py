"""Secrets never get through, whatever form they come in and wherever the bytes are cut."""

from __future__ import annotations

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
MARK = "⟨secret:API_KEY⟩".encode()


def test_every_part_of_a_draft_is_redacted_and_says_what_was_taken_out() -> None:
    earlier = Redaction(where="data", name="X", length=9)
    basic = base64.b64encode(f"me:{KEY}".encode()).decode()
    head = Head(
        method="POST",
        url=f"https://u:p@a.example/{KEY}/x?q={KEY}",
        headers=(("Authorization", f"Bearer {KEY}"), ("Proxy-Authorization", f"Basic {basic}"), ("Accept", "*/*")),
    )
    data = b'{"env":"%s!"}' % KEY.encode()
    malformed = f"no JSON: {KEY}"
    draft = Record(wire="llm", kind="request", head=head, data=data, malformed=malformed, redacted=(earlier,))

    kept = REDACTOR.record(draft)

    assert kept.head == Head(
        method="POST",
        url="https://⟨secret:userinfo⟩@a.example/⟨secret:API_KEY⟩/x?q=⟨secret:API_KEY⟩",
        headers=(
            ("Authorization", "Bearer ⟨secret:API_KEY⟩"),
            ("Proxy-Authorization", "Basic ⟨secret:API_KEY⟩"),
            ("Accept", "*/*"),
        ),
    )
    assert (kept.data, kept.malformed) == (b'{"env":"%s!"}' % MARK, "no JSON: ⟨secret:API_KEY⟩")
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


def test_a_short_secret_is_taken_out_only_where_it_is_all_of_a_header_a_query_value_or_a_segment() -> None:
    redactor = Redactor([("TEAM", "blue7")])
    head = Head(url="https://x.example/blue7/v1?team=blue7&k=blue77", headers=(("X-Team", "blue7"), ("X-B", "blue77")))

    draft = redactor.record(Record(wire="llm", kind="request", head=head, data=b"as blue7 said"))

    assert draft.data == b"as blue7 said"
    assert draft.head == Head(
        url="https://x.example/⟨secret:TEAM⟩/v1?team=⟨secret:TEAM⟩&k=blue77",
        headers=(("X-Team", "⟨secret:TEAM⟩"), ("X-B", "blue77")),
    )


def test_overlapping_secrets_leave_nothing_of_either() -> None:
    redactor = Redactor([("A", "abcdefgh"), ("B", "efghijkl"), ("C", "abcdefghijklmnop")])

    assert redactor.text("<abcdefghijkl>") == "<⟨secret:A⟩>"
    assert redactor.text("<abcdefghijklmnop>") == "<⟨secret:C⟩>"


def test_a_name_cannot_break_the_json_that_its_mark_stands_in() -> None:
    redactor = Redactor([('a"b\\c', KEY)])

    assert json.loads(redactor.bytes(b'"%s"' % KEY.encode())[0]) == "⟨secret:a_b_c⟩"


def test_saved_json_stays_json_even_where_a_number_is_the_secret() -> None:
    redactor = Redactor([("PIN", "12345678")])

    assert json.loads(redactor.json_text('{"n": 12345678, "t": "is 12345678"}')) == {
        "n": "⟨secret:PIN⟩",
        "t": "is ⟨secret:PIN⟩",
    }


@given(st.text(max_size=40), st.text(max_size=40))
def test_text_around_a_secret_is_untouched(before: str, after: str) -> None:
    text = REDACTOR.text(f"{before}{KEY}{after}")

    assert text == f"{before}⟨secret:API_KEY⟩{after}" or KEY in f"{before}{after}"


@given(st.binary(max_size=60), st.binary(max_size=60), st.lists(st.integers(0, 200), max_size=6))
def test_a_body_cut_anywhere_is_redacted_as_if_it_came_whole(before: bytes, after: bytes, cuts: list[int]) -> None:
    body = before + KEY.encode() + after + base64.b64encode(f"x{KEY}".encode()) + b"sk-canary"
    stream = REDACTOR.stream()
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    pieces = [stream.feed(body[start:end]) for start, end in pairwise(edges)]
    pieces.append(stream.flush())

    whole, found = REDACTOR.bytes(body)

    assert b"".join(data for data, _ in pieces) == whole
    assert tuple(each for _, some in pieces for each in some) == found


def test_a_stream_holds_back_no_more_than_could_begin_a_secret() -> None:
    stream = REDACTOR.stream()

    assert stream.feed(b"hello sk") == (b"hello ", ())
    assert stream.feed(b"y") == (b"sky", ())
    assert stream.flush() == (b"", ())


def test_a_longer_secret_that_begins_like_a_shorter_one_is_found_across_chunks() -> None:
    redactor = Redactor([("A", "abcdefgh"), ("B", "abcdefgh-and-more")])
    stream = redactor.stream()

    kept = [stream.feed(b"<abcdefgh")[0], stream.feed(b"-and-more>")[0], stream.flush()[0]]

    assert b"".join(kept).decode() == "<⟨secret:B⟩>"


def test_the_pieces_of_a_text_are_the_text_and_name_what_is_secret() -> None:
    text = f"a {KEY} ü {KEY}"
    assert REDACTOR.pieces(text) == [("a ", ""), (KEY, "API_KEY"), (" ü ", ""), (KEY, "API_KEY")]
    assert REDACTOR.pieces("nothing") == [("nothing", "")]
    assert REDACTOR.pieces("") == []
    assert REDACTOR.lengths == {"API_KEY": len(KEY), "ODD": len(ODD)}


OTHERS = "sk-of-somebody-else-1234"


def asking(key: str) -> Head:
    return Head(method="POST", headers=(("Authorization", f"Bearer {key}"),))


def test_a_credential_that_a_request_has_shown_is_found_in_what_follows_however_it_is_cut() -> None:
    redactor = Redactor()
    redactor.learn(asking(OTHERS))
    body = json.dumps({"error": f"Incorrect API key provided: {OTHERS}."}).encode()
    for cut in range(len(body)):
        stream = redactor.stream()
        kept = stream.feed(body[:cut])[0] + stream.feed(body[cut:])[0] + stream.flush()[0]
        assert OTHERS.encode() not in kept
        assert json.loads(kept).keys() == {"error"}
    assert redactor.bytes(base64.b64encode(f"u:{OTHERS}".encode()))[1]


def test_a_key_that_is_known_keeps_its_name_and_a_mark_is_no_key() -> None:
    redactor = Redactor([("API_KEY", KEY)])
    redactor.learn(asking(KEY))
    redactor.learn(Head(method="POST", headers=(("X-Api-Key", "⟨secret:x-api-key-1⟩"),)))

    assert redactor.text(f"{KEY} ⟨secret:x-api-key-1⟩") == "⟨secret:API_KEY⟩ ⟨secret:x-api-key-1⟩"


def test_of_many_credentials_those_that_were_used_last_are_remembered() -> None:
    redactor = Redactor()
    for number in range(100):
        for value in (OTHERS, f"signed-anew-{number:08d}"):
            redactor.learn(asking(value))

    assert redactor.text(f"{OTHERS} signed-anew-00000000") == "⟨secret:authorization⟩ signed-anew-00000000"
    assert redactor.text("signed-anew-00000099") == "⟨secret:authorization⟩"


def test_a_host_s_key_is_known_also_where_its_request_has_those_of_forty_servers() -> None:
    redactor = Redactor()
    redactor.learn(asking(OTHERS))
    tools = [
        {"type": "mcp", "server_url": "https://a/", "authorization": f"tool-key-{number}-abc"} for number in range(40)
    ]
    body = json.dumps({"tools": tools}).encode()
    redactor.by_place(Record(wire="llm", kind="request", head=asking(OTHERS), data=body))
    assert OTHERS not in redactor.text(f"no such key: {OTHERS}")
