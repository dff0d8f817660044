"""Which tools a name stands for that a host gave it."""

from __future__ import annotations

import pytest

from tests.infer.habits import NAMINGS, TOOLS
from tui_host.infer.call_values import READING, Call
from tui_host.infer.tool_aliases import meant, tools_named

KNOWN = [(server, tool) for server, tools in TOOLS.items() for tool in tools]
ALONE = 6
"""Of the ways in which hosts name tools, the one that leaves the server out."""
CUT = (12, 13)
"""Those that put a digest in place of the end of a long name: tools that begin alike stay possible."""


@pytest.mark.parametrize("number", range(len(NAMINGS)))
def test_a_name_stands_for_its_tool_however_a_host_joins_cleans_and_shortens_it(number: int) -> None:
    for server, tool in KNOWN:
        found = tools_named(NAMINGS[number](server, tool), KNOWN)
        assert (server, tool) in found
        says_no_server = number == ALONE or "0mcp0" in NAMINGS[number](server, tool)
        is_alone = len(found) == 1 or (says_no_server and {each for _, each in found} == {tool})
        assert is_alone or (number in CUT and all(owner == server for owner, _ in found))


WEATHER = [("lab", tool) for tool in ("查询天气", "列表", "删除它", "get_天气", "get", "fire🔥")] + [
    ("数据库", "查询"),
    ("数据库", "get"),
]


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("查询天气", ("lab", "查询天气")),
        ("____", ("lab", "查询天气")),
        ("mcp__lab__查询天气", ("lab", "查询天气")),
        ("mcp__lab______", ("lab", "查询天气")),  # as Claude Code and Codex have it
        ("mcp_lab_____", ("lab", "查询天气")),  # as Gemini CLI has it
        ("lab_get___", ("lab", "get_天气")),  # as opencode has it
        ("mcp__lab__fire__", ("lab", "fire🔥")),  # as hosts in JavaScript have it
        ("mcp__lab__get", ("lab", "get")),
        ("数据库__查询", ("数据库", "查询")),
    ],
)
def test_a_name_stands_for_a_tool_whose_letters_are_not_ascii(name: str, tool: tuple[str, str]) -> None:
    assert tools_named(name, WEATHER) == {tool}


@pytest.mark.parametrize("name", ["web__fetch", "get", "jobs__restart", "x" * 70, "mcp__jobs__get_status_of_all", ""])
def test_a_name_that_no_tool_has_stands_for_none(name: str) -> None:
    assert tools_named(name, KNOWN) == frozenset()


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
        ("docs__access_mcp_resource", '{"uri": "a:b"}', ("docs__", '{"uri":"a:b"}')),
        ("access_mcp_resource", '{"server_name": "docs", "uri": "a:b"}', ("docs__", '{"uri":"a:b"}')),
        ("ReadMcpResourceTool", '{"server": "docs", "uri": "a:b"}', ("docs__", '{"uri":"a:b"}')),
    ],
)
def test_what_reads_a_resource_means_a_request_for_it(name: str, arguments: str, wanted: tuple[str, str]) -> None:
    asked = Call(
        key="1", capture="c", exchange="1", number=0, wire_id="", name=name, arguments=arguments, at_ns=0, spans=()
    )
    assert meant(asked) == (f"{wanted[0]}{READING}", wanted[1])
    assert tools_named(meant(asked)[0], [*KNOWN, ("docs", READING), ("math", READING)]) == {("docs", READING)}
