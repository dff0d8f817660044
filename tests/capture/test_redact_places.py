"""Credentials that stand in odd places: parts of a header, origins, links, names with escapes, forms in parts."""

from __future__ import annotations

import json

import pytest

from tui_host.capture.record import Draft, Head
from tui_host.capture.redact import Redactor
from tui_host.capture.redact_bodies import without_keys, without_tokens

KEY = "sk-others-0123456789-abcdef"


@pytest.mark.parametrize(
    "value",
    [
        f"MyScheme {KEY}",
        f"Bearer\t{KEY}",
        f'Token token="{KEY}"',
        f"ApiKey id=5, key={KEY}",
        f"Key 17:{KEY}",
        f"SharedAccessSignature sr=a%2Fb&sig={KEY}&se=12&skn=name",
        f'OAuth oauth_nonce="n", oauth_token="{KEY}"',
    ],
)
def test_the_credential_in_a_header_is_known_apart_from_what_stands_around_it(value: str) -> None:
    redactor = Redactor()
    redactor.learn(Head(method="POST", headers=(("Authorization", value),)))
    assert redactor.text(f"your key {KEY} is wrong") == "your key ⟨secret:authorization⟩ is wrong"


def test_the_other_parts_of_such_a_header_are_words() -> None:
    redactor = Redactor()
    digest = 'Digest username="the-user-17", realm="https://login.a.example/17", uri="/v1/chat/completions"'
    signed = f"AWS4-HMAC-SHA256 SignedHeaders=host;x-amz-content-sha256, Signature={KEY}"
    for value in (digest, signed):
        redactor.learn(Head(method="POST", headers=(("Authorization", value),)))
    text = "the-user-17 https://login.a.example/17 /v1/chat/completions x-amz-content-sha256 AWS4-HMAC-SHA256"
    assert redactor.text(text) == text


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("Origin", "http://u:p-1@a.example:8/x?key=p-2", "http://⟨secret:userinfo⟩@a.example:8⟨secret:origin⟩"),
        ("Origin", "p-1", "⟨secret:origin⟩"),
        ("Origin", "http://a.example:8", "http://a.example:8"),
        ("Origin", "null", "null"),
        ("Refresh", "0; url=http://a/?token=p-1", "0; url=http://a/?token=⟨secret:token⟩"),
        ("Link", "<http://a/?api_key=p-1>; rel=next", "<http://a/?api_key=⟨secret:api_key⟩>; rel=next"),
        ("Referer", "/x?a=b;key=p-1;c=d", "/x?a=b;key=⟨secret:key⟩;c=d"),
        ("Referer", "/x?u=http://b/?key=p-1", "/x?u=http://b/?key=⟨secret:key⟩"),
        ("Referer", "/x?key=p;1", "/x?key=⟨secret:key⟩"),
    ],
)
def test_urls_in_headers_are_kept_without_credentials(name: str, value: str, kept: str) -> None:
    redactor = Redactor()
    draft = redactor.draft(Draft(wire="llm", kind="response", head=Head(headers=((name, value),))))
    assert draft.head == Head(headers=((name, kept),))
    assert redactor.draft(draft) is draft


def test_a_name_that_is_written_with_escapes_is_one_all_the_same() -> None:
    learned: list[tuple[str, str]] = []
    server = rb'{"type":"mcp","server_url":"https://a/","headers":{"Auth\u006frization":"Bearer b-1","X\u002dA":"c-1"}}'
    body = rb'{"api\u005fkey":"a-1","t\u0065xt":"d","tools":[%s]}' % server
    kept, found = without_keys(body, lambda name, value: learned.append((name, value)))
    assert ("api_key", "a-1") in learned
    assert not [each for each in (b"a-1", b"b-1") if each in kept]
    assert json.loads(kept)["text"] == "d"
    assert rb'"t\u0065xt"' in kept
    assert len(found) >= 2
    plain = rb'{"p\u0061th":"a"}'
    assert without_keys(plain, lambda _name, _value: None) == (plain, ())


def test_a_login_in_parts_is_kept_without_its_secrets() -> None:
    part = b'--X\r\nContent-Disposition: form-data; name="%s"\r\nContent-Type: text/plain\r\n\r\n%s\r\n'
    pem = b"-----BEGIN KEY-----\r\nMII-1\r\n-----END KEY-----\r\n"
    body = part % (b"client_secret", b"a-1") + part % (b"scope", b"all") + part % (b"private_key", pem)
    kept = body.replace(b"a-1", "⟨secret:client_secret⟩".encode()).replace(pem, "⟨secret:private_key⟩".encode())
    learned: list[str] = []
    assert without_tokens(body + b"--X--\r\n", lambda _, value: learned.append(value.strip()))[0] == kept + b"--X--\r\n"
    assert learned == ["a-1", pem.decode().strip()]
    cut_off = without_tokens(body[:-30], lambda _name, _value: None)[0]
    assert cut_off == kept.removesuffix(b"\r\n")


@pytest.mark.parametrize("line", [b"name=a\n", b"name=a\n\n", b"name=a\n\nx\n"])
def test_what_is_like_a_login_in_parts_is_read_in_one_go(line: bytes) -> None:
    """As often as there is such a line, a megabyte was read."""
    body = b"--X\n" + line * ((1 << 20) // len(line))
    assert without_tokens(body, lambda _name, _value: None) == (body, ())
