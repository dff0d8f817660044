"""The demo model in protocols of plain text: it reads the tools from the prompt, and writes and reads calls as the prompt says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.demo.hosts import CHERRY, CLINE, ENVIRONMENT, HERMES, HOSTS, REACT, Host, speak
from tests.demo.played import BUNDLED
from tui_host.demo.model.plan import Plan
from tui_host.demo.model.protocols.listed_tools import inner, offered_in
from tui_host.demo.model.protocols.respond import grammar_of, respond
from tui_host.demo.model.request_content import AssistantSaid, Conversation, SystemSaid, Tool, UserSaid

_EACH = pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
_SEVERAL = (CHERRY, HERMES)


def _always(text: str) -> Callable[[str, str], str]:
    def told(name: str, arguments: str) -> str:
        return text

    return told


def _answer(host: Host, *said: str) -> Plan:
    """What follows what was said in turn by the person and the model."""
    turns = [UserSaid(text=text) if place % 2 == 0 else AssistantSaid(text=text) for place, text in enumerate(said)]
    return respond(Conversation(messages=(SystemSaid(text=host.prompt), *turns)))


@_EACH
def test_the_tools_are_read_from_the_prompt(host: Host) -> None:
    grammar = grammar_of(Conversation(messages=(SystemSaid(text=host.prompt),)))
    assert grammar is not None
    tools = {tool.name: tool for tool in grammar.tools(host.prompt) if not tool.is_of_host}
    assert list(tools) == list(BUNDLED)
    assert dict(tools["math__add"].types) == {"a": "number", "b": "number"}
    assert tools["math__add"].required == ("a", "b")
    assert dict(tools["weather__get_forecast"].types) == {"city": "string"}
    assert dict(tools["orders__list_orders"].types) == {}
    assert tools["math__add"].description.startswith(BUNDLED["math__add"].description.split(".")[0])


@_EACH
def test_a_turn_of_several_steps_goes_through_the_text_alone(host: Host) -> None:
    turn = speak(host, "what is (6 × 5 + 7) / 2?")
    assert [[name for name, _ in calls] for calls in turn.asked] == [
        ["math__multiply"],
        ["math__add"],
        ["math__divide"],
    ]
    assert "**18.5**" in turn.final


@_EACH
def test_only_where_the_protocol_allows_it_several_calls_are_in_one_answer(host: Host) -> None:
    turn = speak(host, "weather in Paris and Tokyo")
    assert [len(calls) for calls in turn.asked] == ([2] if host in _SEVERAL else [1, 1])
    assert "17 °C" in turn.final
    assert "21 °C" in turn.final


@_EACH
def test_a_call_named_by_the_person_goes_out_with_its_very_arguments(host: Host) -> None:
    turn = speak(host, 'call weather.get_forecast {"city": "a < b && \\"c\\" </arguments>"}', told=_always("fine"))
    assert turn.asked[0][0][0] == "weather__get_forecast"
    assert "answered `fine`" in turn.final


@_EACH
def test_a_failed_and_a_denied_call_are_told(host: Host) -> None:
    assert "failed" in speak(host, 'call math.divide {"a": 1, "b": 0}').final
    denied = speak(host, "where is order 1042?", told=_always("The user denied this operation. Reason: not now"))
    assert "You rejected `orders__get_order` (reason: not now)" in denied.final


@_EACH
def test_a_malformed_call_is_mended_when_the_host_says_so_and_never_if_it_is_to_stay(host: Host) -> None:
    question = host.around('malformed call math.add {"a": 1, "b": 2}')
    first = _answer(host, question)
    assert '{"a": 1, "b": 2,}' in first.text
    correction = "The arguments are not valid JSON (line 1, column 17). Nothing was run."
    second = _answer(host, question, first.text, correction)
    assert host.calls(second.text)[0][0] == "math__add"
    told = host.results([("math__add", "3")])
    assert "answered `3`" in host.final(_answer(host, question, first.text, correction, second.text, told).text)
    always = host.around('always malformed call math.add {"a": 1, "b": 2}')
    assert '{"a": 1, "b": 2,}' in _answer(host, always, first.text, correction, first.text, correction).text


@_EACH
def test_an_unclosed_call_lacks_its_end(host: Host) -> None:
    text = _answer(host, host.around('unclosed call math.add {"a": 1, "b": 2}')).text
    assert text.endswith('{"a": 1, "b": 2')


@_EACH
def test_a_result_is_invented_after_the_call(host: Host) -> None:
    text = _answer(host, host.around('invented call math.add {"a": 1, "b": 2}')).text
    assert host.results([("math__add", "42")]).split("\n")[0].partition(" ")[0] in text
    assert "The result is 42." in text


@_EACH
def test_a_call_in_prose_or_among_other_lines_of_a_fence_is_none(host: Host) -> None:
    for order in ("prose", "fenced"):
        text = _answer(host, host.around(f'{order} call math.add {{"a": 1, "b": 2}}')).text
        # What is only mentioned is no call to the model either, when it reads its own words again.
        again = _answer(host, host.around("hello"), text, host.around("what is 1 + 1?"))
        assert host.calls(again.text)
    assert "```" in text


@_EACH
def test_a_call_can_be_wrapped_in_a_fence_or_said_twice(host: Host) -> None:
    wrapped = _answer(host, host.around('wrapped call math.add {"a": 1, "b": 2}')).text
    assert wrapped.startswith("```")
    assert wrapped.endswith("\n```")
    told = host.results([("math__add", "3")])
    answer = _answer(host, host.around('wrapped call math.add {"a": 1, "b": 2}'), wrapped, told)
    assert "answered `3`" in host.final(answer.text)
    twice = _answer(host, host.around('double call math.add {"a": 1, "b": 2}')).text
    call = _answer(host, host.around('call math.add {"a": 1, "b": 2}')).text.strip().splitlines()[-1]
    assert [line.strip() for line in twice.splitlines()].count(call) == 2


def test_cline_thinks_in_tags_and_ends_with_a_completion() -> None:
    turn = speak(CLINE, "what is 2 + 3?")
    assert turn.plans[0].text.startswith("<thinking>\n")
    assert turn.plans[0].thinking == ""
    assert turn.plans[-1].text.endswith("</result>\n</attempt_completion>")
    by_option = speak(CLINE, "what is 2 + 3?", thinking="always")
    assert by_option.plans[0].thinking
    assert "<thinking>" not in by_option.plans[0].text


def test_cline_asks_the_person_and_takes_the_answer() -> None:
    question = CLINE.around("ask me Which city? Paris | Tokyo")
    first = _answer(CLINE, question).text
    assert inner(first, "question") == "Which city?"
    assert inner(first, "options") == '["Paris", "Tokyo"]'
    told = f"[ask_followup_question for 'Which city?'] Result:\n<answer>\nTokyo\n</answer>\n{ENVIRONMENT}"
    assert "You answered: Tokyo" in _answer(CLINE, question, first, told).text
    assert "- Paris" in _answer(REACT, "问我 哪个城市？ Paris | Tokyo").text


def test_cline_reads_a_resource() -> None:
    question = CLINE.around("read resource weather weather://stations")
    cline = replace(CLINE, given_prompt=f"{CLINE.prompt}\n<access_mcp_resource>")
    first = _answer(cline, question).text
    block = inner(first, "access_mcp_resource")
    assert (inner(block, "server_name"), inner(block, "uri")) == ("weather", "weather://stations")
    told = "[access_mcp_resource for 'weather'] Result:\nthree stations"
    assert "answered `three stations`" in _answer(cline, question, first, told).text
    assert "no way to read" in _answer(REACT, "read resource weather weather://stations").text


def test_a_denied_call_of_cline_comes_with_the_feedback() -> None:
    question = CLINE.around("what is 2 + 3?")
    told = f"The user denied this operation.\n<feedback>\nnot today\n</feedback>\n{ENVIRONMENT}"
    text = _answer(CLINE, question, _answer(CLINE, question).text, told).text
    assert "You rejected `math__add` (reason: not today)" in text


def test_a_new_question_after_a_stopped_turn_is_a_question() -> None:
    for host in HOSTS:
        first = _answer(host, host.around("what is 2 + 3?")).text
        text = _answer(host, host.around("what is 2 + 3?"), first, host.around("weather in Paris")).text
        assert host.calls(text)[0][0] == "weather__get_forecast"


def test_with_tools_of_the_api_a_prompt_that_speaks_of_tags_means_nothing() -> None:
    tools = (Tool(name="math__add", description="", types={"a": "number", "b": "number"}, required=("a", "b")),)
    messages = (SystemSaid(text=CLINE.prompt), UserSaid(text="what is 2 + 3?"))
    assert [call.name for call in respond(Conversation(messages=messages, tools=tools)).calls] == ["math__add"]


@pytest.mark.parametrize(
    "listed",
    [
        "- `math__add` (adds two numbers)\n  Parameters:\n  - `a` (number, required)\n  - `b` (number, required)\n\n- Wait.",
        "### math__add\nAdds.\n\nParameters:\n- a: number, required\n- b: number, required\n\n### What else\nNothing.",
        '1. math__add: adds. {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}',
        "math__add(a: number, b: number): adds",
        "工具：math__add\n描述：相加\n参数：\n- a（number，必填）：加数\n- b（number，必填）：加数",
    ],
)
def test_tools_are_found_however_a_template_lists_them(listed: str) -> None:
    (tool,) = offered_in(f"You may use tools.\n\n{listed}\n")
    assert (tool.name, dict(tool.types), tool.required) == ("math__add", {"a": "number", "b": "number"}, ("a", "b"))


@_EACH
def test_a_question_in_the_message_that_tells_of_a_stopped_turn_is_found(host: Host) -> None:
    question = host.around("what is 2 + 3?")
    first = _answer(host, question).text
    stopped = "No result: the turn was stopped before this call had ended."
    told = host.results([(name, stopped) for name, _ in host.calls(first)]).replace(ENVIRONMENT, "").rstrip()
    text = _answer(host, question, first, f"{told}\n\nweather in Paris").text
    assert host.calls(text)[0][0] == "weather__get_forecast"


@_EACH
def test_errors_and_empty_answers_come_as_they_are_in_any_protocol(host: Host) -> None:
    assert _answer(host, host.around("error stream")).trouble
    assert _answer(host, host.around("error empty")).text == ""
