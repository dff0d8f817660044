"""The conversation in words: prompts, history, results, and the places of what was put in and told."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.llm.protocols.answers import PLAIN, SUM, TOOLS, call, read, speaking, text_of
from tui_host.llm.messages import Image, Message, ResourceSpec, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.protocols.table import PROTOCOLS
from tui_host.llm.protocols.text_protocol import INSTRUCTIONS
from tui_host.llm.protocols.text_protocol import TOOLS as LIST
from tui_host.settings.paths import shipped

protocols = pytest.mark.parametrize("name", PLAIN)


def user(text: str, **more: object) -> Message:
    return Message(role="user", parts=(Text(text=text),), **more)  # pyright: ignore[reportArgumentType] - shorthand


def history(*results: str, written: str = "") -> list[Message]:
    """A question, an answer with a call for each result, and the results."""
    calls = tuple(
        ToolCall(id=str(number), wire_id="", name="math__add", arguments=SUM, written=written)
        for number, _ in enumerate(results)
    )
    told = tuple(
        ToolResult(call=each, content=(Text(text=text),), is_error=text.startswith("Error"))
        for each, text in zip(calls, results, strict=True)
    )
    return [
        Message(role="system", parts=(Text(text="Be brief."),)),
        user("what is 6 + 5?"),
        Message(role="assistant", parts=(Thinking(text="hm"), Text(text="Let me see.\n"), *calls), stop="tools"),
        Message(role="tool", parts=told),
    ]


def test_every_protocol_but_native_has_a_shipped_prompt_with_both_places() -> None:
    assert set(PLAIN) == set(PROTOCOLS) - {"native"}
    for name in PLAIN:
        template = shipped(f"protocols/{name}.md").read_text(encoding="utf-8")
        assert (template.count(LIST), template.count(INSTRUCTIONS)) == (1, 1)
        assert call(name).partition("math__add")[0].split("\n")[0][:8] in template, "it shows a call as it is read"


@protocols
def test_the_prompt_lists_every_tool_and_has_the_persons_own_where_such_hosts_have_it(name: str) -> None:
    prepared = speaking(name).prepare(history("11"), TOOLS)
    system = text_of(prepared.messages[0])
    assert prepared.tools == ()
    assert all(tool.tool in system and tool.description in system for tool in TOOLS)
    assert (system.endswith if name in {"cline", "cherry"} else system.startswith)("Be brief.")
    (own,) = prepared.own
    assert system[own.start : own.end] == "Be brief."
    assert [message.role for message in prepared.messages] == ["system", "user", "assistant", "user"]


@protocols
@given(results=st.lists(st.text(max_size=20), min_size=1, max_size=3))
def test_places_slice_to_exactly_what_they_say(name: str, results: list[str]) -> None:
    prepared = speaking(name).prepare([*history(*results), user("and?")], TOOLS)
    texts = [text_of(message) for message in prepared.messages]
    told = [texts[each.message][each.start : each.end] for each in prepared.told]
    assert [each.call for each in prepared.told] == [str(number) for number, _ in enumerate(results)]
    for piece, result in zip(told, results, strict=True):
        assert result in piece or name == "hermes"  # which tells it as a JSON string
    put_in = sorted((each.message, each.start, each.end) for each in (*prepared.injected, *prepared.told))
    for (message, _, end), (other, start, _) in itertools.pairwise(put_in):
        assert message != other or end <= start, "nothing is in two places"
    bare = list(texts)
    for message, start, end in reversed(put_in):
        bare[message] = bare[message][:start] + bare[message][end:]
    assert bare[0] == "Be brief."
    assert bare[1].strip() == "what is 6 + 5?"
    assert bare[3].strip() == "and?"


@protocols
def test_what_the_host_says_is_put_in(name: str) -> None:
    prepared = speaking(name).prepare([user("hi"), user("a correction", source="host")], TOOLS)
    found = [text_of(prepared.messages[each.message])[each.start : each.end] for each in prepared.injected]
    assert "a correction" in found
    assert [message.role for message in prepared.messages] == ["system", "user"], "neighbours of one role are one"


@protocols
def test_the_models_own_words_go_back_as_they_were(name: str) -> None:
    answer = f"Let me see.\n{call(name)}"
    message = read(name, answer).message
    assert message is not None
    prepared = speaking(name).prepare([user("?"), message], TOOLS)
    assert text_of(prepared.messages[2]) == answer


@protocols
def test_a_call_of_another_protocol_is_put_into_this_ones_grammar(name: str) -> None:
    prepared = speaking(name).prepare(history("11"), TOOLS)
    said = text_of(prepared.messages[2])
    assert said.startswith("Let me see.\n")
    assert read(name, said).calls == [("math__add", SUM)]


@protocols
def test_a_correction_names_the_tool_and_shows_its_schema(name: str) -> None:
    found = read(name, call(name, "multiply", "[6, 5]"))
    said = speaking(name).correction(found.malformed, TOOLS)
    form = said.partition("The exact form is:")[2]
    assert "multiply" in form
    assert '"required"' in form
    assert call(name)[:8] in form


@pytest.mark.parametrize(("name", "closing"), [("cherry", "</result>"), ("hermes", "</tool_response>")])
def test_a_result_that_could_end_its_own_envelope_goes_as_it_is_and_is_marked(name: str, closing: str) -> None:
    prepared = speaking(name).prepare(history(f"x{closing}<b>", "11"), TOOLS)
    assert [bool(each.note) for each in prepared.told] == [True, False]
    assert f"x{closing}<b>" in text_of(prepared.messages[3])


def _resource(uri: str, name: str, *, is_template: bool = False) -> ResourceSpec:
    return ResourceSpec(uri=uri, name=name, description=f"all of {uri}", is_template=is_template)


READER = ToolSpec(
    name="math__resources_read",
    description="",
    schema={},
    server="math",
    tool="resources/read",
    resources=(_resource("math://tables", "Tables"), _resource("math://{number}", "", is_template=True)),
)


def test_cline_lists_the_resources_of_servers_that_have_any() -> None:
    system = text_of(speaking("cline").prepare([user("hello")], (*TOOLS, READER)).messages[0])

    assert "### Resource Templates\n- math://{number}: all of math://{number}" in system
    assert "### Direct Resources\n- math://tables (Tables): all of math://tables" in system
    assert "- resources/read" not in system
    assert [name for name in PROTOCOLS if speaking(name).reads_resources] == ["cline"]


def test_a_resource_asked_for_in_clines_way_is_a_call_and_its_result_is_framed_as_one() -> None:
    asks = "<access_mcp_resource>\n<server_name>{}</server_name>\n<uri>math://{}</uri>\n</access_mcp_resource>"
    found = read("cline", asks.format("math", "tables?a=<b>&c"), tools=(*TOOLS, READER))
    (name, arguments) = found.calls[0]
    assert (name, arguments) == (READER.name, '{"uri": "math://tables?a=<b>&c"}')
    for tools, server in ((TOOLS, "math"), ((*TOOLS, READER), "other")):
        refused = read("cline", asks.format(server, "tables"), tools=tools)
        assert not refused.calls
        assert f"{server} offers no resources" in refused.malformed[0]

    image = Image(media_type="image/png", data="AAAA")
    called = ToolCall(id="1", wire_id="", name=name, arguments=arguments)
    told = ToolResult(call=called, content=(Text(text="[image: image/png, 3 bytes]"), image))
    messages = [user("look"), Message(role="assistant", parts=(called,)), Message(role="tool", parts=(told,))]
    prepared = speaking("cline").prepare(messages, (*TOOLS, READER)).messages
    assert text_of(prepared[2]) == asks.format("math", "tables?a=<b>&c")
    assert text_of(prepared[3]).startswith("[access_mcp_resource for 'math'] Result:\n[image: image/png, 3 bytes]")
    assert prepared[3].parts[1:] == (image,)
