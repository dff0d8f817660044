"""What each dialect writes: a row says what is asked, and what stands in the body for it."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import pytest

from tests.kit.bodies import DONE, chunk
from tests.llm.recorded.asks import MULTIPLY, assistant, result, told, user
from tests.llm.recorded.case import MODEL, PROVIDER, fold_of
from tui_host.capture.json.narrowing import items, mapping
from tui_host.errors import JSON
from tui_host.llm.dialects.anthropic import MOST_TOKENS, MOST_TOKENS_THINKING
from tui_host.llm.dialects.openai import ECHOED
from tui_host.llm.dialects.table import DIALECTS, dialect
from tui_host.llm.messages import Ask, Image, Message, Text, Thinking, ToolCall, ToolSpec
from tui_host.llm.model_request import credential_place, join, model_request, models_request
from tui_host.llm.outgoing import Outgoing, Target
from tui_host.llm.provider_keys import with_key
from tui_host.settings.environment_references import Secret
from tui_host.settings.model_options import SETTABLE, Options, options_of, value_of
from tui_host.settings.presets import PRESETS
from tui_host.settings.schema import Provider, Template
from tui_host.settings.urls import proxy_for


def outgoing(name: str, *messages: Message, service: str = "", **more: object) -> Outgoing:
    ask = Ask(**({"model": MODEL, "messages": messages or (user("x"),)} | more))  # pyright: ignore[reportArgumentType] - shorthand
    return dialect(name).writer(ask, Target(provider=PROVIDER, service=service)).outgoing()


def body_of(name: str, *messages: Message, service: str = "", **more: object) -> dict[str, JSON]:
    value: dict[str, JSON] = json.loads(outgoing(name, *messages, service=service, **more).body)
    return value


def sent(name: str, *messages: Message, service: str = "", **more: object) -> list[dict[str, JSON]]:
    request = outgoing(name, *messages, service=service, **more)
    return json.loads(request.body)[request.growing]


def thinks(config: JSON) -> Mapping[str, JSON]:
    return {"generationConfig": {"thinkingConfig": config}}


ADAPTIVE: JSON = {"type": "adaptive", "display": "summarized"}
AUTO: Mapping[str, JSON] = {"include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"}}
CHOICE = Options(temperature=0.0, top_p=0.5, seed=3)
OPTIONS: Sequence[tuple[str, str, str, Options, Mapping[str, JSON]]] = [
    ("openai", "mistral", "m", CHOICE, {"random_seed": 3, "seed": None}),
    ("openai", "openai", "m", Options(max_tokens=9), {"max_completion_tokens": 9, "max_tokens": None}),
    ("openai", "", "m", Options(max_tokens=9, stop=tuple("abcdef")), {"max_tokens": 9, "stop": [*"abcd"]}),
    ("openai-responses", "", "gpt-4.1-mini", Options(), {"include": None, "reasoning": None, "store": False}),
    ("openai-responses", "", "gpt-5.2", Options(), AUTO),
    ("openai-responses", "", "o4-mini", Options(reasoning_effort="low"), {"reasoning": {"effort": "low", "summary": "auto"}}),
    ("openai-responses", "", "gpt-5", Options(reasoning_effort="off"), {"reasoning": {"effort": "none", "summary": "auto"}}),
    ("anthropic", "", "m", CHOICE, {"temperature": 0.0, "top_p": 0.5, "seed": None, "max_tokens": MOST_TOKENS, "thinking": None}),
    ("anthropic", "anthropic", "m", CHOICE, {"temperature": None, "top_p": None}),
    ("anthropic", "", "m", Options(reasoning_effort="none"), {"max_tokens": MOST_TOKENS, "thinking": {"type": "disabled"}}),
    ("anthropic", "", "m", Options(reasoning_effort="max"),
     {"max_tokens": MOST_TOKENS_THINKING, "thinking": ADAPTIVE, "output_config": {"effort": "max"}}),
    ("anthropic", "", "m", Options(stop=("\n\n", "END")), {"stop_sequences": ["END"]}),
    ("anthropic", "", "m", Options(stop=("\n",)), {"stop_sequences": None}),
    ("gemini", "", "gemini-2.0-flash", Options(), {"generationConfig": None, "model": None}),
    ("gemini", "", "m", Options(temperature=0.5, others={"topK": 5, "labels": {}}),
     {"generationConfig": {"temperature": 0.5, "topK": 5}, "labels": {}}),
    ("gemini", "", "gemini-3.1-pro-preview", Options(), thinks({"includeThoughts": True})),
    ("gemini", "", "gemini-3-pro", Options(reasoning_effort="high"), thinks({"includeThoughts": True, "thinkingLevel": "HIGH"})),
    ("gemini", "", "gemini-3-pro", Options(reasoning_effort="none"), thinks({"includeThoughts": True, "thinkingLevel": "MINIMAL"})),
    ("gemini", "", "gemini-3-pro", Options(reasoning_effort="auto"), thinks({"includeThoughts": True})),
    ("gemini", "", "gemini-2.5-pro", Options(reasoning_effort="low"), thinks({"includeThoughts": True, "thinkingBudget": 1024})),
    ("gemini", "", "gemini-2.5-flash", Options(reasoning_effort="none"), thinks({"includeThoughts": False, "thinkingBudget": 0})),
    ("gemini", "", "gemini-2.5-flash", Options(reasoning_effort="2048"), thinks({"includeThoughts": True, "thinkingBudget": 2048})),
    ("gemini", "", "mine", Options(reasoning_effort="deep"), thinks({"includeThoughts": True, "thinkingLevel": "DEEP"})),
    ("ollama", "", "m", Options(others={"truncate": True}), {"truncate": True}),
    ("ollama", "", "m", Options(reasoning_effort="off"), {"think": False}),
    ("ollama", "", "m", Options(reasoning_effort="true"), {"think": True}),
    ("ollama", "", "m", Options(temperature=0.0, max_tokens=9, stop=("x",), others={"num_ctx": 7, "keep_alive": "5m"}),
     {"options": {"temperature": 0.0, "num_predict": 9, "stop": ["x"], "num_ctx": 7}, "keep_alive": "5m"}),
]  # fmt: skip


def test_options_are_written_as_the_vendor_and_the_model_take_them() -> None:
    for name, service, model, options, members in OPTIONS:
        body = body_of(name, service=service, model=model, options=options)
        assert {key: body.get(key) for key in members} == members, (name, model, options)


def test_what_the_person_adds_wins_and_the_conversation_is_found_in_the_bytes() -> None:
    messages = (user('é"\n\\' * 1000), user("half \ud800"))
    request = outgoing("openai", *messages, extra=(("top_k", 5),))
    own = outgoing("openai", *messages, extra=(("messages", list[JSON]()),))
    body = json.loads(request.body)
    assert (body["top_k"], body["messages"][1]["content"]) == (5, "half \ufffd")
    assert [json.loads(request.body[start:end]) for start, end in request.spans] == body["messages"]
    assert (json.loads(own.body)["messages"], own.growing, own.spans) == ([], "messages", ())


@pytest.mark.parametrize(
    ("name", "target", "model", "url", "headers"),
    [
        ("openai-responses", Target(provider="p", service="azure", api_version="preview"), "m",
         "responses?api-version=preview", (("api-key", "k"),)),
        ("openai-responses", Target(provider="p"), "m", "responses", (("Authorization", "Bearer k"),)),
        ("anthropic", Target(provider="p", service="anthropic"), "m", "messages",
         (("x-api-key", "k"), ("anthropic-version", "2026-10-21"))),
        ("anthropic", Target(provider="p", service="deepseek"), "m", "messages",
         (("x-api-key", "k"), ("anthropic-version", "2023-06-01"))),
        ("anthropic", Target(provider="p", api_version="2027-01-01"), "m", "messages",
         (("x-api-key", "k"), ("anthropic-version", "2027-01-01"))),
        ("gemini", Target(provider="p"), "models/g", "models/g:streamGenerateContent?alt=sse", (("x-goog-api-key", "k"),)),
        ("gemini", Target(provider="p"), "a b?c#d", "models/a%20b%3Fc%23d:streamGenerateContent?alt=sse",
         (("x-goog-api-key", "k"),)),
    ],
)  # fmt: skip
def test_where_a_request_goes_and_with_what(
    name: str, target: Target, model: str, url: str, headers: tuple[tuple[str, str], ...]
) -> None:
    assert dialect(name).writer(Ask(model=model, messages=(user("x"),)), target).outgoing().url == url
    assert dialect(name).headers(Secret("KEY", "k"), target) == headers
    assert dialect(name).headers(None, target) == headers[1:]


BASE = Template(text="https://a.example/v1")
EVERY_OPTION = Options(temperature=0.1, top_p=0.2, max_tokens=9, reasoning_effort="low", seed=1, stop=tuple("abcdef"))
UNSENT = {"openai": {"stop"}, "openai-responses": {"seed", "stop"}, "anthropic": {"seed"}, "gemini": {"stop"}}


def asked_of(name: str, service: str, options: Options, own: Options | None = None) -> Outgoing:
    provider = Provider(name=service, dialect=name, base_url=BASE, options=own or Options())
    return model_request(provider, Ask(model="gemini-2.5-pro", messages=(), options=options), {})


@pytest.mark.parametrize("name", DIALECTS)
def test_an_option_that_is_not_sent_is_told_and_the_others_stand_for_every_key_they_are_under(name: str) -> None:
    assert set(asked_of(name, "p", EVERY_OPTION).unsent) == UNSENT.get(name, set())
    raw = Options(extra_body={"temperature": 0.1})  # wins over what the provider names
    assert json.loads(asked_of(name, "p", raw, Options(temperature=0.9)).body)["temperature"] == 0.1
    for service, option in product(("p", "openai", "mistral", "anthropic"), set(SETTABLE) - {"extra_body"}):
        one = options_of({option: value_of(EVERY_OPTION, option)})
        for *outer, inner in _keys(asked_of(name, service, one)) - _keys(asked_of(name, service, Options())):
            below: dict[str, JSON] = {outer[0]: {inner: 0}} if outer else {inner: 0}
            left: dict[str, JSON] = {outer[0]: {}} if outer else {}
            assert one.over(Options(extra_body=below)).extra_body == left, (service, option)


def _keys(request: Outgoing) -> set[tuple[str, ...]]:
    """The keys of a body, with those that lead to them where vendors keep options."""
    body = json.loads(request.body)
    inner = {(outer, key) for outer in ("generationConfig", "options") for key in body.pop(outer, {})}
    return {(key,) for key in body} | inner


# Conversations


def test_mistral_gets_ids_of_nine_letters_and_digits_and_no_user_behind_results() -> None:
    twins = [replace(MULTIPLY, id=f"twin {number}") for number in range(12)]
    fit = ToolCall(id="t9", wire_id="aB3dE6gH9", name="math__add", arguments="{}")
    calls, picture = [*twins, fit], Image(media_type="image/png", data="QUJD")
    results = told(*(result(call, Text(text="30"), picture) for call in calls))
    _, asked, *back = sent("openai", user("q"), assistant(*calls), results, service="mistral")
    ids = [mapping(call)["id"] for call in items(asked["tool_calls"])]
    assert (ids, len(set(ids))) == ([message["tool_call_id"] for message in back], len(calls))
    assert all(re.fullmatch("[A-Za-z0-9]{9}", str(each)) for each in ids)
    assert ids[-1] == fit.wire_id
    assert [message["role"] for message in back] == ["tool"] * len(calls)
    assert back[0]["content"] == "30\n(an image, image/png, which cannot be shown to you)"


def test_thinking_goes_back_to_services_of_chat_where_it_is_demanded_once_there_are_calls() -> None:
    called = (user("y"), assistant(MULTIPLY), told(result(MULTIPLY, Text(text="30"))))
    for key, value, echoes in ((ECHOED, "hm", ["hm", ""]), (ECHOED, "", ["", ""]), ("reasoning", "hm", [None, None])):
        answer = fold_of("openai", chunk({key: value, "content": "a"}), chunk(finish="stop"), DONE).message(turn=1)
        before, after = sent("openai", user("x"), answer), sent("openai", user("x"), answer, *called)
        assert ECHOED not in before[1]
        assert [after[1].get(ECHOED), after[3].get(ECHOED)] == echoes


def test_anthropic_gets_no_blank_texts_for_it_refuses_them() -> None:
    call = ToolCall(id="t1c0", wire_id="toolu_1", name="t", arguments='{"a":1}')
    blank = Text(text=" \n")
    talk = (user("x"), assistant(blank, call), told(result(call, Text(text=""))), assistant(blank), user("y"))
    content = [message["content"] for message in sent("anthropic", *talk)]
    assert content == [
        [{"type": "text", "text": "x"}],
        [{"type": "tool_use", "id": "toolu_1", "name": "t", "input": {"a": 1}}],
        [{"type": "tool_result", "tool_use_id": "toolu_1"}, {"type": "text", "text": "y"}],
    ]


def test_calls_that_others_made_are_signed_for_gemini_as_it_wants_it() -> None:
    calls = [ToolCall(id=f"t{n}", wire_id=f"call_{n}", name="f", arguments="{}") for n in (1, 2)]
    dummy = "skip_thought_signature_validator"
    for model, signature in (("gemini-3-pro", dummy), ("gemini-flash-latest", dummy), ("gemini-2.5-pro", None)):
        parts = items(sent("gemini", user("x"), assistant(*calls), model=model)[1]["parts"])
        assert [mapping(part).get("thoughtSignature") for part in parts] == [signature, None]


def test_thinking_goes_back_to_ollama_within_the_turn_that_it_belongs_to_and_no_further() -> None:
    hm = Thinking(text="hm", provider=PROVIDER, model=MODEL)
    step, results = assistant(hm, MULTIPLY), told(result(MULTIPLY, Text(text="1")))
    note = Message(role="user", parts=(Text(text="[stopped]"),), source="host")
    running = sent("ollama", user("x"), step, results, step, results, note)
    after = sent("ollama", user("x"), step, results, assistant(hm, Text(text="so")), user("y"))
    assert [message.get("thinking") for message in running] == [None, "hm", None, "hm", None, None]
    assert [message.get("thinking") for message in after] == [None] * 5


@pytest.mark.parametrize("name", DIALECTS)
def test_a_vendors_own_tool_in_the_extra_body_stands_behind_the_offered_ones(name: str) -> None:
    search: JSON = {"type": "web_search"}
    tool = ToolSpec(name="a__b", description="", schema={}, server="a", tool="b")
    alone = items(body_of(name, tools=(tool,))["tools"])
    assert body_of(name, tools=(tool,), extra=(("tools", [search]),))["tools"] == [*alone, search]
    assert body_of(name, extra=(("tools", [search]),))["tools"] == [search]


ASK = Ask(model="m", messages=())


def test_a_path_is_joined_to_a_base_and_a_version_put_in_where_it_has_none() -> None:
    for base, versions, joined in (
        ("https://a.example/v1", (), "https://a.example/v1/models"),
        ("https://a.example/v1/", (), "https://a.example/v1/models"),
        ("https://a.example", (), "https://a.example/models"),
        ("https://a.example/v1?api-version=7#top", (), "https://a.example/v1/models?api-version=7"),
        ("https://h/", ("v1beta", "v1"), "https://h/v1beta/models"),
        ("https://h/v1", ("v1beta", "v1"), "https://h/v1/models"),
        ("https://h/proxy/v1beta", ("v1beta", "v1"), "https://h/proxy/v1beta/models"),
    ):
        assert join(base, "models", versions) == joined


def test_no_repr_of_a_request_shows_a_key_and_a_header_of_the_provider_s_own_stands_in_for_ours() -> None:
    key = Template(text="${MINE}")
    own = {"api-key": key, "authorization": Template(text="none")}
    base = Template(text="https://a.example/v1?key=${MINE}")
    ours, theirs = (
        model_request(Provider(name="mine", base_url=base, api_key=key, headers=headers), ASK, {"MINE": "canary-123"})
        for headers in ({"X": key}, own)
    )
    assert "canary" not in repr(ours)
    assert ours.origin == "https://a.example"
    assert {("Authorization", "Bearer canary-123"), ("X", "canary-123")} <= set(ours.headers)
    assert [value for name, value in theirs.headers if name.lower() == "authorization"] == ["none"]
    assert ("api-key", "canary-123") in theirs.headers


@pytest.mark.parametrize("name", PRESETS)
def test_a_key_of_the_keyring_is_sent_as_one_of_the_environment_is(name: str) -> None:
    provider = PRESETS[name]
    key = "k-${HOME}"  # whatever is in it
    environment = {"AZURE_OPENAI_RESOURCE": "mine", "HOME": "nowhere"}
    outgoing = model_request(with_key(provider, key), ASK, environment)
    listed = models_request(with_key(provider, key), environment)
    assert any(value.removeprefix("Bearer ") == key for _, value in outgoing.headers)
    assert outgoing.url.startswith(listed.url.partition("/models")[0].removesuffix("/tags"))
    assert outgoing.secret == Secret(f"{name}.api_key", key)
    assert (
        credential_place(with_key(provider, key)) == "the key in the system's keyring, which /model stores and forgets"
    )


def test_the_place_of_a_key_is_named() -> None:
    assert credential_place(Provider(name="a", base_url=BASE, api_key=BASE)) == "providers.a.api_key"
    assert credential_place(Provider(name="a", base_url=BASE, key_variable="K")) == "the environment variable K"
    assert credential_place(Provider(name="a", base_url=BASE)) == "providers.a.api_key, which is not set"


def test_the_proxy_is_chosen_as_the_environment_says() -> None:
    for url, environment, proxy in (
        ("https://a.example/v1", {"https_proxy": "http://q:1", "HTTPS_PROXY": "http://p:1"}, "http://q:1"),
        ("https://a.example/v1", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://a.example/v1", {"HTTP_PROXY": "p:1"}, "http://p:1"),
        ("https://a.example/v1", {"ALL_PROXY": "http://p:1"}, "http://p:1"),
        ("https://a.example/v1", {"ALL_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
        ("https://a.example/v1", {"ALL_PROXY": "http://p:1", "NO_PROXY": "b.example, example"}, None),
        ("https://a.example:8/v1", {"ALL_PROXY": "http://p:1", "no_proxy": "a.example:8"}, None),
        ("https://a.example:9/v1", {"ALL_PROXY": "http://p:1", "no_proxy": "a.example:8"}, "http://p:1"),
        ("https://10.1.2.3/v1", {"ALL_PROXY": "http://p:1", "no_proxy": "10.0.0.0/8"}, None),
        ("http://localhost:1/v1", {"ALL_PROXY": "http://p:1"}, None),
    ):
        assert proxy_for(url, environment) == proxy
