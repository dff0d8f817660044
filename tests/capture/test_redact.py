"""Secrets never get through, whatever form they come in and wherever the bytes are cut."""

from __future__ import annotations

import base64
import html
import json
from dataclasses import replace
from itertools import pairwise, product
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_host.capture.record import Draft, Head, Redaction
from tui_host.capture.redact.redaction import Redactor

KEY = "sk-canary-0123456789"
ODD = 'p"q\\r/s+t=ü w&x%y'
REDACTOR = Redactor([("API_KEY", KEY), ("ODD", ODD)])
MARK = "⟨secret:API_KEY⟩".encode()


def spelled(text: str) -> list[bytes]:
    """As encoders of pages, of JSON for pages, and of everything write it."""
    raw = text.encode()
    units = [int.from_bytes(text[at].encode("utf-16-be")) for at in range(len(text))]
    in_json = json.dumps(text)[1:-1]
    net = in_json.replace('\\"', "\\u0022").replace("&", "\\u0026").replace("+", "\\u002B").replace("'", "\\u0027")
    pages = [html.escape(text, quote=quoted) for quoted in (False, True)]
    pages += [pages[1].replace("&quot;", "&#34;"), pages[1].replace("/", "&#x2F;"), pages[1].replace("&quot;", "&#34;")]
    written = [
        *pages,
        in_json.replace("&", "\\u0026"),
        net,
        net.replace("002B", "002b"),
        json.dumps(net)[1:-1],
        quote(quote(raw, safe=""), safe=""),
        *(form % raw.hex() for form in ("%s", "0x%s")),
        raw.hex().upper(),
        *(
            "".join(map(form.format, units))
            for form in ("\\u{:04x}", "\\u{:04X}", "\\\\u{:04x}", "&#{:d};", "&#x{:x};")
        ),
        *("".join(map(form.format, raw)) for form in ("%{:02X}", "%{:02x}", "\\x{:02x}")),
    ]
    return [each.encode() for each in written]


def of(head: Head) -> Draft:
    return REDACTOR.draft(Draft(wire="llm", kind="request", peer="mine", head=head))


def headers_of(*headers: tuple[str, str]) -> dict[str, str]:
    draft = of(Head(method="POST", url="https://api.example/v1", headers=headers))
    assert draft.head is not None
    return dict(draft.head.headers)


def url_of(url: str) -> str:
    draft = of(Head(method="GET", url=url))
    assert draft.head is not None
    return draft.head.url or ""


def test_a_draft_without_secrets_comes_back_as_it_is() -> None:
    draft = Draft(wire="mcp", kind="frame", data=b"x" * 1000, head=Head(headers=(("accept", "*/*"),)))

    assert REDACTOR.draft(draft) is draft


def test_a_secret_in_a_body_becomes_a_mark_and_its_length_is_told() -> None:
    draft = REDACTOR.draft(Draft(wire="mcp", kind="frame", data=b'{"env":"%s!"}' % KEY.encode()))

    assert draft.data == b'{"env":"%s!"}' % MARK
    assert draft.redacted == (Redaction(where="data", name="API_KEY", length=len(KEY)),)


@pytest.mark.parametrize("secret", [KEY, ODD])
@pytest.mark.parametrize("offset", range(4))
def test_the_encoded_forms_of_a_secret_are_found(secret: str, offset: int) -> None:
    around = "u" * offset
    raw = f"{around}{secret}{around}".encode()
    once = json.dumps({"a": f"{around}{secret}"})
    forms = [
        raw,
        once.encode(),
        json.dumps({"a": secret}, ensure_ascii=False).encode(),
        json.dumps({"arguments": once}).encode(),
        json.dumps({"arguments": json.dumps({"a": secret}, ensure_ascii=False)}, ensure_ascii=False).encode(),
        quote(raw, safe="").encode(),
        quote(raw).lower().encode() if secret == KEY else quote(raw).encode(),
        quote_plus(raw).encode(),
        base64.b64encode(raw),
        base64.urlsafe_b64encode(raw),
        *spelled(f"{around}{secret}"),
    ]

    for form, start in product(forms, range(0, 64, 9)):
        kept, found = REDACTOR.bytes(b"~" * start + form + b"~" * 64)
        assert found, form
        assert "⟨secret:".encode() in kept
        assert not [each for each in (KEY.encode(), b"canary", b'"q', b"%y", b"636e6172") if each in kept], form


