"""Logins in whatever form: names in brackets, lists, numbers, markup, and answers that hand out a token at any place."""

from __future__ import annotations

import json

import pytest

from tui_host.capture.record import Draft, Head
from tui_host.capture.redact.login_bodies import without_tokens
from tui_host.capture.redact.login_exchanges import LIMIT, AnswerStream, is_login, tells_token, without_credentials
from tui_host.capture.redact.redaction import Redactor
from tui_host.errors import JSON


def ignore(_name: str, _value: str) -> None:
    """Nothing is learned."""


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("user[password]=p-1&user[name]=a", "user[password]=⟨secret:user_password_⟩&user[name]=a"),
        ("session%5Bpassword%5D=p-1", "session%5Bpassword%5D=⟨secret:session_password_⟩"),
        ("a[password][]=p-1&a[otp][0]=p-2", "a[password][]=⟨secret:a_password___⟩&a[otp][0]=⟨secret:a_otp__0_⟩"),
        ("a=b;password=p-1;p;c=d", "a=b;password=⟨secret:password⟩;c=d"),
        ("password=p-1;b=p-2&a=b", "password=⟨secret:password⟩&a=b"),
        ("username=me\r\npassword=p-1\r\na=b", "username=me\r\npassword=⟨secret:password⟩\r\na=b"),
        ("totp=p-1&pin=p-2&mfa_code=p-3&mfaCode=p-4", "totp=⟨secret:totp⟩&pin=⟨secret:pin⟩&mfa_code=⟨secret:mfa_code⟩&mfaCode=⟨secret:mfaCode⟩"),
        ('{"password":["p-1","p-2"],"a":["b"]}', '{"password":["⟨secret:password⟩","⟨secret:password⟩"],"a":["b"]}'),
        ('{"keys":[{"kid":"a"}],"secrets":["p-1"]}', '{"keys":[{"kid":"a"}],"secrets":["⟨secret:secrets⟩"]}'),
        ('{"otp": 12345678, "code": 0}', '{"otp": "⟨secret:otp⟩", "code": 0}'),
        ('{"code":123456,"password":7}', '{"code":"⟨secret:code⟩","password":"⟨secret:password⟩"}'),
        ('{"user[password]":"p-1"}', '{"user[password]":"⟨secret:user_password_⟩"}'),
        ("<a><user>me</user><password>p-1</password></a>", "<a><user>me</user><password>⟨secret:password⟩</password></a>"),
        ('<w:Password Type="x">p-1</w:Password>', '<w:Password Type="x">⟨secret:Password⟩</w:Password>'),
        ("<password><![CDATA[p-1]]></password>", "<password><![CDATA[⟨secret:password⟩]]></password>"),
        ('<login user="me" password="p-1"/>', '<login user="me" password="⟨secret:password⟩"/>'),
        ("<input name='code' value='p-1'/><input name=a value=b>", "<input name='code' value='⟨secret:code⟩'/><input name=a value=b>"),
        ('<input value="p-1" type="hidden" name="id_token">', '<input value="⟨secret:id_token⟩" type="hidden" name="id_token">'),
        ('<a href="http://a/cb?code=p-1&amp;b=c">x</a>', '<a href="http://a/cb?code=⟨secret:code⟩&amp;b=c">x</a>'),
        (
            '--B\r\nContent-Disposition: form-data; name="user[password]"\r\n\r\np-1\r\n--B--\r\n',
            '--B\r\nContent-Disposition: form-data; name="user[password]"\r\n\r\n⟨secret:user_password_⟩\r\n--B--\r\n',
        ),
    ],
)  # fmt: skip
def test_a_login_in_any_form_is_kept_without_its_secrets(body: str, kept: str) -> None:
    found, redacted = without_tokens(body.encode(), ignore)
    assert found.decode() == kept
    assert len(redacted) == kept.count("⟨secret:")
    assert without_tokens(found, ignore) == (found, ())


