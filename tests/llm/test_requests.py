"""What each dialect writes: a row says what is asked, and what stands in the body for it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import pytest

from tests.llm.recorded.asks import MULTIPLY, answered, assistant, result, told, user
from tests.llm.recorded.case import MODEL, PROVIDER, TIME, WEATHER, fold_of
from tests.llm.recorded.every import EVERY
from tui_host.errors import JSON
from tui_host.llm.dialects.anthropic import MOST_TOKENS, MOST_TOKENS_THINKING
from tui_host.llm.dialects.openai import ECHOED
from tui_host.llm.dialects.table import DIALECTS, dialect
from tui_host.llm.messages import Ask, Image, Message, Text, Thinking, ToolCall, ToolSpec
from tui_host.llm.model_request import model_request
from tui_host.llm.outgoing import Outgoing, Target
from tui_host.settings.environment_references import Secret
from tui_host.settings.model_options import SETTABLE, Options, value_of, with_value
from tui_host.settings.schema import Provider, Template


def outgoing(name: str, *messages: Message, service: str = "", **more: object) -> Outgoing:
    ask = Ask(**({"model": MODEL, "messages": messages or (user("x"),)} | more))  # pyright: ignore[reportArgumentType] - shorthand
    return dialect(name).write(ask, Target(provider=PROVIDER, service=service))


def body_of(name: str, *messages: Message, service: str = "", **more: object) -> dict[str, JSON]:
    value: dict[str, JSON] = json.loads(outgoing(name, *messages, service=service, **more).body)
    return value


def sent(name: str, *messages: Message, service: str = "", **more: object) -> list[dict[str, JSON]]:
    """The conversation as it is sent."""
    request = outgoing(name, *messages, service=service, **more)
    return json.loads(request.body)[request.growing]


def thinks(config: JSON) -> Mapping[str, JSON]:
    return {"generationConfig": {"thinkingConfig": config}}


ADAPTIVE: JSON = {"type": "adaptive", "display": "summarized"}
AUTO: Mapping[str, JSON] = {"include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"}}
CHOICE = Options(temperature=0.0, top_p=0.5, seed=3)
OPTIONS: Sequence[tuple[str, str, str, Options, Mapping[str, JSON]]] = [
    ("openai", "", "m", CHOICE, {"temperature": 0.0, "top_p": 0.5, "seed": 3, "random_seed": None}),
    ("openai", "mistral", "m", CHOICE, {"random_seed": 3, "seed": None}),
    ("openai", "openai", "m", Options(max_tokens=9), {"max_completion_tokens": 9, "max_tokens": None}),
    ("openai", "", "m", Options(max_tokens=9, stop=tuple("abcdef")), {"max_tokens": 9, "stop": [*"abcd"]}),
    ("openai-responses", "", "gpt-4.1-mini", Options(), {"include": None, "reasoning": None, "store": False}),
    ("openai-responses", "", "gpt-5.2", Options(), AUTO),
    ("openai-responses", "", "o4-mini", Options(reasoning_effort="low"), {"reasoning": {"effort": "low", "summary": "auto"}}),
    ("openai-responses", "", "gpt-5", Options(reasoning_effort="off"), {"reasoning": {"effort": "none", "summary": "auto"}}),
    ("openai-responses", "", "m", replace(CHOICE, max_tokens=9, stop=("a",), others={"verbosity": "low"}),
     {"max_output_tokens": 9, "max_tokens": None, "top_p": 0.5, "seed": None, "stop": None, "verbosity": "low"}),
    ("anthropic", "", "m", CHOICE, {"temperature": 0.0, "top_p": 0.5, "seed": None, "max_tokens": MOST_TOKENS, "thinking": None}),
    ("anthropic", "anthropic", "m", CHOICE, {"temperature": None, "top_p": None}),
    ("anthropic", "", "m", Options(reasoning_effort="none"), {"max_tokens": MOST_TOKENS, "thinking": {"type": "disabled"}}),
    ("anthropic", "", "m", Options(reasoning_effort="max"),
     {"max_tokens": MOST_TOKENS_THINKING, "thinking": ADAPTIVE, "output_config": {"effort": "max"}}),
    ("anthropic", "", "m", Options(reasoning_effort="max", max_tokens=5), {"max_tokens": 5}),
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
    ("ollama", "", "m", Options(), {"options": None, "think": None, "truncate": False, "shift": False, "stream": True}),
    ("ollama", "", "m", Options(others={"truncate": True}), {"truncate": True}),
    ("ollama", "", "m", Options(reasoning_effort="off"), {"think": False}),
    ("ollama", "", "m", Options(reasoning_effort="true"), {"think": True}),
    ("ollama", "", "m", Options(reasoning_effort="high"), {"think": "high"}),
    ("ollama", "", "m", Options(temperature=0.0, max_tokens=9, stop=("x",), others={"num_ctx": 7, "keep_alive": "5m"}),
     {"options": {"temperature": 0.0, "num_predict": 9, "stop": ["x"], "num_ctx": 7}, "keep_alive": "5m"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "service", "model", "options", "members"), OPTIONS)
def test_options_are_written_as_the_vendor_and_the_model_take_them(
    name: str, service: str, model: str, options: Options, members: Mapping[str, JSON]
) -> None:
    body = body_of(name, service=service, model=model, options=options)

    assert {key: body.get(key) for key in members} == members


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
    assert dialect(name).write(Ask(model=model, messages=(user("x"),)), target).url == url
    assert dialect(name).headers(Secret("KEY", "k"), target) == headers
    assert dialect(name).headers(None, target) == headers[1:]


EVERY_OPTION = Options(temperature=0.1, top_p=0.2, max_tokens=9, reasoning_effort="low", seed=1, stop=tuple("abcdef"))
UNSENT = {"openai": {"stop"}, "openai-responses": {"seed", "stop"}, "anthropic": {"seed"}, "gemini": {"stop"}}


def asked_of(name: str, service: str, options: Options) -> Outgoing:
    base = Template(text="http://127.0.0.1:9/v1", literal=True)
    provider = Provider(name=service, dialect=name, base_url=base, allow_http=True)
    return model_request(provider, Ask(model="gemini-2.5-pro", messages=(), options=options), {})


@pytest.mark.parametrize("name", DIALECTS)
def test_an_option_that_is_not_sent_is_told_and_the_others_stand_in_for_every_key_they_are_written_under(
    name: str,
) -> None:
    assert set(asked_of(name, "p", EVERY_OPTION).unsent) == UNSENT.get(name, set())
    for service, option in product(("p", "openai", "mistral", "anthropic"), set(SETTABLE) - {"extra_body"}):
        one = with_value(Options(), option, value_of(EVERY_OPTION, option))
        for *outer, inner in _keys(asked_of(name, service, one)) - _keys(asked_of(name, service, Options())):
            below: dict[str, JSON] = {outer[0]: {inner: 0}} if outer else {inner: 0}
            left: dict[str, JSON] = {outer[0]: {}} if outer else {}
            assert one.over(Options(extra_body=below)).extra_body == left, (service, option)


def _keys(request: Outgoing) -> set[tuple[str, ...]]:
    """The keys of a body, with those that lead to them where vendors keep options."""
    body = json.loads(request.body)
    inner = {(outer, key) for outer in ("generationConfig", "options") for key in body.pop(outer, {})}
    return {(key,) for key in body} | inner


def test_what_the_session_says_in_extra_body_wins_over_what_the_provider_names() -> None:
    base = Template(text="http://127.0.0.1:9/v1", literal=True)
    provider = Provider(name="p", base_url=base, options=Options(temperature=0.9), allow_http=True)
    ask = Ask(model="m", messages=(), options=Options(extra_body={"temperature": 0.1}))

    assert json.loads(model_request(provider, ask, {}).body)["temperature"] == 0.1


# Conversations


def test_mistral_gets_ids_of_nine_letters_and_digits_and_no_user_behind_results() -> None:
    twins = [replace(MULTIPLY, id=f"twin {number}") for number in range(12)]
    fit = ToolCall(id="t9", wire_id="aB3dE6gH9", name="math__add", arguments="{}")
    calls, picture = [*twins, fit], Image(media_type="image/png", data="QUJD")
    results = told(*(result(call, Text(text="30"), picture) for call in calls))

    _, asked, *back = sent("openai", user("q"), assistant(*calls), results, service="mistral")

    assert isinstance(asked["tool_calls"], list)
    ids = [call["id"] for call in asked["tool_calls"] if isinstance(call, dict)]
    assert ids == [message["tool_call_id"] for message in back]
    assert len(set(ids)) == len(calls)
    assert all(re.fullmatch("[A-Za-z0-9]{9}", str(each)) for each in ids)
    assert ids[-1] == fit.wire_id
    assert [message["role"] for message in back] == ["tool"] * len(calls)
    assert back[0]["content"] == "30\n(an image, image/png, which cannot be shown to you)"


def test_thinking_goes_back_to_services_of_chat_where_it_is_demanded_once_there_are_calls() -> None:
    ours = Thinking(text="hm", provider=PROVIDER, model=MODEL, echo=ECHOED)
    talk = (user("x"), assistant(ours, Text(text="a")))

    before = sent("openai", *talk)
    after = sent("openai", *talk, user("y"), assistant(MULTIPLY), told(result(MULTIPLY, Text(text="30"))))

    assert ECHOED not in before[1]
    assert [after[1][ECHOED], after[3][ECHOED]] == ["hm", ""]


def test_anthropic_gets_no_blank_texts_for_it_refuses_them() -> None:
    call = ToolCall(id="t1c0", wire_id="toolu_1", name="t", arguments='{"a":1}')
    talk = (
        user("x"),
        assistant(Text(text=" \n"), call),
        told(result(call, Text(text=""))),
        assistant(Text(text="")),
        user("y"),
    )

    content = [message["content"] for message in sent("anthropic", *talk)]

    assert content == [
        [{"type": "text", "text": "x"}],
        [{"type": "tool_use", "id": "toolu_1", "name": "t", "input": {"a": 1}}],
        [{"type": "tool_result", "tool_use_id": "toolu_1"}],
        [{"type": "text", "text": "y"}],
    ]


@pytest.mark.parametrize(
    ("model", "signed"), [("gemini-3-pro", True), ("gemini-flash-latest", True), ("gemini-2.5-pro", False)]
)
def test_calls_that_others_made_are_signed_for_gemini_as_it_wants_it(model: str, *, signed: bool) -> None:
    calls = [ToolCall(id=f"t{n}", wire_id=f"call_{n}", name="f", arguments="{}") for n in (1, 2)]

    parts = sent("gemini", user("x"), assistant(*calls), model=model)[1]["parts"]

    assert isinstance(parts, list)
    dummy = "skip_thought_signature_validator" if signed else None
    assert [part.get("thoughtSignature") for part in parts if isinstance(part, dict)] == [dummy, None]


def test_ids_go_back_to_ollama_where_they_came_and_are_not_made_up_where_none_came() -> None:
    for case, ids in (
        (EVERY["ollama"].parallel, ["call_abc", "call_def"]),
        (EVERY["ollama"].odd["no ids"], [None, None]),
    ):
        answer = fold_of("ollama", case.body).message(turn=1)
        _, asking, *results = sent("ollama", user("x"), answer, answered(answer))
        calls = asking["tool_calls"]
        assert isinstance(calls, list)
        assert [call.get("id") for call in calls if isinstance(call, dict)] == ids
        assert [message.get("tool_call_id") for message in results] == ids
        assert [message["tool_name"] for message in results] == [WEATHER[0], TIME[0]]


def test_thinking_goes_back_to_ollama_within_the_turn_that_it_belongs_to_and_no_further() -> None:
    hm = Thinking(text="hm", provider=PROVIDER, model=MODEL)
    step, results = assistant(hm, MULTIPLY), told(result(MULTIPLY, Text(text="1")))
    note = Message(role="user", parts=(Text(text="[stopped]"),), source="host")

    running = sent("ollama", user("x"), step, results, step, results, note)
    after = sent("ollama", user("x"), step, results, assistant(hm, Text(text="so")), user("y"))

    assert [message.get("thinking") for message in running] == [None, "hm", None, "hm", None, None]
    assert [message.get("thinking") for message in after] == [None] * 5


@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic", "gemini", "ollama"])
def test_a_vendors_own_tool_in_the_extra_body_stands_behind_the_offered_ones(name: str) -> None:
    search: JSON = {"type": "web_search"}
    tool = ToolSpec(name="a__b", description="", schema={}, server="a", tool="b")
    alone = body_of(name, tools=(tool,))["tools"]

    assert isinstance(alone, list)
    assert body_of(name, tools=(tool,), extra=(("tools", [search]),))["tools"] == [*alone, search]
    assert body_of(name, extra=(("tools", [search]),))["tools"] == [search]
