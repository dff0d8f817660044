"""Credentials in headers and URLs are known by the names of their places, or by their form."""

import base64
from collections.abc import Iterable

import pytest

from tui_host.capture.record import Head, Record
from tui_host.capture.redact.redaction import Redactor

KEY = "sk-0a1b2c3d4e5f60718293"
JWT = "eyJhbGciOiJFUzI1NiIsInR5cCI6ImRwb3Arand0In0.eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIn0.2oW9"


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("Authorization", f"Bearer {KEY}", "Bearer ⟨secret:authorization⟩"),
        ("Cookie", "a=b; c=d", "⟨secret:cookie⟩"),
        ("Mcp-Session-Id", "6f1e", "⟨secret:mcp-session-id⟩"),
        ("Ocp-Apim-Subscription-Key", "q1", "⟨secret:ocp-apim-subscription-key⟩"),
        ("X-OTP", "123456", "⟨secret:x-otp⟩"),
        ("DPoP", JWT, "⟨secret:dpop⟩"),
        ("X-License", KEY, "⟨secret:x-license⟩"),
        ("X-OpenAI-Keys", f"a={KEY}, {KEY}", "a=⟨secret:x-openai-keys⟩, ⟨secret:x-openai-keys⟩"),
        ("Origin", "http://u:p-1@a.example:8", "http://⟨secret:userinfo⟩@a.example:8"),
        ("Location", "http://127.0.0.1:1/cb?code=c0de&state=5t&scope=a",
         "http://127.0.0.1:1/cb?code=⟨secret:code⟩&state=⟨secret:state⟩&scope=a"),
        ("Referer", "/x?a=b;key=p-1;c=d", "/x?a=b;key=⟨secret:key⟩;c=d"),
        ("X-Any", "/a?next=https%3A%2F%2Fb%2F%3Fkey%3Dp-1%26c%3Dd&e=f",
         "/a?next=https%3A%2F%2Fb%2F%3Fkey%3D⟨secret:key⟩%26c%3Dd&e=f"),
        ("Sec-WebSocket-Key", "Bearer realm-1", None),
        ("X-Total-Tokens", "prompt=12345678901234567890", None),
        ("WWW-Authenticate", 'Bearer realm="a17", error="invalid"', None),
        ("X-Cache-Key", KEY, None),
        ("X-Request-Id", "550e8400-e29b-41d4-a716-446655440000", None),
        ("X-Custom", "Bearer of 17 good news", None),
        ("X-Any", "/a/b?keys=a,b&max_tokens=17&ticket=1234&session_id=17&next=%2Fa%3Fmax_tokens%3D17", None),
    ],
)  # fmt: skip
def test_a_credential_in_a_header_is_not_kept_and_what_only_sounds_like_one_is(
    name: str, value: str, kept: str | None
) -> None:
    redactor = Redactor()
    head = Head(method="POST", headers=((name, value),))
    redactor.learn(head)
    draft = redactor.record(Record(wire="llm", kind="request", head=head))
    assert draft.head == Head(method="POST", headers=((name, kept or value),))
    assert redactor.record(draft) is draft
    assert kept or redactor.text(value) == value


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://a/v1?key=abc&alt=sse&API_KEY=d", "https://a/v1?key=⟨secret:key⟩&alt=sse&API_KEY=⟨secret:API_KEY⟩"),
        (f"https://a/?k={KEY}&n=5", "https://a/?k=⟨secret:k⟩&n=5"),
        ("http://me:pass@a.example/x@y", "http://⟨secret:userinfo⟩@a.example/x@y"),
        ("https://a.example/cb#access_token=abc", "https://a.example/cb#access_token=⟨secret:access_token⟩"),
        ("https://a/?pageToken=q1&sessionId=q1&code=q1&state=q1&max_tokens=17", None),
        ("https://a/?k=how-to-bake-4-cakes-in-2-days&access=offline&session=research-of-november", None),
        (f"https://a/?cache_key=a0b1c2d3e4f5g6h7i8&request_id={KEY}&model=gpt-4o-2024-08-06", None),
    ],
)
def test_a_url_is_kept_without_the_credentials_in_it(url: str, kept: str | None) -> None:
    draft = Redactor().record(Record(wire="llm", kind="request", head=Head(method="GET", url=url)))
    assert draft.head == Head(method="GET", url=kept or url)


def shown(url: str = "", headers: Iterable[tuple[str, str]] = ()) -> Redactor:
    redactor = Redactor()
    redactor.learn(Head(method="POST", url=url, headers=tuple(headers)))
    return redactor


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Authorization", f"MyScheme {KEY}"),
        ("Authorization", f'Token token="{KEY}"'),
        ("Authorization", f"Key 17:{KEY}"),
        ("Authorization", f"SharedAccessSignature sr=a%2Fb&sig={KEY}&se=12&skn=name"),
        ("X-Target-Url", f"https://u:{KEY}@a/?api_key=b"),
        ("X-Target-Url", f"/?next=https%3A%2F%2Fa%2F%3Ftoken%3D{KEY}"),
        ("X-OpenAI-Keys", f"a, {KEY}"),
    ],
)
def test_a_credential_that_a_requests_header_tells_is_known_where_it_is_said_again(name: str, value: str) -> None:
    assert shown(headers=[(name, value)]).text(f"your key {KEY} is wrong").startswith("your key ⟨secret:")


def test_of_a_requests_head_only_what_lasts_and_is_no_word_is_sought_from_then_on() -> None:
    basic = base64.b64encode(b"client-1234567:a%2Fb+c-0123456789").decode()
    url = "https://somebody-12:c%40d-9876543210@a.example/?next=https%3A%2F%2Fb%2F%3Fkey%3Dp%252F1234567%252B8"
    redactor = shown(url, [("Authorization", f"Basic {basic}")])
    text = redactor.text("client-1234567 a/b c-0123456789 somebody-12 c@d-9876543210 p/1234567+8")
    assert text == "client-1234567 ⟨secret:authorization⟩ somebody-12 ⟨secret:userinfo⟩ ⟨secret:key⟩"
    digest = 'Digest username="the-user-17", realm="https://login.a.example/17", uri="/v1/chat/comp"'  # words
    text = "the-user-17 https://login.a.example/17 /v1/chat/comp"
    assert shown(headers=[("Authorization", digest)]).text(text) == text
    # What changes with each session, or stands for no key.
    headers = {"Authorization": "Bearer lm-studio", "Mcp-Session-Id": "session-1234", "X-OTP": "12345678", "DPoP": JWT}
    text = f"lm-studio session-1234 12345678 {JWT} {KEY}"
    assert shown(f"https://a.example/v1?session={KEY}", headers.items()).text(text) == text