@pytest.mark.parametrize(
    "body",
    [
        "page[size]=1&filter[status_code]=2&user[name]=a;b&max_tokens=5",
        '{"code":40001,"status_code":123456,"scopes":["a"],"expires_in":3600,"error_code":"otpx"}',
        '<form action="/x?a=b" method=post><input name="user" value="me"><input type="password" name="p"></form>',
    ],
)
def test_what_a_login_says_beside_is_kept(body: str) -> None:
    assert without_tokens(body.encode(), ignore) == (body.encode(), ())


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "part",
    [b"a;", b"a;b=", b"\n", b"[", b"<a ", b"<password>", b"<a b=", b"<![CDATA[", b'<a b="', b"a", b'"a":1', b'"otp":1', b'"otp":[', b'"otp":["'],
)  # fmt: skip
@pytest.mark.parametrize("begin", [b"a=", b"{", b"<"])
def test_a_long_login_is_looked_at_in_no_time(begin: bytes, part: bytes) -> None:
    body = begin + part * (LIMIT // len(part))
    without_tokens(body, ignore)


TOLD: list[JSON] = [
    {"access_token": "at-1", "token_type": "Bearer", "expires_in": 3600},
    {"accessToken": "at-1"},
    {"user": {"name": "me"}, "session": {"accessToken": "at-1"}},
    {"data": {"access_token": "at-1"}},
    {"token": "eyJhbGciOi.JIUzI1NiJ9", "user": {"id": 1}},
]
CALL: dict[str, JSON] = {"access_token": "at-1", "api_key": "sk-0123456789abcdef"}
SAID: list[JSON] = [
    {"choices": [{"message": {"tool_calls": [{"function": {"arguments": json.dumps(CALL)}}]}}]},
    {"type": "message", "content": [{"type": "tool_use", "input": CALL}], "usage": {"input_tokens": 1}},
    {"candidates": [{"content": {"parts": [{"functionCall": {"args": CALL}, "thoughtSignature": "a" * 40}]}}]},
    {"model": "m", "message": {"content": "", "tool_calls": [{"function": {"arguments": CALL}}]}, "done": False},
    {"output": [{"type": "function_call", "arguments": json.dumps(CALL)}], "max_output_tokens": 7},
    {
        "output": [],
        "metadata": {"trace_key": "conversation-2026-01"},
        "prompt": {"variables": {"token": "a word or more"}},
    },
    {"choices": [{"index": 0}], "metadata": {"access_token": "at-1", "code": "E1"}},
    {"bos_token": "<|begin_of_text|>", "eos_token": "</s>", "token": "word", "total_tokens": 5},
]


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("indent", [None, 1])
def test_an_answer_that_tells_a_token_by_way_of_objects_is_known_and_kept_without_it(
    told: JSON, indent: int | None
) -> None:
    body = json.dumps(told, indent=indent).encode() + b"\n"
    assert tells_token(body)
    stream = AnswerStream(Redactor())
    assert [stream.feed(body[at : at + 1]) for at in range(len(body))] == [(b"", ())] * len(body)
    kept, found = stream.flush()
    assert (len(found), b"at-1" in kept or b"eyJ" in kept) == (1, False)
    assert without_credentials(Draft(wire="llm", kind="chunk", data=body), ignore).data == kept


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_what_a_model_says_is_kept_and_its_streams_go_on_as_they_come(said: JSON, size: int) -> None:
    line = json.dumps(said).encode() + b"\n"
    stream = AnswerStream(Redactor())
    pieces = [line[at : at + size] for at in range(0, len(line), size)]
    assert b"".join(stream.feed(piece)[0] for piece in pieces) == line
    assert stream.feed(b'{"access_token": "of') == (b'{"access_token": "of', ())

    whole = AnswerStream(Redactor())
    assert (whole.feed(line[:-1]), whole.flush()) == ((b"", ()), (line[:-1], ()))


@pytest.mark.parametrize("indent", [None, 1])
def test_what_a_tool_gives_is_imported_as_it_is_whatever_it_is_called(indent: int | None) -> None:
    given: JSON = {"primary_key": "customer_account_id", "code": "print('hi')", "pin": "GPIO17_OUTPUT", **CALL}
    result: JSON = {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": given}}
    data = json.dumps(result, indent=indent).encode()
    learned: list[str] = []
    draft = Draft(wire="mcp", kind="chunk", data=data)
    assert without_credentials(draft, lambda _name, value: learned.append(value)) is draft
    assert not learned


@pytest.mark.parametrize("begin", [b"d", b"[{", b": a\n\n", b"<think>abc", b"\x1f\x8b", b"event: a\ndata: {"])
def test_what_begins_like_no_answer_of_a_login_goes_on_at_once(begin: bytes) -> None:
    assert AnswerStream(Redactor()).feed(begin) == (begin, ())


def test_an_answer_that_is_too_large_for_one_of_a_login_goes_on() -> None:
    stream = AnswerStream(Redactor())
    body = b'{"a":"' + b"b" * LIMIT
    assert stream.feed(body) == (body, ())
    assert stream.feed(b"c") == (b"c", ())
    whole = Draft(wire="llm", kind="chunk", data=body + b'","access_token":"at-1"}')
    assert without_credentials(whole, ignore) is whole


def test_a_page_that_sends_a_browser_on_with_a_code_is_kept_without_it() -> None:
    page = b'<!DOCTYPE html><form method="post" action="x"><input type="hidden" name="code" value="c-1"/></form>'
    stream = AnswerStream(Redactor())
    assert [stream.feed(page[at : at + 1])[0] for at in range(len(page))] == [b""] * len(page)
    assert stream.flush()[0] == page.replace(b"c-1", "⟨secret:code⟩".encode())


JSON_KIND = b"application/json"


@pytest.mark.parametrize(
    ("asked", "is_one"),
    [
        ({"grant_type": "authorization_code"}, True),
        ({"refreshToken": "a"}, True),
        ({"email": "a@b.example", "password": "a"}, True),
        ({"code": "a", "code_verifier": "b"}, True),
        ({"model": "m", "messages": [], "api_key": "a"}, False),
        ({"jsonrpc": "2.0", "method": "a", "password": "b"}, False),
        ({"key": "theme", "value": "dark"}, False),
        ({"code": "print('hello')", "language": "python"}, False),
        ({"code": "4/0AX4XfWh-a_b.c"}, True),
        ({"name": "llama", "stream": False}, False),
        ({"input": "a", "token": "b"}, False),
        ([{"password": "a"}], False),
    ],
)
def test_json_with_which_somebody_logs_in_is_one_at_any_place(asked: JSON, *, is_one: bool) -> None:
    assert is_login(b"/api/auth/exchange", JSON_KIND, json.dumps(asked).encode()) is is_one


def test_a_login_at_any_place_is_imported_without_its_code() -> None:
    head = Head(method="POST", url="https://a.example/api/exchange", headers=(("Content-Type", "application/json"),))
    body = b'{"grant_type":"authorization_code","code":"c-1","code_verifier":"v-1"}'
    kept = without_credentials(Draft(wire="llm", kind="request", head=head, data=body), ignore).data
    assert json.loads(kept) == {
        "grant_type": "authorization_code",
        "code": "⟨secret:code⟩",
        "code_verifier": "⟨secret:code_verifier⟩",
    }
