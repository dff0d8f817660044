"""Values as Python prints them for eyes, over several lines."""

from __future__ import annotations

import json
from pprint import pformat

import pytest

from tests.capture.captured import ASK, CHAT, NOW_NS, TELL, WHOLE, WIRES, seen, told
from tests.steps import Copied, steps
from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.opening import File, read
from tui_host.opening.drafts import Seen

LONG: JSON = {
    "model": "m",
    "stream": False,
    "messages": [
        {
            "role": "user",
            "content": 'it\'s a "long" text, with {brackets} and (others] in it, and 漢字\nof two lines ' * 9,
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}],
        },
    ],
}


@pytest.mark.parametrize("width", [20, 80])
@pytest.mark.parametrize("lead", ["", "Request: ", "2025-12-01 10:00:00,123 - INFO - request: "])
def test_a_value_that_pprint_prints_over_several_lines_is_one(width: int, lead: str) -> None:
    lines = [f"{lead}{pformat(each, width=width)}" for each in (LONG, WHOLE, LONG, WHOLE)]
    reading = read([File(name="a", data="\n".join([*lines, ""]).encode(), time_ns=NOW_NS)], WIRES)
    found = [each.draft for each in reading.seen]
    assert [each.kind for each in found] == ["request", "response", "chunk", "end"] * 2
    assert [json.loads(found[at].data) for at in (0, 2)] == [LONG, WHOLE]
    assert not reading.notes.words
    assert "4 bodies as Python writes them" in reading.notes.told[0]


def test_messages_of_a_server_and_what_follows_are_read_too() -> None:
    lines = [f"--> {pformat({**ASK, 'params': {'name': 'add', 'arguments': {'a': 'x' * 90}}})}", f"<-- {TELL!r}", "bye"]
    assert told(seen("\n".join(lines))) == [("mcp", "frame", "out"), ("mcp", "frame", "in")]


@pytest.mark.parametrize("last", ["", " 'b': <object>}", " 'b': 'it's'}", " b}"])
def test_what_is_no_such_value_is_left_and_what_follows_is_read(last: str) -> None:
    text = f"{{'model': 'm',\n 'messages': [{{'role': 'user',\n{last}\n{json.dumps(CHAT)}\n{json.dumps(WHOLE)}\n"
    assert [each.draft.kind for each in seen(text)] == ["request", "response", "chunk", "end"]


def test_many_lines_of_a_value_that_has_no_end_are_looked_at_once() -> None:
    def cost(size: int) -> tuple[int, int]:
        text = "{'messages': [{'role': 'user',\n" + "  {'content': 'x',\n" * size
        data = Copied(f"{json.dumps(ASK)}\n{text}{json.dumps(ASK)}\n".encode())
        found: list[Seen] = []
        taken = steps(lambda: found.extend(seen(data)))
        assert [each.draft.kind for each in found].count("frame") == 2
        return taken, data.size

    few, many = cost(200), cost(800)
    assert many[0] < 5 * few[0]
    assert many[1] < 5 * few[1]


def test_a_value_in_a_logger_s_text_may_be_such() -> None:
    lines = [json.dumps({"level": 30, "msg": f"-> {pformat(each, width=40)}"}) for each in (LONG, WHOLE)]
    found = [each.draft for each in seen("\n".join(lines))]
    assert [each.kind for each in found] == ["request", "response", "chunk", "end"]
    assert mapping(json.loads(found[0].data)) == LONG
