"""Credentials by names that sound like one: in headers, behind query keys, and in the settings of a request to a model."""

from __future__ import annotations

import json

import pytest

from tui_host.capture.record import Draft, Head
from tui_host.capture.redact.by_place import without_keys
from tui_host.capture.redact.redaction import Redactor

KEY = "sk-0a1b2c3d4e5f60718293"
IN_HEX = "sk-" + "350909dabeaf44db" + "480a04986d23d211"
UUID = "550e8400-e29b-41d4-a716-446655440000"
JWT = "eyJhbGciOiJFUzI1NiIsInR5cCI6ImRwb3Arand0In0.eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIn0.2oW9"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Access", KEY),
        ("X-License", KEY),
        ("X-Subscription", KEY),
        ("X-Custom", f"Basic {KEY}"),
        ("X-Pw", "p-1"),
        ("X-Cred", "p-1"),
        ("X-Stainless-Key", "p-1"),
    ],
)
def test_a_header_with_a_key_in_it_is_kept_without_it_and_the_key_is_known(name: str, value: str) -> None:
    redactor = Redactor()
    head = Head(method="POST", headers=((name, value),))
    redactor.learn(head)
    draft = redactor.draft(Draft(wire="llm", kind="request", head=head))
    assert draft.head is not None
    assert draft.head.headers[0][1] == f"{'Basic ' * value.startswith('Basic')}⟨secret:{name.lower()}⟩"
    assert KEY not in redactor.text(f"your key {value} is wrong")


@pytest.mark.parametrize(("name", "value"), [("X-OTP", "123456"), ("DPoP", JWT)])
def test_what_stands_in_a_header_for_one_request_is_not_kept_and_not_sought(name: str, value: str) -> None:
    redactor = Redactor()
    head = Head(method="POST", headers=((name, value),))
    redactor.learn(head)
    draft = redactor.draft(Draft(wire="llm", kind="request", head=head))
    assert draft.head == Head(method="POST", headers=((name, f"⟨secret:{name.lower()}⟩"),))
    assert redactor.text(value) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Anthropic-Dangerous-Direct-Browser-Access", "true"),
        ("Access-Control-Allow-Headers", "X-Access, X-Api-Key"),
        ("Access-Control-Max-Age", "86400"),
        ("X-Access", "read-and-write-2024-11-22-v2"),
        ("X-License", "Apache-2.0"),
        ("X-Subscription", "free-plan-of-2024"),
        ("X-GitHub-OTP", "required; app"),
        ("DPoP-Nonce", "a0b1c2d3e4f5g6h7i8"),
        ("X-Request-Id", "550e8400-e29b-41d4-a716-446655440000"),
        ("X-Stainless-Lang", "python"),
        ("X-Prompt-Tokens", "17"),
        ("X-Cache-Key", KEY),
        ("OpenAI-Organization", "org-a0b1c2d3e4f5g6h7i8"),
        ("X-Plan", "Basic course-of-2024-in-17-parts"),
    ],
)
def test_a_header_that_tells_no_key_is_kept_as_it_is(name: str, value: str) -> None:
    redactor = Redactor()
    head = Head(method="POST", headers=((name, value),))
    redactor.learn(head)
    draft = Draft(wire="llm", kind="request", head=head)
    assert redactor.draft(draft) is draft
    assert redactor.text(value) == value


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("pw=p-1", "pw=⟨secret:pw⟩"),
        (f"k={KEY}&n=5", "k=⟨secret:k⟩&n=5"),
        (f"session={KEY}", "session=⟨secret:session⟩"),
        (f"a=b;access={KEY}", "a=b;access=⟨secret:access⟩"),
        ("k=40&session=research-of-november", "k=40&session=research-of-november"),
        ("k=how-to-bake-4-cakes-in-2-days&access=offline", "k=how-to-bake-4-cakes-in-2-days&access=offline"),
        ("max_tokens=17&cache_key=a0b1c2d3e4f5g6h7i8", "max_tokens=17&cache_key=a0b1c2d3e4f5g6h7i8"),
        (f"request_id={KEY}&model=gpt-4o-2024-08-06", f"request_id={KEY}&model=gpt-4o-2024-08-06"),
    ],
)
def test_a_query_is_kept_without_the_keys_in_it(query: str, kept: str) -> None:
    head = Head(method="GET", url=f"https://a.example/v1?{query}")
    found = Redactor().draft(Draft(wire="llm", kind="request", head=head)).head
    assert found is not None
    assert found.url == f"https://a.example/v1?{kept}"


def test_a_session_behind_a_query_key_is_not_sought() -> None:
    redactor = Redactor()
    redactor.learn(Head(method="GET", url=f"https://a.example/v1?session={KEY}"))
    assert redactor.text(KEY) == KEY


def asked(**beside: object) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}], **beside}).encode()


