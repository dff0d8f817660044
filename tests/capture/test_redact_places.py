"""Credentials that stand in odd places: parts of a header, origins, links, names with escapes, forms in parts."""

from __future__ import annotations

import json

import pytest

from tui_host.capture.record import Draft, Head
from tui_host.capture.redact.by_place import without_keys
from tui_host.capture.redact.login_bodies import without_tokens
from tui_host.capture.redact.redaction import Redactor

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
        ("Helicone-Target-Url", "https://u:p-1@a.example/v1", "https://⟨secret:userinfo⟩@a.example/v1"),
        ("X-Custom", f"Bearer {KEY}", "Bearer ⟨secret:x-custom⟩"),
        ("X-Custom", "basic dXNlcjpwYXNzd29yZA==", "basic ⟨secret:x-custom⟩"),
        ("X-Custom", "Bearer of 17 good news", "Bearer of 17 good news"),
        ("X-Plan", "Basic subscription", "Basic subscription"),
        ("X-Plan", "Basic course-2024", "Basic course-2024"),
        ("X-Custom", "Bearer abcdefghijklmnopqrst", "Bearer ⟨secret:x-custom⟩"),
        ("WWW-Authenticate", 'Bearer realm="a17", error="invalid"', 'Bearer realm="a17", error="invalid"'),
        ("X-Any", "https://a.example/v1?api_key=p-1&b=c", "https://a.example/v1?api_key=⟨secret:api_key⟩&b=c"),
        (
            "X-Any",
            "/a?next=https%3A%2F%2Fb%2F%3Fkey%3Dp-1%26c%3Dd&e=f",
            "/a?next=https%3A%2F%2Fb%2F%3Fkey%3D⟨secret:key⟩%26c%3Dd&e=f",
        ),
        ("X-Any", "https%253A%252F%252Fu%253Ap-1%2540b", "https%253A%252F%252F⟨secret:userinfo⟩%2540b"),
        ("X-Api-Keys", "p-1, p-2", "⟨secret:x-api-keys⟩"),
        ("X-AuthTokens", "p-1", "⟨secret:x-authtokens⟩"),
        ("X-Secrets", "p-1", "⟨secret:x-secrets⟩"),
        ("X-OpenAI-Keys", f"a={KEY}, {KEY}", "a=⟨secret:x-openai-keys⟩, ⟨secret:x-openai-keys⟩"),
        ("X-Keys", f"{KEY}; n=5", "⟨secret:x-keys⟩; n=5"),
        (
            "Referer",
            f"/x?otp=12&ticket={KEY}&device_code={KEY}",
            "/x?otp=⟨secret:otp⟩&ticket=⟨secret:ticket⟩&device_code=⟨secret:device_code⟩",
        ),
        (
            "Referer",
            f"/x?sessionId={KEY}&session_id={KEY}",
            "/x?sessionId=⟨secret:sessionId⟩&session_id=⟨secret:session_id⟩",
        ),
    ],
)
def test_urls_in_headers_are_kept_without_credentials(name: str, value: str, kept: str) -> None:
    redactor = Redactor()
    draft = redactor.draft(Draft(wire="llm", kind="response", head=Head(headers=((name, value),))))
    assert draft.head == Head(headers=((name, kept),))
    assert redactor.draft(draft) is draft


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Max-Tokens", "17"),
        ("Anthropic-RateLimit-Tokens-Limit", "17"),
        ("X-Prompt-Tokens", "17"),
        ("X-Keys", "a, b"),
        ("X-Sort-Keys", "a, b"),
        ("X-Keys", "created-at-and-then-name, 2026-11-22T10:20:30"),
        ("X-Cache-Keys", "a0123456789abcdef0123456789"),
        ("X-Total-Tokens", "prompt=12345678901234567890"),
        ("X-Any", "/a?ticket=1234&session_id=17&sessionId=a"),
        ("Surrogate-Keys", "a b"),
        ("Content-Type", "multipart/form-data; boundary=a"),
        ("Accept", "text/html;q=0.9, */*;q=0.8"),
        ("X-Any", "/a/b?keys=a,b&max_tokens=17&sort_keys=1&tokens=17&next=%2Fa%3Fmax_tokens%3D17"),
        ("X-Any", "me@a.example, b=c; d=e"),
        ("User-Agent", "a/1.2 (b; https://a.example/?page=2)"),
    ],
)
def test_headers_that_hold_none_are_kept_as_they_are(name: str, value: str) -> None:
    draft = Draft(wire="llm", kind="request", head=Head(method="POST", headers=((name, value),)))
    redactor = Redactor()
    assert draft.head is not None
    redactor.learn(draft.head)
    assert redactor.draft(draft) is draft
    assert redactor.text(f"{name}: {value}") == f"{name}: {value}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Referer", f"https://a/?api_key={KEY}"),
        ("X-Target-Url", f"https://u:{KEY}@a/"),
        ("X-Target-Url", f"/?next=https%3A%2F%2Fa%2F%3Ftoken%3D{KEY}"),
        ("X-OpenAI-Keys", f"a, {KEY}"),
        ("X-Api-Keys", f"first-0123456789,{KEY}"),
        ("X-Api-Keys", f"{KEY},second-0123456789"),
    ],
)
def test_what_a_requests_header_tells_in_a_url_or_a_list_is_known_where_it_is_said_again(name: str, value: str) -> None:
    redactor = Redactor()
    redactor.learn(Head(method="POST", headers=((name, value),)))
    assert KEY not in redactor.text(f"your key {KEY} is wrong")