def test_a_value_shorter_than_eight_characters_stays_in_bodies() -> None:
    redactor = Redactor([("SHORT", "1234567")])

    assert redactor.bytes(b"call 1234567 now") == (b"call 1234567 now", ())


def test_a_short_secret_is_taken_out_where_it_is_all_of_a_header_a_query_value_or_a_segment() -> None:
    redactor = Redactor([("TEAM", "blue7")])
    head = Head(url="https://x.example/blue7/v1?team=blue7&k=blue77", headers=(("X-Team", "blue7"), ("X-B", "blue77")))

    draft = redactor.draft(Draft(wire="llm", kind="request", head=head))

    assert draft.head == Head(
        url="https://x.example/⟨secret:TEAM⟩/v1?team=⟨secret:TEAM⟩&k=blue77",
        headers=(("X-Team", "⟨secret:TEAM⟩"), ("X-B", "blue77")),
    )


def test_a_configured_header_is_a_place_for_secrets_of_any_length() -> None:
    redactor = Redactor([("T", "ab")])
    redactor.add_places(headers=["X-Team"])

    draft = redactor.draft(Draft(wire="llm", kind="request", head=Head(headers=(("x-team", "ab"),))))

    assert draft.head == Head(headers=(("x-team", "⟨secret:T⟩"),))


def test_known_credential_headers_are_redacted_whatever_they_hold() -> None:
    headers = headers_of(
        ("Authorization", f"Bearer {KEY}"),
        ("proxy-authorization", "Basic dTpw"),
        ("X-Api-Key", "abc"),
        ("x-goog-api-key", KEY),
        ("api-key", "q"),
        ("Cookie", "a=b; c=d"),
        ("Set-Cookie", "sid=1; Path=/"),
        ("Mcp-Session-Id", "6f1e"),
        ("Content-Type", "application/json"),
    )

    assert headers == {
        "Authorization": "Bearer ⟨secret:API_KEY⟩",
        "proxy-authorization": "Basic ⟨secret:proxy-authorization⟩",
        "X-Api-Key": "⟨secret:x-api-key⟩",
        "x-goog-api-key": "⟨secret:API_KEY⟩",
        "api-key": "⟨secret:api-key⟩",
        "Cookie": "⟨secret:cookie⟩",
        "Set-Cookie": "⟨secret:set-cookie⟩",
        "Mcp-Session-Id": "⟨secret:mcp-session-id⟩",
        "Content-Type": "application/json",
    }


@pytest.mark.parametrize(
    ("offered", "kept"),
    [
        (
            "realtime, openai-insecure-api-key.ek_12345.6, openai-beta.realtime-v1",
            "realtime, openai-insecure-api-key.⟨secret:openai-insecure-api-key⟩, openai-beta.realtime-v1",
        ),
        ("token,dg123456", "token,⟨secret:token⟩"),
        (
            "base64url.bearer.authorization.k8s.io.abc12345, v4.channel.k8s.io",
            "base64url.bearer.⟨secret:base64url.bearer⟩, v4.channel.k8s.io",
        ),
        ("graphql-ws, v1.token", "graphql-ws, v1.token"),
    ],
)
def test_credentials_among_a_websockets_protocols_are_taken_out_and_known_from_then_on(offered: str, kept: str) -> None:
    redactor = Redactor()
    head = Head(method="GET", url="http://a/", headers=(("Sec-WebSocket-Protocol", offered),))
    redactor.learn(head)
    for _ in range(2):
        draft = redactor.draft(Draft(wire="llm", kind="request", head=head))
        assert draft.head is not None
        assert draft.head.headers == (("Sec-WebSocket-Protocol", kept),)
        head = draft.head
    assert redactor.bytes(offered.encode())[0].decode().count("⟨") == kept.count("⟨")


def test_basic_credentials_are_named_after_the_secret_in_them() -> None:
    encoded = base64.b64encode(f"me:{KEY}".encode()).decode()

    assert headers_of(("Authorization", f"Basic {encoded}")) == {"Authorization": "Basic ⟨secret:API_KEY⟩"}


