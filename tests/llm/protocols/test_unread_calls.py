"""Calls that stand in the text, because a server did not parse its model's markers, or in another protocol's form."""

import pytest

from tests.llm.protocols.answers import PLAIN, SUM, TOOLS, call
from tui_host.llm.unread_calls import UnreadCall, unread_call

KIMI = f"functions.math__add:0<|tool_call_argument_begin|>{SUM}<|tool_call_end|><|tool_calls_section_end|>"
DSML = (
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="math__add">\n<｜DSML｜parameter name="a">6</｜DSML｜parameter>\n'
    "</｜DSML｜invoke>\n</｜DSML｜function_calls>"
)
MARKERS = {
    KIMI: "Kimi's <|tool_call_begin|>",
    f"<|tool_calls_section_begin|><|tool_call_begin|>{KIMI}": "Kimi's <|tool_call_begin|>",
    DSML: "DeepSeek's special tokens",
    '<minimax:tool_call>\n<invoke name="math__add">\n</invoke>\n</minimax:tool_call>': "MiniMax's <tool_call>",
    '<tool_calls>\n{"name": "math__add", "arguments": {}}\n</tool_calls>': "MiniMax's <tool_call>",
    call("hermes"): "Qwen's or Hermes' <tool_call>",
    "<tool_call>\n<function=math__add>\n</function>\n</tool_call>": "Qwen's <tool_call><function=…>",
    "<tool_call>math__add\n<arg_key>a</arg_key>\n</tool_call>": "GLM's <tool_call> with <arg_key>",
    '[TOOL_CALLS] [{"name": "math__add", "arguments": {}}]': "Mistral's [TOOL_CALLS]",
    "[TOOL_CALLS]math__add[ARGS]{}": "Mistral's [TOOL_CALLS]",
    '<|python_tag|>{"name": "math__add", "parameters": {}}': "Llama's <|python_tag|>",
    "<function=math__add>{}</function>": "Llama's <function=…>",
    "<|channel|>commentary to=functions.math__add <|constrain|>json<|message|>{}<|call|>": "gpt-oss's channels",
    "<|start|>assistant<|channel|>commentary to=functions.math__add<|message|>{}": "gpt-oss's channels",
    "<start_function_call>call:math__add{a:1,b:2}<end_function_call>": "FunctionGemma's <start_function_call>",
    "```tool_code\nmath__add(a=1, b=2)\n```": "Gemma's tool_code",
    '<|tool_call|>[{"name": "math__add", "arguments": {}}]': "Granite's or Phi's <|tool_call|>",
    '[TOOL_REQUEST]\n{"name": "math__add", "arguments": {}}\n[END_TOOL_REQUEST]': "LM Studio's [TOOL_REQUEST]",
    '{"name": "math__add", "parameters": {"a": 6}}': "json",
    call("cline"): "cline",
    call("cherry"): "cherry",
    call("react"): "react",
}


def unread(answer: str, *, besides: str = "native", is_thinking: bool = False) -> UnreadCall:
    found = unread_call(answer, TOOLS, besides=besides, is_thinking=is_thinking)
    assert found is not None, answer
    return found


@pytest.mark.parametrize("protocol", ["native", *PLAIN])
def test_every_form_of_a_call_is_named_that_the_protocol_does_not_read(protocol: str) -> None:
    own = {"function": ("json",), "hermes": ("hermes", "Qwen", "GLM")}.get(protocol, (protocol,))
    for text, form in ((text, form) for text, form in MARKERS.items() if not form.startswith(own)):
        for answer in (text, f"I add the two.\n\n{text}\n", text.replace("math__add", "add")):
            assert unread(answer, besides=protocol).reason == f"it uses the form of {form}, not the agreed one"


def test_an_explanation_of_markers_is_no_call() -> None:
    for answer in (
        f"Kimi writes a call so:\n\n```\n{KIMI}\n```\n\nand Qwen in `<tool_call>`.",
        f"It writes\n{call('hermes')}\nand then it waits for the result.",
        call("hermes").replace("math__add", "hammer"),
        f"Hermes writes {' '.join(call('hermes').split())}",
        *('{"sum": 11}', "The sum is 11.", ""),
    ):
        assert unread_call(answer, TOOLS) is None, answer


def test_the_user_is_told_where_a_call_stands_and_what_helps() -> None:
    in_thinking = unread(call("cherry"), is_thinking=True)
    assert (in_thinking.what, in_thinking.remedy, in_thinking.reason) == (
        "the model called a tool, but its call stands unread in the thinking, in the form of cherry",
        "use the tool protocol cherry (/model, --protocol)",
        "the call stands in the thinking alone; write it in the answer",
    )


def test_the_servers_parser_is_that_of_the_form_also_behind_a_sentence() -> None:
    for answer, parser in {
        f"I will add. {' '.join(call('hermes').split())}": "hermes",
        f"I will add.{call('hermes')}": "hermes",
        KIMI: "kimi_k2",
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>math__add\n```json\n{}\n```<｜tool▁call▁end｜>": "deepseek_v3",
        "<｜tool▁call▁begin｜>math__add<｜tool▁sep｜>{}<｜tool▁call▁end｜>": "deepseek_v31",
        DSML: "deepseek_v32",
    }.items():
        assert f"--tool-call-parser {parser};" in unread(answer).remedy


def test_an_object_behind_words_in_its_line_is_told_to_stand_alone() -> None:
    for protocol in ("json", "function"):
        reason = unread(f"助手: {call('function')}", besides=protocol).reason
        assert reason == "the object stands behind words in its line; it must stand alone"