def test_what_stands_in_a_url_encoded_is_known_decoded() -> None:
    redactor = Redactor()
    redactor.learn(Head(method="GET", url="https://a/?next=https%3A%2F%2Fb%2F%3Fkey%3Dp%252F1234567%252B8"))
    assert redactor.text("p/1234567+8") == "⟨secret:key⟩"


SERVER = '{"tools":[{"type":"mcp","server_url":"https://a/","headers":%s}]}'
FILE = '--B\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n%s\n%s\n\r\n--B--\r\n'


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        (
            SERVER % '[{"name":"Authorization","value":"Bearer p-1"}]',
            SERVER % '[{"name":"Authorization","value":"Bearer ⟨secret:Authorization⟩"}]',
        ),
        (
            SERVER % '[ {"value" : "p-1", "key": "X-Team"} ]',
            SERVER % '[ {"value" : "⟨secret:X-Team⟩", "key": "X-Team"} ]',
        ),
        (
            SERVER % '{"Authorization":["Bearer p-1","p-2"],"X-Team":"p-3"}',
            SERVER
            % '{"Authorization":["Bearer ⟨secret:Authorization⟩","⟨secret:Authorization⟩"],"X-Team":"⟨secret:X-Team⟩"}',
        ),
        (SERVER % '{"X-Team":["p-1"]}', SERVER % '{"X-Team":["⟨secret:X-Team⟩"]}'),
        (
            '{"extra_headers":{"X-Api-Key":"p-1","X-A":"b"}}',
            '{"extra_headers":{"X-Api-Key":"⟨secret:X-Api-Key⟩","X-A":"b"}}',
        ),
        (
            '{"privateKey":"p-1","private_key":"p-2"}',
            '{"privateKey":"⟨secret:privateKey⟩","private_key":"⟨secret:private_key⟩"}',
        ),
        (
            '{"url":"https://a/?u=https%3A%2F%2Fu%3Ap-1%40b&key=c@d:e"}',
            '{"url": "https://a/?u=https%3A%2F%2F⟨secret:userinfo⟩%40b&key=⟨secret:key⟩"}',
        ),
        (
            '--B\r\nContent-Disposition: form-data; name="api_key"\r\n\r\np-1\r\n--B--\r\n',
            '--B\r\nContent-Disposition: form-data; name="api_key"\r\n\r\n⟨secret:api_key⟩\r\n--B--\r\n',
        ),
        (
            FILE
            % (
                '{"type":"mcp","authorization":"p-1","headers":{"Cookie":"p-2"}}',
                '{"api_key":"p-3","a":"https://p-4@b"}',
            ),
            FILE
            % (
                '{"type":"mcp","authorization":"⟨secret:authorization⟩","headers":{"Cookie":"⟨secret:Cookie⟩"}}',
                '{"api_key":"⟨secret:api_key⟩","a":"https://⟨secret:userinfo⟩@b"}',
            ),
        ),
    ],
)
def test_a_request_to_a_model_is_kept_without_keys_in_whatever_form(body: str, kept: str) -> None:
    found = without_keys(body.encode(), lambda _name, _value: None)[0].decode()
    assert found.replace('": "https', '":"https') == kept.replace('": "https', '":"https')


@pytest.mark.parametrize(
    "body",
    [
        '{"tools":[{"function":{"parameters":{"properties":{"headers":{"type":"array"},"keys":["a","b"]}}}}]}',
        '{"headers":[{"name":"X-Team","value":"blue"},{"name":"Accept","value":"a/b"}],"max_tokens":17,"keys":["a"]}',
        '{"headers":{"Accept":["a/b"]},"api_keys":17,"stop_tokens":["a"]}',
        '--B\r\nContent-Disposition: form-data; name="file"; filename="api_key"\r\n\r\nwords\r\n--B--\r\n',
        '--B\r\nContent-Disposition: form-data; name="key"\r\n\r\nwords\r\n--B--\r\n',
    ],
)
def test_what_a_request_to_a_model_says_beside_is_kept(body: str) -> None:
    assert without_keys(body.encode(), lambda _name, _value: None) == (body.encode(), ())


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "part",
    [
        b'"headers":[',
        b'"headers":["a",',
        b'"headers":{"a":[',
        b'"headers":[{"',
        b'"headers":[\\"',
        b'"headers":{\\"',
        b'{"a":["\\"',
        b'"https://a/%3D',
    ],
)
def test_a_long_body_with_what_looks_like_headers_is_looked_at_in_no_time(part: bytes) -> None:
    body = b"{" + part * (300_000 // len(part))
    assert without_keys(body, lambda _name, _value: None) == (body, ())


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("begin", "part", "end"), [(b'"headers":{', b'"a":[\\"', b'"}'), (b'"headers":[', b'{\\"', b'"]')]
)
def test_long_headers_whose_brackets_stand_in_texts_are_looked_at_in_no_time(
    begin: bytes, part: bytes, end: bytes
) -> None:
    body = begin + part * (300_000 // len(part)) + end
    assert without_keys(body, lambda _name, _value: None) == (body, ())


@pytest.mark.exhaustive
def test_a_long_url_in_a_text_that_goes_on_behind_it_is_looked_at_in_no_time() -> None:
    body = b'{"text":"https://a.example/' + b"%20" * 100_000 + b' b"}'
    assert without_keys(body, lambda _name, _value: None) == (body, ())


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


@pytest.mark.exhaustive
@pytest.mark.parametrize("line", [b"name=a\n", b"name=a\n\n", b"name=a\n\nx\n"])
def test_what_is_like_a_login_in_parts_is_read_in_one_go(line: bytes) -> None:
    """As often as there is such a line, a megabyte was read."""
    body = b"--X\n" + line * ((1 << 20) // len(line))
    assert without_tokens(body, lambda _name, _value: None) == (body, ())
