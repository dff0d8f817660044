"""Keys and logins are known by their names and forms; what is said, and what tools are called with, stays."""

from __future__ import annotations

import json

import pytest

from tui_host.capture.record import Record
from tui_host.capture.redact.body_fields import Learn
from tui_host.capture.redact.by_place import without_keys
from tui_host.capture.redact.login_bodies import without_tokens
from tui_host.capture.redact.login_exchanges import (
    LIMIT,
    AnswerStream,
    BodyBuffer,
    is_login,
    tells_token,
    without_credentials,
)
from tui_host.capture.redact.redaction import Redactor
from tui_host.errors import JSON

KEY = "sk-0a1b2c3d4e5f60718293"
IN_HEX = "sk-" + "350909dabeaf44db" + "480a04986d23d211"
UUID = "550e8400-e29b-41d4-a716-446655440000"


def ignore(_name: str, _value: str) -> None:
    """Nothing is learned."""


def learning() -> tuple[list[str], Learn]:
    learned: list[str] = []
    return learned, lambda _name, value: learned.append(value)


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "apiKey",
        "X-API-Key",
        "client_secret",
        "password",
        "refresh_token",
        "private_key",
        "connection_string",
    ],
)
@pytest.mark.parametrize("spaces", [None, 2])
def test_a_key_in_a_request_to_a_model_is_taken_out_and_the_json_stays_json(name: str, spaces: int | None) -> None:
    body = json.dumps({"a": 1, name: 'se"c\\ret', "b": [2]}, indent=spaces).encode()

    kept, (found,) = without_keys(body, ignore)

    assert json.loads(kept) == {"a": 1, name: f"⟨secret:{name}⟩", "b": [2]}
    assert (found.where, found.name, found.length) == ("data", name, len(r"se\"c\\ret"))
    assert without_keys(kept, ignore) == (kept, ())


def of_server(headers: str) -> str:
    return '{"tools":[{"type":"mcp","authorization":"%s","server_url":"https://a/","headers":' + headers + "}]}"


FILE = '--B\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n%s\n\r\n--B--\r\n'
PART = '--B\r\nContent-Disposition: form-data; name="api_key"\r\n\r\n%s\r\n--B--\r\n'


@pytest.mark.parametrize(
    ("body", "secrets"),
    [
        (of_server('{"X-Team":"%s","Authorization":"Bearer %s"}'), "authorization X-Team Authorization"),
        (of_server('{"Authorization":["Bearer %s","%s"]}'), "authorization Authorization Authorization"),
        (of_server('[{"name":"Authorization","value":"Bearer %s"}]'), "authorization Authorization"),
        (of_server('[ {"value" : "%s", "key": "X-Team"} ]'), "authorization X-Team"),
        ('{"tools":[{"mcpServers":[{"transport":{"url":"https://a/","headers":{"a":"%s"}}}]}]}', "a"),
        ('{"messages":[{"input":{"url":"https://a/","headers":{"a":"b","X-Key":"%s"}}}]}', "X-Key"),
        ('{"extra_headers":{"X-Api-Key":"%s","X-A":"b"}}', "X-Api-Key"),
        ('{"data_sources":[{"authentication":{"type":"api_key","key":"%s"},"top_n_documents":5}]}', "key"),
        ('{"tools":[{"server_url":"https://%s@a.example/mcp?a=b&api_key=%s"}]}', "userinfo api_key"),
        ('{"url":"https://a/?u=https%%3A%%2F%%2F%s%%40b&key=%s"}', "userinfo key"),
        (PART, "api_key"),
        (FILE % '{"type":"mcp","authorization":"%s","a":"https://%s@b"}', "authorization userinfo"),
    ],
)
def test_what_opens_somebodys_door_is_taken_out_of_a_request_to_a_model(body: str, secrets: str) -> None:
    names = secrets.split()
    learned, learn = learning()
    values = [f"u:p-{number}" if name == "userinfo" else f"p-{number}" for number, name in enumerate(names)]
    kept, found = without_keys((body % tuple(values)).encode(), learn)
    assert kept.decode().replace('": "', '":"') == (body % tuple(f"⟨secret:{name}⟩" for name in names)).replace(
        '": "', '":"'
    )
    assert sorted(learned) == sorted(value.removeprefix("u:") for value in values)
    assert sorted(entry.name for entry in found) == sorted(names)


def asked(**beside: object) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}], **beside}).encode()


