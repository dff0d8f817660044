"""How calls are read out of the text of other hosts' answers."""

from __future__ import annotations

import pytest

from tests.cases import first_values
from tui_host.infer.conversations.text_protocols import readers_of
from tui_host.llm.events import CallArguments, CallStarted, ModelEvent, TextDelta

CHERRY = '<tool_use>\n  <name>mcp__box__get</name>\n  <arguments>{"城市": "北京"}</arguments>\n</tool_use>'
CLINE = (
    "<use_mcp_tool>\n<server_name>box</server_name>\n<tool_name>get</tool_name>\n"
    '<arguments>\n{"城市": "北京"}\n</arguments>\n</use_mcp_tool>'
)
HERMES = '<tool_call>\n{"name": "box__get", "arguments": {"城市": "北京"}}\n</tool_call>'


def read(protocol: str, text: str, size: int, host: str = "") -> list[ModelEvent]:
    """What a host's answer says that comes in pieces of so many characters."""
    reader = readers_of(protocol, "", host)()
    pieces = [text[place : place + size] for place in range(0, len(text), size)]
    found = [event for piece in pieces for event in reader.feed(TextDelta(text=piece, start=0, end=0))]
    return [*found, *reader.finish()]


def said_in(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def calls_in(events: list[ModelEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, CallArguments)]


@pytest.mark.parametrize("size", first_values([1, 3, 7, 1000]))
@pytest.mark.parametrize(("protocol", "call"), [("cherry", CHERRY), ("cline", CLINE), ("hermes", HERMES)])
@pytest.mark.parametrize("words", ["好的", "我来查询天气。", "I will look that up. ", "1 < 2 and <b>so</b> on: "])
def test_a_call_behind_words_in_its_line_is_one_as_other_hosts_run_it(
    size: int, protocol: str, call: str, words: str
) -> None:
    events = read(protocol, words + call, size)
    assert said_in(events).rstrip() == words.rstrip()
    assert [text.replace(" ", "") for text in calls_in(events)] == ['{"城市":"北京"}']
    assert next(event.name for event in events if isinstance(event, CallStarted)).endswith("get")


@pytest.mark.parametrize("size", first_values([1, 1000]))
@pytest.mark.parametrize(
    "words",
    [
        "use <tool_use> to call, and </tool_use> behind it",
        "`<tool_use>` is its tag; ```<tool_use>``` too",
        "```xml\n<tool_use>\n  ...\n</tool_use>\n```\nthat is its form",
        "```<tool_use>``` is its tag\n```xml <tool_use> ... </tool_use>\n```\nand ```<a>```",
        "a <tool_user> is nobody, and <think> nothing <",
        "it ends in <tool_us",
    ],
)
def test_a_tag_that_prose_mentions_is_no_call(size: int, words: str) -> None:
    events = read("cherry", words, size)
    assert (said_in(events), calls_in(events)) == (words, [])


@pytest.mark.parametrize("size", first_values([1, 3, 7, 1000]))
@pytest.mark.parametrize(("protocol", "call"), [("cherry", CHERRY), ("cline", CLINE), ("hermes", HERMES)])
@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("`", "`"),
        ("It's `a tick ", ""),
        ("such as ```", "``` there"),
        ("```\nls\n\n", ""),
        ("~~~\nls < a\n", "\n~~~\nIs it right?"),
        ("For example:\n```xml\n<!-- a call -->\n", "\n```\nShall I?"),
        ("```", "``` is the form"),
        ("So:\n```xml ", "\nand so on\n```\nShall I?"),
        ("```ls``` lists, as does `", "`"),
    ],
)
def test_a_call_in_code_is_one_as_other_hosts_run_it_and_a_mention_in_ours(
    size: int, protocol: str, call: str, before: str, behind: str
) -> None:
    events = read(protocol, before + call + behind, size)
    assert said_in(events) == before + behind
    assert [text.replace(" ", "") for text in calls_in(events)] == ['{"城市":"北京"}']
    own = read(protocol, before + call + behind, size, host="tui-host")
    assert (said_in(own), calls_in(own)) == (before + call + behind, [])
