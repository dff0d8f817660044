"""What each tool protocol reads out of an answer: one table for all of them, one of texts for each, and any cut of any text."""

import pytest

from tests.kit.bodies import chunk
from tests.llm.protocols.answers import LOOK, PLAIN, SUM, TOOLS, Reading, call, made_up, read, speaking
from tests.llm.recorded.case import events_of
from tui_host.llm.fold import Fold
from tui_host.llm.messages import Stop
from tui_host.llm.protocols.table import protocol

ONE = [("math__add", SUM)]
SEVERAL = ("cherry", "hermes")
protocols = pytest.mark.parametrize("name", PLAIN)


def all_ways(name: str, answer: str, *, stop: Stop = "end") -> Reading:
    """Read it in whole, in threes and letter by letter: the same events, and never half a tag on the screen."""
    offered = (*TOOLS, LOOK)
    whole = read(name, answer, stop=stop, tools=offered)
    for size in (1, 3):
        cut = read(name, answer, range(size, len(answer), size), stop=stop, tools=offered)
        assert cut.events == whole.events, answer
        assert all(whole.text.startswith(text) for text in cut.shown), "half a tag was shown"
        for span, written in zip(cut.spans, cut.written, strict=True):
            assert written in span.decode() or span.decode().strip() in written
    return whole


@protocols
def test_where_a_call_begins_and_ends(name: str) -> None:
    one, other, made = call(name), call(name, "multiply"), made_up(name)
    line = one.replace("\n", " ")
    for answer, text, cut in (
        (one, "", ""),
        (f"Let me see.\n{one}", "Let me see.\n", ""),
        (f"{one}\n{made}", "", made),
        (f"```xml\n{one}\n```", "", ""),
        (f"So:\n```json\n{one}\n```\n{made}", "So:\n", made),
    ):
        found = all_ways(name, answer)
        assert (found.calls, found.text, found.cut, found.malformed) == (ONE, text, cut, []), answer
    for answer in (
        f"> {line}",
        f"Of its form: `{line}`",
        f"````text\n```xml\n{one}\n```\n````\nThat is all.",
        f"To call one, I write `{one[:9]}` and then what it takes: `{one[:20]}`.".replace("\n", " "),
    ):
        found = all_ways(name, answer)
        assert (found.calls, found.text, found.cut, found.malformed) == ([], answer, "", []), answer
    found = all_ways(name, f"{one}\n{other}\nthe end")
    assert found.calls == ([*ONE, ("math__multiply", SUM)] if name in SEVERAL else ONE)
    assert found.cut == ("the end" if name in SEVERAL else f"{other}\nthe end")
    assert all_ways(name, one).written == [one]


@protocols
def test_values_are_taken_as_they_are(name: str) -> None:
    tags = "</arguments></tool_use></tool_call></use_mcp_tool>"
    arguments = f'{{"a": "x < y && z &lt; \\" {tags} `tick` {{[", "b": "\u2028 🙂 \\u0000 \\\\"}}'
    found = all_ways(name, call(name, arguments=arguments))
    assert (found.calls, found.written) == ([("math__add", arguments)], [call(name, arguments=arguments)])


@protocols
@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ("{'a': 6}", "the arguments are not JSON: Expecting property name enclosed in double quotes, line 1, column 2"),
        ('{"a": 6, "b": 5,}', "line 1, column"),
        ('{"a": NaN}', "NaN is no JSON value"),
        ('["a"]', "no JSON object but '[\"a\"]'"),
    ],
)
def test_what_is_no_json_object_is_told_and_never_run(name: str, arguments: str, fault: str) -> None:
    wrong = call(name, arguments=arguments)
    for answer in (wrong, wrong.replace("math__add", "add")):
        found = all_ways(name, answer)
        assert (found.calls, found.text) == ([], answer)
        (reason,) = found.malformed
        if name not in {"json", "function"} or "not JSON" not in fault:
            assert fault.partition(", near")[0].rpartition(": ")[2][:20] in reason