CALL = {"type": "tool_use", "id": "toolu_01A09q90qw90lq917835lq9", "name": "get", "input": {"key": KEY, "token": KEY}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_01A09q90qw90lq917835lq9", "content": [{"key": KEY}]}
SCHEMA = {"type": "object", "properties": {"key": {"type": "string", "examples": [{"key": KEY}]}}, "required": ["key"]}


@pytest.mark.parametrize(
    "body",
    [
        '{"tools":[{"function":{"parameters":{"properties":{"headers":{"type":"array"},"keys":["a","b"]}}}}]}',
        '{"headers":[{"name":"X-Team","value":"blue"}],"api_keys":17,"stop_tokens":["a"],"authorization":7}',
        '{"headers":{"accept":["*/*"],"idempotency-key":"a"},"password":"","api_key":null}',
        '{"properties":{"password":{"type":"string"},"api_key":{"type":"string"}},"required":["password"]}',
        '{"arguments":"{\\"password\\":\\"a\\",\\"api_key\\":\\"b\\"}","logprobs":[{"token":"word"}]}',
        '{"max_tokens":5,"token":"a","secret":"b","key":"c","code":"d","signature":"c2lnbmVk"}',
        '{"text":"see https://a.example/?key=b, it is open","url":"https://a.example/@me"}',
        PART.replace('name="api_key"', 'name="file"; filename="api_key"') % "words",
        '{"headers":[{"headers":{"a":["b","headers":["',
        r'{"p\u0061th":"a"}',
        {"messages": [{"role": "assistant", "content": [CALL]}, {"role": "user", "content": [RESULT]}]},
        {"contents": [{"parts": [{"functionCall": {"name": "get", "args": {"key": KEY}}, "thoughtSignature": KEY}]}]},
        {"input": [{"type": "function_call", "call_id": "call_1", "arguments": {"access": KEY, "key": KEY}}]},
        {"tools": [{"name": "get", "input_schema": SCHEMA}]},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
        {"prompt_cache_key": KEY, "cache_key": KEY, "session_id": KEY, "max_tokens": 17},
        {"metadata": {"user_id": KEY, "key": "PROJ-17", "token": "yes", "token_type": KEY}},
        {"metadata": {"object_key": "reports/2024-11-22/v2/summary-17.txt", "signature": KEY[3:]}},
        {"metadata": dict.fromkeys(("thread_key", "user_key", "trace_token", "key", "token"), UUID)},
        {"metadata": {"key": UUID.replace("-", ""), "token": f"thread-{UUID}", "pw": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}},
        {"metadata": {"key": "uploads/v2/p1/q3/s4/image1.png", "user_account_key": KEY[3:]}},
        {"metadata": {"reset_password": "not allowed in this form", "user_password": "此处不允许修改密码"}},
        {"metadata": {"reset_password": "https://a.example/reset-17"}, "app_password": "$PASSWORD"},
        {"tool_results": [{"call": {"parameters": {"token": KEY}}, "outputs": [{"key": KEY}]}]},
        json.dumps({"jsonrpc": "2.0", "params": {"key": KEY}, "model": "m"}),
        json.dumps({"key": KEY}),
        json.dumps([{"key": KEY}]),
    ],
)
def test_what_is_said_schemas_and_what_tools_are_called_with_stay(body: str | dict[str, object]) -> None:
    data = body.encode() if isinstance(body, str) else asked(**body)
    learned, learn = learning()
    assert without_keys(data, learn) == (data, ())
    assert not learned


def test_a_name_that_is_written_with_escapes_is_one_all_the_same() -> None:
    learned, learn = learning()
    server = rb'{"type":"mcp","server_url":"https://a/","headers":{"Auth\u006frization":"Bearer b-1","X\u002dA":"c-1"}}'
    body = rb'{"api\u005fkey":"a-1","t\u0065xt":"d","tools":[%s]}' % server
    kept, found = without_keys(body, learn)
    assert "a-1" in learned
    assert not [each for each in (b"a-1", b"b-1") if each in kept]
    assert json.loads(kept)["text"] == "d"
    assert rb'"t\u0065xt"' in kept
    assert len(found) >= 2


@pytest.mark.parametrize(
    ("beside", "kept"),
    [
        ({"user_api_key": KEY}, {"user_api_key": "⟨secret:user_api_key⟩"}),
        ({"db_password": "correcthorse"}, {"db_password": "⟨secret:db_password⟩"}),
        ({"extra_body": {"key": KEY, "n": 5}}, {"extra_body": {"key": "⟨secret:key⟩", "n": 5}}),
        ({"extra_body": {"key": IN_HEX}}, {"extra_body": {"key": "⟨secret:key⟩"}}),
        ({"a": [{"b": {"pw": KEY}}]}, {"a": [{"b": {"pw": "⟨secret:pw⟩"}}]}),
        ({"metadata": {"ark_api_key": UUID}}, {"metadata": {"ark_api_key": "⟨secret:ark_api_key⟩"}}),
        ({"vertex_credentials": '{"a": 1}'}, {"vertex_credentials": "⟨secret:vertex_credentials⟩"}),
        (
            {"contents": [CALL], "metadata": {"token": KEY.upper()}},
            {"contents": [CALL], "metadata": {"token": "⟨secret:token⟩"}},
        ),
    ],
)
def test_the_settings_of_a_request_to_a_model_are_kept_without_keys(
    beside: dict[str, object], kept: dict[str, object]
) -> None:
    learned, learn = learning()
    found = without_keys(asked(**beside), learn)[0]
    assert json.loads(found) == json.loads(asked(**kept))
    assert learned
    assert without_keys(found, ignore) == (found, ())


SIZES = (500, pytest.param(500_000, marks=pytest.mark.exhaustive))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("begin", "part", "end"),
    [
        (b"{", b'"headers":[', b""),
        (b"{", b'"headers":{"a":[', b""),
        (b"{", b'"headers":[{"', b""),
        (b"{", b'"headers":{\\"', b""),
        (b"{", b'"https://a/%3D', b""),
        (b'{"text":"https://a.example/', b"%20", b' b"}'),
        (b'"headers":{', b'"a":[\\"', b'"}'),
        (b'"headers":[', b'{\\"', b'"]'),
        (b'{"model":"m",', b'"key":"', b""),
        (b'{"model":"m",', b'"key":{"a":[', b""),
        (b'{"model":"m",', b'"' + b"k" * 90, b""),
    ],
)
def test_a_long_request_is_looked_at_in_linear_time(begin: bytes, part: bytes, end: bytes, size: int) -> None:
    body = begin + part * (size // len(part)) + end
    assert without_keys(body, ignore) == (body, ())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "part",
    [b"a;b=", b"\n", b"[", b"<a ", b"<password>", b"<![CDATA[", b'<a b="', b'"a":1', b'"otp":[', b"name=a\n\nx\n"],
)
@pytest.mark.parametrize("begin", [b"a=", b"{", b"<", b"--X\n"])
def test_a_long_login_is_looked_at_in_linear_time(begin: bytes, part: bytes, size: int) -> None:
    without_tokens(begin + part * (size // len(part)), ignore)


# Logins in whatever form


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("user[password]=p-1&user[name]=a", "user[password]=⟨secret:user_password_⟩&user[name]=a"),
        ("a[password][]=p-1&a[otp][0]=p-2", "a[password][]=⟨secret:a_password___⟩&a[otp][0]=⟨secret:a_otp__0_⟩"),
        ("a=b;password=p-1;p;c=d", "a=b;password=⟨secret:password⟩;c=d"),
        ("username=me\r\npassword=p-1\r\na=b", "username=me\r\npassword=⟨secret:password⟩\r\na=b"),
        ("totp=p-1&pin=p-2&mfa_code=p-3&mfaCode=p-4", "totp=⟨secret:totp⟩&pin=⟨secret:pin⟩&mfa_code=⟨secret:mfa_code⟩&mfaCode=⟨secret:mfaCode⟩"),
        ('{"keys":[{"kid":"a"}],"secrets":["p-1"]}', '{"keys":[{"kid":"a"}],"secrets":["⟨secret:secrets⟩"]}'),
        ('{"code":123456,"password":7}', '{"code":"⟨secret:code⟩","password":"⟨secret:password⟩"}'),
        ("<a><user>me</user><password>p-1</password></a>", "<a><user>me</user><password>⟨secret:password⟩</password></a>"),
        ('<w:Password Type="x">p-1</w:Password>', '<w:Password Type="x">⟨secret:Password⟩</w:Password>'),
        ("<password><![CDATA[p-1]]></password>", "<password><![CDATA[⟨secret:password⟩]]></password>"),
        ('<login user="me" password="p-1"/>', '<login user="me" password="⟨secret:password⟩"/>'),
        ('<input value="p-1" type="hidden" name="id_token">', '<input value="⟨secret:id_token⟩" type="hidden" name="id_token">'),
        ('<a href="http://a/cb?code=p-1&amp;b=c">x</a>', '<a href="http://a/cb?code=⟨secret:code⟩&amp;b=c">x</a>'),
        ("page[size]=1&filter[status_code]=2&user[name]=a;b&max_tokens=5", ""),
        ('{"code":40001,"status_code":123456,"scopes":["a"],"expires_in":3600,"error_code":"otpx"}', ""),
        ('<form action="/x?a=b" method=post><input name="user" value="me"><input type="password" name="p"></form>', ""),
    ],
)  # fmt: skip
def test_a_login_in_any_form_is_kept_without_its_secrets(body: str, kept: str) -> None:
    found, redacted = without_tokens(body.encode(), ignore)
    assert found.decode() == (kept or body)
    assert len(redacted) == kept.count("⟨secret:")
    assert without_tokens(found, ignore) == (found, ())