@pytest.mark.parametrize(
    ("beside", "kept"),
    [
        ({"user_api_key": KEY}, {"user_api_key": "⟨secret:user_api_key⟩"}),
        ({"openaiApiKey": "local-1"}, {"openaiApiKey": "⟨secret:openaiApiKey⟩"}),
        ({"db_password": "correcthorse"}, {"db_password": "⟨secret:db_password⟩"}),
        ({"extra_body": {"key": KEY, "n": 5}}, {"extra_body": {"key": "⟨secret:key⟩", "n": 5}}),
        ({"metadata": {"token": KEY}}, {"metadata": {"token": "⟨secret:token⟩"}}),
        ({"extra_body": {"key": IN_HEX}}, {"extra_body": {"key": "⟨secret:key⟩"}}),
        ({"a": [{"b": {"pw": KEY}}]}, {"a": [{"b": {"pw": "⟨secret:pw⟩"}}]}),
        ({"metadata": {"ark_api_key": UUID}}, {"metadata": {"ark_api_key": "⟨secret:ark_api_key⟩"}}),
        ({"vertex_credentials": '{"a": 1}'}, {"vertex_credentials": "⟨secret:vertex_credentials⟩"}),
    ],
)
def test_the_settings_of_a_request_to_a_model_are_kept_without_keys(
    beside: dict[str, object], kept: dict[str, object]
) -> None:
    learned: list[str] = []
    found = without_keys(asked(**beside), lambda _name, value: learned.append(value))[0]
    assert json.loads(found) == json.loads(asked(**kept))
    assert learned
    assert without_keys(found, lambda _name, _value: None) == (found, ())


CALL = {"type": "tool_use", "id": "toolu_01A09q90qw90lq917835lq9", "name": "get", "input": {"key": KEY, "token": KEY}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_01A09q90qw90lq917835lq9", "content": [{"key": KEY}]}
SCHEMA = {"type": "object", "properties": {"key": {"type": "string", "examples": [{"key": KEY}]}}, "required": ["key"]}


@pytest.mark.parametrize(
    "beside",
    [
        {"messages": [{"role": "assistant", "content": [CALL]}, {"role": "user", "content": [RESULT]}]},
        {"messages": [{"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": KEY}]}]},
        {"contents": [{"parts": [{"functionCall": {"name": "get", "args": {"key": KEY}}, "thoughtSignature": KEY}]}]},
        {"input": [{"type": "function_call", "call_id": "call_1", "arguments": {"access": KEY, "key": KEY}}]},
        {"tools": [{"name": "get", "input_schema": SCHEMA}]},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
        {"prompt_cache_key": KEY, "cache_key": KEY, "session_id": KEY, "max_tokens": 17},
        {"metadata": {"user_id": KEY, "session_id": KEY, "key": "PROJ-17", "cache_key": KEY, "token": "yes"}},
        {"metadata": {"object_key": "reports/2024-11-22/v2/summary-17.txt", "token_type": KEY}},
        {"vertex_credentials": "/home/me/vertex-17.json", "app_password": "$PASSWORD"},
        {"metadata": dict.fromkeys(("thread_key", "user_key", "object_key", "trace_token", "key", "token"), UUID)},
        {
            "metadata": dict.fromkeys(
                ("thread_key", "request_key", "eos_token", "signature", "user_account_key"), KEY[3:]
            )
        },
        {"metadata": {"key": UUID.replace("-", ""), "token": f"thread-{UUID}", "pw": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}},
        {"metadata": {"key": "uploads/v2/p1/q3/s4/image1.png", "token": "report1-v2-p3-x4-final-of-2024.pdf"}},
        {"metadata": {"reset_password": "not allowed in this form", "user_password": "此处不允许修改密码"}},
        {"metadata": {"reset_password": "https://a.example/reset-17"}},
        {"chat_history": [{"tool_calls": [{"name": "get", "parameters": {"token": KEY, "user_api_key": KEY}}]}]},
        {"tool_results": [{"call": {"parameters": {"token": KEY}}, "outputs": [{"key": KEY}]}]},
        {"output": [{"key": KEY}], "parameters": {"token": KEY}},
        {"usage": {"include": True}, "max_output_tokens": "17", "stop_token": "<|end|>", "session": KEY},
    ],
)
def test_what_is_said_and_what_tools_are_called_with_is_kept_as_it_is(beside: dict[str, object]) -> None:
    body = asked(**beside)
    learned: list[str] = []
    assert without_keys(body, lambda _name, value: learned.append(value)) == (body, ())
    assert not learned


def test_the_call_of_a_tool_and_its_settings_stay_where_a_key_stands_beside_them() -> None:
    body = asked(messages=[{"role": "assistant", "content": [CALL]}], metadata={"token": KEY.upper()})
    found = json.loads(without_keys(body, lambda _name, _value: None)[0])
    assert found["messages"][0]["content"] == [CALL]
    assert found["metadata"] == {"token": "⟨secret:token⟩"}


@pytest.mark.parametrize(
    "body", [{"jsonrpc": "2.0", "params": {"key": KEY}, "model": "m"}, {"key": KEY}, [{"key": KEY}]]
)
def test_what_is_no_request_to_a_model_is_kept_as_it_is(body: object) -> None:
    data = json.dumps(body).encode()
    assert without_keys(data, lambda _name, _value: None) == (data, ())


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", [b'"key":"', b'"key":"a",', b'"key":"\\"', b'"key":{"a":[', b'"' + b"k" * 90])
def test_a_long_body_with_names_of_keys_is_looked_at_in_no_time(part: bytes) -> None:
    body = b'{"model":"m",' + part * (300_000 // len(part))
    assert without_keys(body, lambda _name, _value: None) == (body, ())
