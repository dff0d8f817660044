"""The conversation in words: prompts, history, results, and the places of what was put in and told."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.llm.protocols.answers import PLAIN, SUM, TOOLS, call, read, speaking, text_of
from tests.llm.recorded.asks import ADD, MULTIPLY, SYSTEM, assistant, result, told, user
from tui_host.errors import SettingsError
from tui_host.llm.messages import Message, ResourceSpec, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.protocols.table import PROTOCOLS, protocol
from tui_host.llm.protocols.tool_protocol import NO_RESULT

protocols = pytest.mark.parametrize("name", PLAIN)


def history(*results: str) -> list[Message]:
    """A question, an answer with a call for each result, and the results."""
    calls = [ToolCall(id=str(at), wire_id="", name="math__add", arguments=SUM) for at, _ in enumerate(results)]
    answers = [result(call, Text(text=text)) for call, text in zip(calls, results, strict=True)]
    said = assistant(Thinking(text="hm"), Text(text="Let me see.\n"), *calls)
    return [SYSTEM, user("what is 6 + 5?"), said, told(*answers)]


@protocols
def test_the_prompt_lists_every_tool_and_has_the_persons_own_where_such_hosts_have_it(name: str) -> None:
    prepared = speaking(name).prepare(history("11"), TOOLS)
    system, said = text_of(prepared.messages[0]), text_of(prepared.messages[2])
    assert prepared.tools == ()
    assert call(name).partition("math__add")[0].split("\n")[0][:8] in system, "it shows a call as it is read"
    assert all(tool.tool in system and tool.description in system for tool in TOOLS)
    assert (system.endswith if name in {"cline", "cherry"} else system.startswith)("Be brief.")
    assert [system[own.start : own.end] for own in prepared.places if own.source == "profile"] == ["Be brief."]
    assert [message.role for message in prepared.messages] == ["system", "user", "assistant", "user"]
    assert said == f"Let me see.\n{call(name)}", "a call of another protocol is put into this one's grammar"


@protocols
@given(results=st.lists(st.text(max_size=20), min_size=1, max_size=3))
def test_places_slice_to_exactly_what_they_say(name: str, results: list[str]) -> None:
    prepared = speaking(name).prepare([*history(*results), user("and?")], TOOLS)
    texts = [text_of(message) for message in prepared.messages]
    results_told = [each for each in prepared.places if each.source == "told"]
    heard = [texts[each.message][each.start : each.end] for each in results_told]
    assert [each.call for each in results_told] == [str(number) for number, _ in enumerate(results)]
    for piece, words in zip(heard, results, strict=True):
        assert words in piece or name == "hermes"  # which tells it as a JSON string
    put_in = sorted((each.message, each.start, each.end) for each in prepared.places if each.source != "profile")
    for (message, _, end), (other, start, _) in itertools.pairwise(put_in):
        assert message != other or end <= start, "nothing is in two places"
    for message, start, end in reversed(put_in):
        texts[message] = texts[message][:start] + texts[message][end:]
    assert (texts[0], texts[1].strip(), texts[3].strip()) == ("Be brief.", "what is 6 + 5?", "and?")


@protocols
def test_what_the_host_and_the_model_said_goes_as_it_was(name: str) -> None:
    host = Message(role="user", parts=(Text(text="a correction"),), source="host")
    prepared = speaking(name).prepare([user("hi"), host], TOOLS)
    found = [text_of(prepared.messages[each.message])[each.start : each.end] for each in prepared.places]
    assert "a correction" in found
    assert [message.role for message in prepared.messages] == ["system", "user"], "neighbours of one role are one"
    answer = f"Let me see.\n{call(name)}"
    assert text_of(speaking(name).prepare([user("?"), read(name, answer).message], TOOLS).messages[2]) == answer


@protocols
def test_a_correction_names_the_tool_and_shows_its_schema(name: str) -> None:
    found = read(name, call(name, "multiply", "[6, 5]"))
    why, _, form = speaking(name).correction(found.malformed, TOOLS).partition(" The exact form is:\n\n")
    assert f"Your call could not be read: {found.malformed[0]}. Nothing of it was run." in why
    shown = call(name, "multiply", '{"key": "value"}')
    word = "parameters" if name == "function" else "input" if name == "react" else "arguments"
    assert form.startswith(f'{shown}\n\nwith {word} by this schema: {{"type": "object"')


@pytest.mark.parametrize(("name", "closing"), [("cherry", "</result>"), ("hermes", "</tool_response>")])
def test_a_result_that_could_end_its_own_envelope_goes_as_it_is_and_is_marked(name: str, closing: str) -> None:
    prepared = speaking(name).prepare(history(f"x{closing}<b>", "11"), TOOLS)
    assert [each.words for each in prepared.places if each.source == "told"] == [
        f"contains {closing}, which ends a result",
        "",
    ]
    assert f"x{closing}<b>" in text_of(prepared.messages[3])


def test_resources_are_listed_asked_for_and_told_in_clines_way() -> None:
    tables = ResourceSpec(uri="math://tables", name="Tables", description="all tables", is_template=False)
    numbers = ResourceSpec(uri="math://{number}", name="", description="one", is_template=True)
    reader = ToolSpec(
        name="math__read", description="", schema={}, server="math", tool="read", resources=(tables, numbers)
    )
    tools = (*TOOLS, reader)
    system = text_of(speaking("cline").prepare([user("hello")], tools).messages[0])
    assert "### Resource Templates\n- math://{number}: one" in system
    assert "### Direct Resources\n- math://tables (Tables): all tables" in system
    assert [name for name in PROTOCOLS if speaking(name).reads_resources] == ["cline"]
    asks = "<access_mcp_resource>\n<server_name>{}</server_name>\n<uri>math://{}</uri>\n</access_mcp_resource>"
    found = read("cline", asks.format("math", "tables?a=<b>&c"), tools=tools)
    assert found.calls == [("math__read", '{"uri": "math://tables?a=<b>&c"}')]
    for offered, server in ((TOOLS, "math"), (tools, "other")):
        refused = read("cline", asks.format(server, "tables"), tools=offered)
        assert (refused.calls, refused.malformed[0].startswith(f"{server} offers no resources")) == ([], True)
    called = ToolCall(id="1", wire_id="", name="math__read", arguments=found.calls[0][1])
    prepared = speaking("cline").prepare([user("look"), assistant(called), told(result(called))], tools).messages
    assert text_of(prepared[2]) == asks.format("math", "tables?a=<b>&c")


def test_every_call_has_one_result_directly_after_it_in_the_order_of_the_calls() -> None:
    none = ToolResult(call=ADD, content=(Text(text=NO_RESULT),), is_error=True)
    late = Message(role="tool", parts=(result(MULTIPLY, Text(text="30")),), turn=1)
    prepared = protocol("native").prepare((user("x"), assistant(MULTIPLY, ADD), user("y"), late), ())
    assert [message.role for message in prepared.messages] == ["user", "assistant", "tool", "user"]
    assert prepared.messages[2].parts == (result(MULTIPLY, Text(text="30")), none)


def test_native_answers_are_the_text_and_an_unknown_protocol_is_told() -> None:
    native = protocol("native")
    assert set(PROTOCOLS) == {"native", *PLAIN}
    assert read("native", "<tool_use>").text == "<tool_use>"
    assert native.answer(assistant(Thinking(text="hm"), Text(text=" 37 "))) == " 37 "
    assert native.answer(assistant(Thinking(text="hm"))) is None
    with pytest.raises(SettingsError, match="one of: native"):
        protocol("telepathy")
