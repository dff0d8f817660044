"""What stands in the way of reading a call out of text: each case in whole and in deltas of one character, and some at random cuts."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.llm.protocols.answers import PLAIN, SUM, TOOLS, Reading, call, each, made_up, read, speaking
from tui_host.llm.events import Stopped
from tui_host.llm.fold import Fold
from tui_host.llm.messages import Stop, ToolSpec
from tui_host.llm.protocols.protocol_table import protocol
from tui_host.llm.thinktags import ThinkTags

ONE = [("math__add", SUM)]
protocols = pytest.mark.parametrize("name", PLAIN)
TAGGED = pytest.mark.parametrize("name", ["cline", "cherry", "hermes"])


def both_ways(name: str, answer: str, *, stop: Stop = "end") -> Reading:
    whole, single = read(name, answer, stop=stop), read(name, answer, each(answer), stop=stop)
    assert single.events == whole.events
    return single


@protocols
@settings(max_examples=15)
@given(data=st.data())
def test_deltas_of_any_length_give_the_same(name: str, data: st.DataObject) -> None:
    pieces = [
        call(name),
        call(name, "multiply"),
        made_up(name),
        "\n```json\n",
        "\n```\n",
        "`",
        "<",
        "\n",
        "{",
        '"',
        "<tool_use>",
        "</tool_use>",
        "<thinking>",
        "</thinking>",
        "Thought: ",
        "Action Input:",
        "Final Answer: ",
        "<attempt_completion>\n<result>\n",
        "</result>",
        "\n</attempt_completion>",
        "<ask_followup_question><question>",
        "</question></ask_followup_question>",
        "words 看 ",
        " ",
    ]
    answer = "".join(data.draw(st.lists(st.sampled_from(pieces), max_size=8)))
    cuts = data.draw(st.lists(st.integers(1, max(1, len(answer))), max_size=12))
    whole, cut = read(name, answer), read(name, answer, cuts)
    assert cut.events == whole.events
    assert all(whole.text.startswith(text) for text in cut.shown) or not whole.shown
    if whole.cut == "" and not whole.calls and not whole.written and name not in {"cline", "react"}:
        assert (whole.text + whole.thinking).count("{") == answer.count("{"), "nothing is lost"


# Where a call ends.


@TAGGED
def test_a_swallowed_closing_tag_is_no_fault_of_the_model(name: str) -> None:
    answer = call(name).rpartition("</")[0]
    found = both_ways(name, answer.rstrip())
    assert found.calls == ONE
    assert found.written[0].endswith(call(name).rpartition("\n")[2])


@TAGGED
def test_a_call_that_ends_within_its_arguments_is_told_so(name: str) -> None:
    found = both_ways(name, call(name)[:-35])
    assert found.calls == []
    assert "there is no </" in found.malformed[0]


# What is no JSON object.


@protocols
@pytest.mark.parametrize(
    "arguments",
    [
        "{'a': 6}",
        '{"a": NaN}',
        '["a"]',
    ],
)
def test_what_is_no_json_object_is_corrected(name: str, arguments: str) -> None:
    found = both_ways(name, call(name, arguments=arguments))
    if name == "react" and arguments.startswith('{"a": 6} //'):
        assert found.calls == [("math__add", '{"a": 6}')]  # its input ends with the object
    else:
        assert found.calls == []
        assert len(found.malformed) == 1


LOOK = ToolSpec(
    name="web__look",
    description="",
    schema={"type": "object", "properties": {"word": {"type": "string"}}},
    server="web",
    tool="look",
)
FUNCTION = (
    "<tool_call>\n<function=math__add>\n<parameter=a>\n6\n</parameter>\n<parameter=b>\n5\n</parameter>\n"
    "</function>\n</tool_call>"
)


@pytest.mark.parametrize(
    ("name", "answer", "called", "arguments"),
    [
        ("react", f"思考：先算。\n行动：math__add\n行动输入：{SUM}", "math__add", SUM),
        ("react", f'Thought: hm\nAction: {{"action": "math__add", "action_input": {SUM}}}', "math__add", SUM),
        ("react", f'Action:\n```json\n{{"action": "math__add", "action_input": {SUM}}}\n```', "math__add", SUM),
        ("react", "Action: web__look\nAction Input: 天气 in Paris", "web__look", '{"word": "天气 in Paris"}'),
        ("react", 'Action: web__look\nAction Input: "Paris"\nObservation: rain', "web__look", '{"word": "Paris"}'),
        ("hermes", FUNCTION, "math__add", SUM),
        (
            "hermes",
            FUNCTION.replace("math__add", "web__look").replace("a>\n6", "word>\nsay \"6'").partition("<parameter=b>")[0]
            + "</function>\n</tool_call>",
            "web__look",
            '{"word": "say \\"6\'"}',
        ),
    ],
)
def test_other_forms_that_models_write_are_read(name: str, answer: str, called: str, arguments: str) -> None:
    tools = (*TOOLS, LOOK)
    whole, single = read(name, answer, tools=tools), read(name, answer, each(answer), tools=tools)
    assert single.events == whole.events
    assert (whole.calls, whole.malformed) == ([(called, arguments)], [])


def test_no_arguments_are_an_empty_object() -> None:
    assert both_ways("cherry", call("cherry", arguments="")).calls == [("math__add", "{}")]
    assert both_ways("cline", call("cline", arguments="")).calls == [("math__add", "{}")]
    assert both_ways("hermes", call("hermes", arguments='"{\\"a\\": 6}"')).calls == [("math__add", '{"a": 6}')]


# Thinking.


@TAGGED
@pytest.mark.parametrize("tag", ["think", "thinking"])
def test_a_call_in_thinking_is_none(name: str, tag: str) -> None:
    found = both_ways(name, f"<{tag}>\nI might\n{call(name)}\n</{tag}>\nNo need.")
    assert (found.calls, found.text.strip()) == ([], "No need.")
    assert call(name) in found.thinking


@protocols
@pytest.mark.parametrize("said", ["hm", "hm\n{call}\n{made_up}", "hm\n{half}"])
def test_thinking_whose_opening_stood_in_the_prompt_holds_no_call_and_hides_none(name: str, said: str) -> None:
    thought = said.format(call=call(name, "multiply"), made_up=made_up(name), half=call(name, "multiply")[:-9])
    answer = f"{thought}\n</think>\n\n{call(name)}"
    for cuts in (range(0), each(answer)):
        tags, reader, fold = ThinkTags(), protocol(name).reader(TOOLS), Fold(provider="p", model="m", call_id=str)
        pieces = [answer[start:end] for start, end in itertools.pairwise([0, *cuts, len(answer)])]
        events = [event for piece in pieces for event in tags.feed(piece, 0, 1)]
        for event in [*events, *tags.finish(), Stopped(stop="end", vendor="stop", start=1, end=1)]:
            for found in reader.feed(event):
                fold.add(found)
        assert [(found.call.name, found.call.arguments) for found in fold.calls] == ONE
        assert (fold.text, fold.malformed, fold.cut_off, fold.question) == ("", [], [], None)
        assert fold.thinking.startswith("hm")
        assert ("multiply" in fold.thinking) == ("multiply" in thought)


# Cline.

END = "<attempt_completion>\n<result>\n{}\n</result>\n</attempt_completion>"


def test_the_end_gives_the_answer_alone_and_keeps_the_models_own_words() -> None:
    said = "See <b>x</b> and </result> of `<result>`."
    found = both_ways("cline", f"Now I know.\n{END.format(said)}\nmore")
    assert found.message is not None
    assert speaking("cline").answer(found.message) == said
    assert found.cut == "more"
    assert END.format(said) in str([getattr(part, "written", "") for part in found.message.parts])[1:-1].replace(
        "\\n", "\n"
    )


@pytest.mark.parametrize(
    "left",
    [
        "</result>\n</attempt_completion>",
        "</attempt_completion>",
    ],
)
def test_an_end_that_is_not_closed_is_closed(left: str) -> None:
    found = both_ways("cline", END.format("It is 11.").removesuffix(left))
    assert found.text == "It is 11."
    assert found.message is not None
    assert speaking("cline").answer(found.message) == "It is 11."


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("<read_file>\n<path>x</path>\n</read_file>", "there is no tool read_file here"),
        (
            "<ask_followup_question><question></question></ask_followup_question>",
            "ask_followup_question has no <question>",
        ),
        ("<attempt_completion>\n<command>x</command>\n</attempt_completion>", "attempt_completion has no <result>"),
    ],
)
def test_what_clines_own_tools_lack_is_told(answer: str, reason: str) -> None:
    (told,) = both_ways("cline", answer).malformed
    assert reason in told


# JSON.


@pytest.mark.parametrize(
    "answer",
    [
        '{"city": "Paris"}',
        '[{"name": "math__add"}]',
        '{"tool": "hammer", "arguments": {"weight": 2}}',
        "{",
        '```python\n{"a"}\n```',
    ],
)
def test_json_that_was_asked_for_is_the_answer(answer: str) -> None:
    found = both_ways("json", f"{answer}\nThat is it.")
    assert (found.calls, found.malformed, found.text) == ([], [], f"{answer}\nThat is it.")


@pytest.mark.parametrize("between", ["", " ", "\n", ", "])
def test_of_two_objects_the_first_is_the_call_and_the_other_is_cut(between: str) -> None:
    found = both_ways("json", f"{call('json')}{between}{call('json', 'multiply')}")
    assert (found.calls, found.text) == (ONE, "")
    assert found.cut.endswith(call("json", "multiply"))


# ReAct.


@pytest.mark.parametrize(
    "answer",
    [
        "Action: open the door\nand go in.",
        "The plan:\n\nAction: required\nOwner: Bob",
        "So:\n```\nAction: math__add\nand more\n```\nFine.",
    ],
)
def test_a_label_that_is_followed_by_no_action_is_text(answer: str) -> None:
    found = both_ways("react", answer)
    assert (found.calls, found.malformed, found.cut, found.thinking, found.text) == ([], [], "", "", answer)


@pytest.mark.parametrize(
    "answer",
    [
        "**Thought:** hm\n**Action:** math__add\n**Action Input:** " + SUM,
        "Thought：好\nAction：math__add\nAction Input：" + SUM,
        'Action: math__add\nAction Input:\n```json\n{"a": 6, "b": 5}\n```',
        "Action: math__add(6, 5)\nObservation: 11",
        "Action: math__add(a=6, b=5)",
    ],
)
def test_an_action_in_every_form(answer: str) -> None:
    assert both_ways("react", answer).calls == ONE


@pytest.mark.parametrize("label", ["Final Answer", "FinalAnswer", "最终答案"])
def test_a_final_answer_is_all_that_follows(label: str) -> None:
    answer = f"Thought: I know.\n{label}: It is 11.\nAction: none of it"
    found = both_ways("react", answer)
    assert found.message is not None
    assert (found.calls, speaking("react").answer(found.message), found.thinking) == (
        [],
        "It is 11.\nAction: none of it",
        "I know.\n",
    )


def test_an_action_before_the_final_answer_wins() -> None:
    found = both_ways("react", f"{call('react')}\nFinal Answer: 12")
    assert (found.calls, found.text, found.cut) == (ONE, "", "Final Answer: 12")


@pytest.mark.parametrize("answer", ["Action: math__add(__import__('os'))", "Action: math__add"])
def test_an_action_that_is_no_plain_call_is_corrected(answer: str) -> None:
    found = both_ways("react", answer)
    assert (found.calls, len(found.malformed)) == ([], 1)