def test_urls_lose_credential_parameters_userinfo_and_secrets() -> None:
    assert url_of("https://a.example/v1?key=abc&alt=sse&API_KEY=d") == (
        "https://a.example/v1?key=⟨secret:key⟩&alt=sse&API_KEY=⟨secret:API_KEY⟩"
    )
    assert url_of(f"https://a.example/{KEY}/x?q={KEY}") == "https://a.example/⟨secret:API_KEY⟩/x?q=⟨secret:API_KEY⟩"
    assert url_of("http://me:pass@a.example/x@y") == "http://⟨secret:userinfo⟩@a.example/x@y"
    assert url_of("https://a.example/cb#access_token=abc") == "https://a.example/cb#access_token=⟨secret:access_token⟩"
    assert url_of("https://a.example/v1/models?limit=5") == "https://a.example/v1/models?limit=5"


def test_redacting_twice_changes_nothing_more() -> None:
    head = Head(method="GET", url=f"https://u:p@a.example/?key={KEY}", headers=(("authorization", f"Bearer {KEY}"),))
    once = REDACTOR.draft(Draft(wire="llm", kind="request", head=head, data=KEY.encode()))

    assert REDACTOR.draft(once) is once


def test_a_secret_added_later_is_found_from_then_on() -> None:
    redactor = Redactor()
    assert redactor.text(KEY) == KEY

    redactor.add("LATE", KEY)

    assert redactor.text(f"a {KEY}") == "a ⟨secret:LATE⟩"


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


def test_why_bytes_are_malformed_is_told_without_secrets() -> None:
    draft = REDACTOR.draft(Draft(wire="mcp", kind="frame", malformed=f"no JSON: {KEY}"))

    assert draft.malformed == "no JSON: ⟨secret:API_KEY⟩"


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


@given(st.integers(1, len(KEY) - 1))
def test_a_secret_split_over_two_chunks_is_never_passed_on(cut: int) -> None:
    stream = REDACTOR.stream()
    first, _ = stream.feed(b"data: " + KEY[:cut].encode())
    second, found = stream.feed(KEY[cut:].encode() + b"\n")

    assert first == b"data: "
    assert second == MARK + b"\n"
    assert found == (Redaction(where="data", name="API_KEY", length=len(KEY)),)


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


def test_the_record_names_what_was_taken_out_before_too() -> None:
    earlier = Redaction(where="data", name="X", length=9)
    draft = replace(Draft(wire="mcp", kind="chunk", data=KEY.encode()), redacted=(earlier,))

    assert REDACTOR.draft(draft).redacted == (earlier, Redaction(where="data", name="API_KEY", length=len(KEY)))


def test_the_pieces_of_a_text_are_the_text_and_name_what_is_secret() -> None:
    text = f"a {KEY} ü {KEY}"
    assert REDACTOR.pieces(text) == [("a ", ""), (KEY, "API_KEY"), (" ü ", ""), (KEY, "API_KEY")]
    assert REDACTOR.pieces("nothing") == [("nothing", "")]
    assert REDACTOR.pieces("") == []
    assert REDACTOR.lengths == {"API_KEY": len(KEY), "ODD": len(ODD)}


@pytest.mark.parametrize(
    "name",
    [
        "Ocp-Apim-Subscription-Key",
        "X-Auth-Token",
        "X-Access-Token",
        "X-Api-Token",
        "Private-Token",
        "X-Vault-Token",
        "X-Plex-Token",
        "X-Amz-Security-Token",
        "CF-Access-Client-Secret",
        "x-litellm-api-key",
        "X-Portkey-Api-Key",
        "Helicone-Auth",
        "token",
        "apikey",
        "X-MyCo-Secret",
        "X-CSRF-Token",
        "X-Session-Id",
        "session_id",
        "Cookie2",
        "XAuth",
        "X-Password",
        "CF-Access-Jwt-Assertion",
    ],
)
def test_a_header_named_like_a_credential_is_one(name: str) -> None:
    assert headers_of((name, "q1")) == {name: f"⟨secret:{name.lower()}⟩"}


@pytest.mark.parametrize(
    "name",
    [
        "Sec-WebSocket-Key",
        "Idempotency-Key",
        "x-ratelimit-remaining-tokens",
        "anthropic-ratelimit-tokens-limit",
        "x-ratelimit-reset-token",
        "input-tokens-remaining",
        "max-tokens",
        "WWW-Authenticate",
        "Proxy-Authenticate",
        "x-stainless-lang",
        "Access-Control-Allow-Credentials",
        "X-Prompt-Cache-Key",
        "X-Mesh-Auth-Type",
        "x-author",
        "MCP-Protocol-Version",
        "x-request-id",
    ],
)
def test_a_header_that_only_sounds_like_a_credential_stays(name: str) -> None:
    assert headers_of((name, "Bearer realm-1")) == {name: "Bearer realm-1"}


