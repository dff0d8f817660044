"""Which tools a name stands for that a host gave it."""

from __future__ import annotations

import pytest

from tests.chat.infer.habits import NAMINGS, TOOLS
from tui_host.chat.infer.names import meant, tools_named
from tui_host.chat.infer.values import READING, Asked

KNOWN = [(server, tool) for server, tools in TOOLS.items() for tool in tools]
ALONE = 6
"""Of the ways in which hosts name tools, the one that leaves the server out."""


@pytest.mark.parametrize("number", range(len(NAMINGS)))
def test_a_name_stands_for_its_tool_however_a_host_joins_cleans_and_shortens_it(number: int) -> None:
    for server, tool in KNOWN:
        found = tools_named(NAMINGS[number](server, tool), KNOWN)
        assert (server, tool) in found
        says_no_server = number == ALONE or "0mcp0" in NAMINGS[number](server, tool)
        assert found == {(server, tool)} or (says_no_server and {each for _, each in found} == {tool})


@pytest.mark.parametrize("name", ["web__fetch", "get", "jobs__restart", "x" * 70, "mcp__jobs__get_status_of_all", ""])
def test_a_name_that_no_tool_has_stands_for_none(name: str) -> None:
    assert tools_named(name, KNOWN) == frozenset()


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
        ("docs__access_mcp_resource", '{"uri": "a:b"}', ("docs__", '{"uri":"a:b"}')),
        ("access_mcp_resource", '{"server_name": "docs", "uri": "a:b"}', ("docs__", '{"uri":"a:b"}')),
        ("ReadMcpResourceTool", '{"server": "docs", "uri": "a:b"}', ("docs__", '{"uri":"a:b"}')),
        ("read_mcp_resource", '{"uri": "a:b", "server": "docs"}', ("docs__", '{"uri":"a:b"}')),
    ],
)
def test_what_reads_a_resource_means_a_request_for_it(name: str, arguments: str, wanted: tuple[str, str]) -> None:
    asked = Asked(
        key="1", capture="c", exchange="1", number=0, wire_id="", name=name, arguments=arguments, at_ns=0, spans=()
    )
    assert meant(asked) == (f"{wanted[0]}{READING}", wanted[1])
    assert tools_named(meant(asked)[0], [*KNOWN, ("docs", READING), ("math", READING)]) == {("docs", READING)}