@protocols
def test_a_call_that_the_end_of_the_answer_cut(name: str) -> None:
    found = all_ways(name, call(name)[:-20], stop="length")
    assert found.calls == []
    assert all("cut at the token limit" in reason or "not JSON" in reason for reason in found.malformed)
    if call(name).endswith(">"):  # a stop sequence swallows the last tag
        swallowed = all_ways(name, call(name).rpartition("</")[0].rstrip())
        assert swallowed.calls == ONE
        assert swallowed.written[0].endswith(call(name).rpartition("\n")[2])
        assert "there is no </" in all_ways(name, call(name)[:-35]).malformed[0]


@protocols
@pytest.mark.parametrize("said", ["hm", "hm\n{call}\n{made_up}", "hm\n{half}"])
def test_thinking_whose_opening_stood_in_the_prompt_holds_no_call_and_hides_none(name: str, said: str) -> None:
    thought = said.format(call=call(name, "multiply"), made_up=made_up(name), half=call(name, "multiply")[:-9])
    answer = f"{thought}\n</think>\n\n{call(name)}"
    for size in (1, len(answer)):
        reader, fold = protocol(name).reader(TOOLS), Fold(provider="p", model="m", call_id=str)
        pieces = [chunk({"content": answer[start : start + size]}) for start in range(0, len(answer), size)]
        for event in events_of("openai", [*pieces, chunk(finish="stop")]):
            for found in reader.feed(event):
                fold.add(found)
        assert [(found.call.name, found.call.arguments) for found in fold.calls] == ONE
        assert (fold.text, fold.malformed, fold.cut_off, fold.options) == ("", [], [], ())
        assert ("multiply" in fold.thinking) == ("multiply" in thought)


FUNCTION = "<tool_call>\n<function={}>\n<parameter={}>\n{}\n</parameter>\n</function>\n</tool_call>"
LANGCHAIN = 'Thought: x\nAction:\n```json\n{"action": "%s", "action_input": %s}\n```'
CALLED = (
    ("cline", call("cline", arguments=""), "math__add", "{}"),
    ("cherry", call("cherry", arguments=""), "math__add", "{}"),
    ("hermes", call("hermes", arguments='"{\\"a\\": 6}"'), "math__add", '{"a": 6}'),
    ("hermes", FUNCTION.format("math__add", "a", "6"), "math__add", '{"a": 6}'),
    ("hermes", FUNCTION.format("look", "word", "25070602"), "look", '{"word": "25070602"}'),
    ("hermes", FUNCTION.format("web__look", "word", "say \"6'"), "web__look", '{"word": "say \\"6\'"}'),
    ("json", '{"name": "add", "arguments": {"a": 6}}', "add", '{"a": 6}'),
    ("json", '{"tool": "math__ad", "arguments": {}}', "math__ad", "{}"),
    ("react", f"思考：先算。\n行动：math__add\n行动输入：{SUM}", "math__add", SUM),
    ("react", f"**Thought:** hm\n**Action:** math__add\n**Action Input:** {SUM}", "math__add", SUM),
    ("react", f"Action: math__add\nAction Input:\n```json\n{SUM}\n```", "math__add", SUM),
    ("react", f"```\nThought: x\nAction: math__add\nAction Input: {SUM}\n```", "math__add", SUM),
    ("react", LANGCHAIN % ("math__add", SUM), "math__add", SUM),
    ("react", LANGCHAIN % ("look", '"天气"'), "look", '{"word": "天气"}'),
    ("react", "Action: look\nAction Input: 天气 in Paris", "look", '{"word": "天气 in Paris"}'),
    ("react", 'Action: web__look\nAction Input: "Paris"\nObservation: rain', "web__look", '{"word": "Paris"}'),
    ("react", 'Action: look("Paris")', "look", '{"word": "Paris"}'),
    ("react", "Action: math__add(6, 5)\nObservation: 11", "math__add", SUM),
    ("react", "Action: math__add(a=6, b=5)", "math__add", SUM),
    ("react", f"{call('react')}\nFinal Answer: 12", "math__add", SUM),
)