TOLD: list[JSON] = [
    {"access_token": "at-1", "token_type": "Bearer", "expires_in": 3600},
    {"user": {"name": "me"}, "session": {"accessToken": "at-1"}},
    {"token": "eyJhbGciOi.JIUzI1NiJ9", "user": {"id": 1}},
]
WITH_KEYS: dict[str, JSON] = {"access_token": "at-1", "api_key": "sk-0123456789abcdef"}
SAID: list[JSON] = [
    {"choices": [{"message": {"tool_calls": [{"function": {"arguments": json.dumps(WITH_KEYS)}}]}}]},
    {"type": "message", "content": [{"type": "tool_use", "input": WITH_KEYS}], "usage": {"input_tokens": 1}},
    {"candidates": [{"content": {"parts": [{"functionCall": {"args": WITH_KEYS}, "thoughtSignature": "a" * 40}]}}]},
    {
        "model": "m",
        "message": {"content": "", "tool_calls": [{"function": {"arguments": WITH_KEYS}}]},
        "done": False,
    },
    {"output": [], "metadata": {"trace_key": "conversation-2026-01"}, "prompt": {"variables": {"token": "a word"}}},
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
    assert without_credentials(Record(wire="llm", kind="chunk", data=body), ignore).data == kept


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("size", [1, 10_000])
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
    given: JSON = {
        "primary_key": "customer_account_id",
        "code": "print('hi')",
        "pin": "GPIO17_OUTPUT",
        **WITH_KEYS,
    }
    result: JSON = {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": given}}
    data = json.dumps(result, indent=indent).encode()
    learned: list[str] = []
    draft = Record(wire="mcp", kind="chunk", data=data)
    assert without_credentials(draft, lambda _name, value: learned.append(value)) is draft
    assert not learned


BIG = b'{"a":"' + b"b" * LIMIT


@pytest.mark.parametrize(
    "begin", [b"d", b"[{", b": a\n\n", b"<think>abc", b"\x1f\x8b", b"event: a\ndata: {", BIG], ids=len
)
def test_what_begins_like_no_answer_of_a_login_or_is_too_large_for_one_goes_on_at_once(begin: bytes) -> None:
    stream = AnswerStream(Redactor())
    assert [stream.feed(begin), stream.feed(b"c")] == [(begin, ()), (b"c", ())]


def test_an_imported_answer_that_is_too_large_for_one_of_a_login_stays() -> None:
    whole = Record(wire="llm", kind="chunk", data=BIG + b'","access_token":"at-1"}')
    assert without_credentials(whole, ignore) is whole


def test_a_page_that_sends_a_browser_on_with_a_code_is_kept_without_it() -> None:
    page = b'<!DOCTYPE html><form method="post" action="x"><input type="hidden" name="code" value="c-1"/></form>'
    stream = AnswerStream(Redactor())
    assert [stream.feed(page[at : at + 1])[0] for at in range(len(page))] == [b""] * len(page)
    assert stream.flush()[0] == page.replace(b"c-1", "⟨secret:code⟩".encode())


@pytest.mark.parametrize(
    ("path", "asked", "is_one"),
    [
        ("/api/auth/exchange", {"grant_type": "authorization_code"}, True),
        ("/api/auth/exchange", {"refreshToken": "a"}, True),
        ("/api/auth/exchange", {"code": "a", "code_verifier": "b"}, True),
        ("/api/auth/exchange", {"model": "m", "messages": [], "api_key": "a"}, False),
        ("/api/auth/exchange", {"jsonrpc": "2.0", "method": "a", "password": "b"}, False),
        ("/api/auth/exchange", {"key": "theme", "value": "dark"}, False),
        ("/api/auth/exchange", {"code": "print('hello')", "language": "python"}, False),
        ("/oauth/token", {}, True),
        ("/login/", {}, True),
        ("/m:countTokens", {}, False),
        ("/oauth/v1/x", {}, False),
        ("/v1/sessions", {}, False),
    ],
)
def test_a_login_is_known_by_its_path_or_by_what_is_asked(path: str, asked: JSON, *, is_one: bool) -> None:
    assert is_login(path.encode(), b"application/json", json.dumps(asked).encode()) is is_one


LONG = "ek_0123456789abcdef"


@pytest.mark.parametrize(
    ("path", "answer", "learned"),
    [
        ("/v1/realtime/client_secrets", {"value": LONG, "session": {"type": "realtime"}}, [LONG]),
        ("/api/v1/keys", {"data": {"name": "a", "hash": "h", "limit": 1}, "key": "sk-or-1"}, ["sk-or-1"]),
        ("/key/generate", {"key": "k-1", "token": "t-1", "key_alias": "a", "token_type": "b"}, ["k-1", "t-1"]),
        ("/x/service_accounts", {"api_key": {"value": LONG, "name": "a", "id": "key_1"}}, [LONG]),
        ("/accounts/a/listKeys", {"key1": "k-1", "key2": "k-2"}, ["k-1", "k-2"]),
        ("/v1alpha/auth_tokens", {"name": "auth_tokens/0123456789"}, ["auth_tokens/0123456789"]),
        ("/oauth/token", {"access_token": "a", "id_token": "b", "scope": "s", "expires_in": 1}, ["a", "b"]),
        ("/register", {"client_id": "c", "client_secret": "d", "token_endpoint_auth_method": "none"}, ["d"]),
    ],
)
def test_an_answer_that_makes_a_key_is_kept_without_it(path: str, answer: JSON, learned: list[str]) -> None:
    assert is_login(path.encode(), b"application/json", b"{}")
    found: list[str] = []
    kept = without_tokens(json.dumps(answer).encode(), lambda _name, value: found.append(value))[0].decode()
    assert found == learned
    assert kept.count("secret:") == len(learned)
    assert not [value for value in learned if f'"{value}"' in kept]


def test_a_login_in_parts_is_kept_without_its_secrets() -> None:
    part = b'--X\r\nContent-Disposition: form-data; name="%s"\r\nContent-Type: text/plain\r\n\r\n%s\r\n'
    pem = b"-----BEGIN KEY-----\r\nMII-1\r\n-----END KEY-----\r\n"
    body = part % (b"client_secret", b"a-1") + part % (b"scope", b"all") + part % (b"private_key", pem)
    kept = body.replace(b"a-1", "⟨secret:client_secret⟩".encode()).replace(pem, "⟨secret:private_key⟩".encode())
    learned: list[str] = []
    assert without_tokens(body + b"--X--\r\n", lambda _, value: learned.append(value.strip()))[0] == kept + b"--X--\r\n"
    assert learned == ["a-1", pem.decode().strip()]
    cut_off = without_tokens(body[:-30], ignore)[0]
    assert cut_off == kept.removesuffix(b"\r\n")


def test_what_is_handed_about_around_a_login_is_not_kept_and_what_says_of_what_kind_it_is_stays() -> None:
    secret = [
        "token",
        "id_token_hint",
        "user_code",
        "device_code",
        "registration_client_uri",
        "registration_access_token",
    ]
    secret += ["verification_uri_complete", "subject_token", "logout_token", "pre-authorized_code", "tx_code", "ticket"]
    words = ["token_type_hint", "subject_token_type", "code_challenge", "login_hint", "verification_uri", "expires_in"]
    told = dict.fromkeys((*secret, *words), "abc")
    kept = {**{name: f"⟨secret:{name}⟩" for name in secret}, **dict.fromkeys(words, "abc")}
    form = "&".join(f"{name}={value}" for name, value in told.items()).encode()

    assert without_tokens(form, ignore)[0].decode() == "&".join(f"{name}={value}" for name, value in kept.items())
    assert json.loads(without_tokens(json.dumps(told).encode(), ignore)[0]) == kept


def test_a_body_is_held_to_its_end_and_one_that_is_too_large_goes_on_whole() -> None:
    small, large = BodyBuffer(), BodyBuffer()
    assert [small.feed(b"a" * (LIMIT - 1)), small.feed(b"b")] == [b"", b""]
    assert small.finish() == b"a" * (LIMIT - 1) + b"b"
    assert [large.feed(b"a" * LIMIT), large.feed(b"b"), large.feed(b"c")] == [b"", b"a" * LIMIT + b"b", b"c"]
    assert large.finish() == b""