def test_query_keys_named_like_credentials_are_and_those_of_pages_and_sessions_are_not() -> None:
    url = "https://a.example/x?%s=q1"
    for key in ("X-Amz-Signature", "X-Amz-Security-Token", "hapikey", "apiKey", "session_token"):
        assert url_of(url % key) == url.replace("q1", "⟨secret:%s⟩") % (key, key)
    for key, long in (("code", "x" * 40), ("sas", "q1"), ("pat", "q1")):
        assert url_of(url.replace("q1", long) % key) == url.replace("q1", "⟨secret:%s⟩") % (key, key)
    for key in ("pageToken", "next_page_token", "sessionId", "code", "state", "max_tokens"):
        assert url_of(url % key) == url % key


def test_what_a_redirect_of_a_login_carries_is_taken_out() -> None:
    assert headers_of(("Location", "http://127.0.0.1:1/cb?code=c0de&state=5t&scope=a")) == {
        "Location": "http://127.0.0.1:1/cb?code=⟨secret:code⟩&state=⟨secret:state⟩&scope=a"
    }


OTHERS = "sk-of-somebody-else-1234"


def learning(*headers: tuple[str, str], url: str = "https://a.example/v1") -> Redactor:
    redactor = Redactor([("API_KEY", KEY)])
    redactor.learn(Head(method="POST", url=url, headers=headers))
    return redactor


@pytest.mark.parametrize(
    "redactor",
    [
        learning(("Authorization", f"Bearer {OTHERS}")),
        learning(("X-MyCo-Secret", OTHERS)),
        learning(url=f"https://a.example/v1?key={OTHERS}"),
    ],
)
def test_a_credential_that_a_request_has_shown_is_found_in_what_follows_however_it_is_cut(redactor: Redactor) -> None:
    body = json.dumps({"error": f"Incorrect API key provided: {OTHERS}."}).encode()
    for cut in range(len(body)):
        stream = redactor.stream()
        kept = stream.feed(body[:cut])[0] + stream.feed(body[cut:])[0] + stream.flush()[0]
        assert OTHERS.encode() not in kept
        assert "message" in json.loads(kept.replace(b"error", b"message"))
    assert OTHERS.encode() not in redactor.bytes(json.dumps({"a": json.dumps(OTHERS)}).encode())[0]
    assert redactor.bytes(base64.b64encode(f"u:{OTHERS}".encode()))[1]


def test_the_password_in_a_request_is_learned_from_userinfo_and_basic_authentication_alone() -> None:
    told = base64.b64encode(b"client-1234567:a%2Fb+c-0123456789").decode()
    redactor = learning(("Authorization", f"Basic {told}"), url="https://somebody-12:c%40d-9876543210@a.example/")

    assert redactor.text("client-1234567 a/b c-0123456789 a%2Fb+c-0123456789 somebody-12 c@d-9876543210") == (
        "client-1234567 ⟨secret:basic⟩ ⟨secret:basic⟩ somebody-12 ⟨secret:userinfo⟩"
    )


def test_a_word_that_stands_for_no_key_and_what_changes_with_each_session_are_not_learned() -> None:
    redactor = learning(
        ("Authorization", "Bearer lm-studio"), ("Mcp-Session-Id", "session-1234"), ("Cookie", "a=12345678")
    )

    text = "lm-studio session-1234 a=12345678 not-needed"
    assert redactor.text(text) == text


def test_a_key_that_is_known_keeps_its_name_and_a_mark_is_no_key() -> None:
    redactor = learning(("Authorization", f"Bearer {KEY}"), ("X-Api-Key", "⟨secret:x-api-key-1⟩"))

    assert redactor.text(f"{KEY} ⟨secret:x-api-key-1⟩") == "⟨secret:API_KEY⟩ ⟨secret:x-api-key-1⟩"


def test_of_many_credentials_those_that_were_used_last_are_remembered() -> None:
    redactor = Redactor()
    for number in range(100):
        for value in (OTHERS, f"signed-anew-{number:08d}"):
            redactor.learn(Head(method="POST", headers=(("Authorization", f"Bearer {value}"),)))

    assert redactor.text(f"{OTHERS} signed-anew-00000000") == "⟨secret:authorization⟩ signed-anew-00000000"
    assert redactor.text("signed-anew-00000099") == "⟨secret:authorization⟩"