@pytest.mark.parametrize(("name", "answer", "called", "arguments"), CALLED)
def test_other_forms_that_models_write_are_read(name: str, answer: str, called: str, arguments: str) -> None:
    found = all_ways(name, answer)
    assert (found.calls, found.text, found.malformed) == ([(called, arguments)], "", [])


END = "<attempt_completion>\n<result>\n{}\n</result>\n</attempt_completion>"
ANSWERS = (
    ("json", '{"city": "Paris"}\nThat is it.', '{"city": "Paris"}\nThat is it.'),
    ("json", '[{"name": "math__add"}]', '[{"name": "math__add"}]'),
    ("json", '{"tool": "hammer", "weight": 2}', '{"tool": "hammer", "weight": 2}'),
    ("json", '{\n```python\n{"a"}\n```', '{\n```python\n{"a"}\n```'),
    ("react", "Action: open the door\nand go in.", "Action: open the door\nand go in."),
    ("react", "So:\n```\nAction: math__add\nand more\n```\nFine.", "So:\n```\nAction: math__add\nand more\n```\nFine."),
    ("react", "Thought: I know.\nFinal Answer: It is 11.\nAction: none of it", "It is 11.\nAction: none of it"),
    ("react", "Thought: x\nAction: None\nFinalAnswer: 3", "3"),
    ("react", "思考：可以回答了。\n最终答案：3", "3"),
    ("cline", f"So.\n{END.format('See <b>x</b> and </result> of `<result>`.')}",
     "See <b>x</b> and </result> of `<result>`."),
    ("cline", END.format("It is 11.").removesuffix("</attempt_completion>"), "It is 11."),
    ("cline", END.format("It is 11.").removesuffix("</result>\n</attempt_completion>"), "It is 11."),
    ("cline", f"<div>\n<b>x</b></div> {END[:5]}", f"<div>\n<b>x</b></div> {END[:5]}"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "answer", "text"), ANSWERS)
def test_what_is_the_answer(name: str, answer: str, text: str) -> None:
    found = all_ways(name, answer)
    assert (found.calls, found.malformed, speaking(name).answer(found.message)) == ([], [], text)


FAULTS = (
    ("cline", "<read_file>\n<path>x</path>\n</read_file>", "there is no tool read_file here"),
    ("cline", "<ask_followup_question><question></question></ask_followup_question>", "has no <question>"),
    ("cline", "<attempt_completion>\n<command>x</command>\n</attempt_completion>", "has no <result>"),
    ("cline", call("cline").replace("<tool_name>add</tool_name>", ""), "the required parameter tool_name"),
    ("cherry", call("cherry").replace("<name>math__add</name>", ""), "there is no <name> in it"),
    ("hermes", call("hermes").replace('"name": "math__add", ', ""), 'there is no "name" in it'),
    ("json", '{"tool": "add", "arguments": {"a": 6,}}', "the call is not JSON"),
    ("json", "{'tool': 'add', 'arguments': {'a': 6}}", "the call is not JSON"),
    ("react", "Action: math__add(__import__('os'))", "no plain values"),
    ("react", "Action: math__add", "there is no Action Input behind the Action"),
)


@pytest.mark.parametrize(("name", "answer", "fault"), FAULTS)
def test_what_a_call_lacks_is_told(name: str, answer: str, fault: str) -> None:
    found = all_ways(name, answer)
    assert (found.calls, len(found.malformed)) == ([], 1)
    assert fault in found.malformed[0]


@pytest.mark.parametrize("tag", ["think", "thinking"])
@pytest.mark.parametrize("name", ["cline", "cherry", "hermes"])
def test_a_call_in_thinking_is_none(name: str, tag: str) -> None:
    found = all_ways(name, f"<{tag}>\nI might\n{call(name)}\n</{tag}>\nNo need.")
    assert (found.calls, found.text.strip()) == ([], "No need.")
    assert call(name) in found.thinking
