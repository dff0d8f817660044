"""Names of tools come from the lists that servers sent while the session was recorded."""

from __future__ import annotations

from tests.tui.inspector_wires import to_json
from tui_host.answers.recorded_tools import RecordedTools
from tui_host.capture.record import Draft, Record
from tui_host.errors import JSON
from tui_host.llm.tool_names import OPENAI_NAMES


def listed(tools: RecordedTools, capture: str, server: str, *names: str) -> None:
    definitions: list[JSON] = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    data = to_json({"jsonrpc": "2.0", "id": 1, "result": {"tools": definitions}})
    draft = Draft(wire="mcp", kind="frame", peer=server, direction="in", data=data)
    tools.feed(Record(capture=capture, seq=1, time_ns=1, mono_ns=1, draft=draft))


def test_each_capture_has_the_names_of_its_own_servers() -> None:
    tools = RecordedTools()
    listed(tools, "then", "math", "add")
    listed(tools, "now", "lab", "add", "天气")
    assert tools.names("then", OPENAI_NAMES) == {"math__add": ("math", "add")}
    assert set(tools.names("now", OPENAI_NAMES).values()) == {("lab", "add"), ("lab", "天气")}
    assert tools.names("now", OPENAI_NAMES)["lab__天气"] == ("lab", "天气"), "as text protocols keep it"
    assert set(tools.names("a model's own file", OPENAI_NAMES)) >= {"math__add", "lab__add"}


def test_frames_that_list_nothing_and_broken_ones_are_passed_over() -> None:
    tools = RecordedTools()
    for data in (b'{"inputSchema"', b'["inputSchema"]', b'{"result":{"tools":[{"name":1,"inputSchema":0}]}}'):
        draft = Draft(wire="mcp", kind="frame", peer="math", direction="in", data=data)
        tools.feed(Record(capture="c", seq=1, time_ns=1, mono_ns=1, draft=draft))
    assert not tools.names("c", OPENAI_NAMES)
