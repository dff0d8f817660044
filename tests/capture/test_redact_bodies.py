"""Keys in requests to models are known by their names; what is said, and what tools are called with, stays."""

from __future__ import annotations

import json

import pytest

from tui_host.capture.redact.body_fields import Learn
from tui_host.capture.redact.by_place import without_keys
from tui_host.capture.redact.login_bodies import without_tokens
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
    ],
)
def test_words_schemas_and_arguments_of_tools_stay(body: str) -> None:
    assert without_keys(body.encode(), ignore) == (body.encode(), ())


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
    plain = rb'{"p\u0061th":"a"}'
    assert without_keys(plain, ignore) == (plain, ())


def asked(**beside: object) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}], **beside}).encode()


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


CALL = {"type": "tool_use", "id": "toolu_01A09q90qw90lq917835lq9", "name": "get", "input": {"key": KEY, "token": KEY}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_01A09q90qw90lq917835lq9", "content": [{"key": KEY}]}
SCHEMA = {"type": "object", "properties": {"key": {"type": "string", "examples": [{"key": KEY}]}}, "required": ["key"]}


@pytest.mark.parametrize(
    "beside",
    [
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
    ],
)
def test_what_is_said_and_what_tools_are_called_with_is_kept_as_it_is(beside: dict[str, object]) -> None:
    body = asked(**beside)
    learned, learn = learning()
    assert without_keys(body, learn) == (body, ())
    assert not learned


def test_the_call_of_a_tool_and_its_settings_stay_where_a_key_stands_beside_them() -> None:
    body = asked(messages=[{"role": "assistant", "content": [CALL]}], metadata={"token": KEY.upper()})
    found = json.loads(without_keys(body, ignore)[0])
    assert found["messages"][0]["content"] == [CALL]
    assert found["metadata"] == {"token": "⟨secret:token⟩"}


@pytest.mark.parametrize(
    "body", [{"jsonrpc": "2.0", "params": {"key": KEY}, "model": "m"}, {"key": KEY}, [{"key": KEY}]]
)
def test_what_is_no_request_to_a_model_is_kept_as_it_is(body: JSON) -> None:
    data = json.dumps(body).encode()
    assert without_keys(data, ignore) == (data, ())


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
