"""The pages of a heading about cost: what a request consists of, what tools cost, and the servers as they were."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from tests.llm.protocols.answers import PLAIN
from tests.tui.details_drawn import drawn
from tests.tui.inspector_wires import (
    CALL,
    CALL_ID,
    MESSAGES,
    TOOL,
    Wires,
    a_turn,
    connected,
    events_of,
    request_body,
    to_json,
)
from tui_host.answers.bill_page import Bill, bill_of
from tui_host.answers.pages import ROW_PAGES, SECTION_PAGES
from tui_host.answers.prompted_tools import LISTS, listed_tools
from tui_host.answers.request_weights import requests_of, weigh
from tui_host.answers.section import Section
from tui_host.answers.servers_page import servers_of
from tui_host.answers.sheet import as_json
from tui_host.answers.steps import made
from tui_host.answers.tools_page import tool_costs
from tui_host.capture.connection_end import connection_end
from tui_host.capture.link import Link, Span
from tui_host.capture.record import Draft, Head, Place
from tui_host.errors import JSON
from tui_host.llm.messages import ToolSpec
from tui_host.llm.protocols.table import protocol
from tui_host.llm.protocols.text_protocol import TextProtocol
from tui_host.settings.schema import Price
from tui_host.tui.widgets.details.detail_panel import ANSWERS, OF_SECTIONS, page_of, tabs_of

SESSION = Section(is_session=True)
USAGE: JSON = {
    "choices": [],
    "usage": {"prompt_tokens": 120, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 64}},
}


def shown(tab: str, wires: Wires, section: Section = SESSION) -> str:
    return "\n".join(drawn(page_of(tab, wires, section, set()), 140))


def answered(wires: Wires, exchange: str, at: float, *, step: int, body: bytes) -> None:
    """A request and its response, which reports tokens."""
    request = wires.request(body, at, exchange=exchange, step=step)
    *events, last = events_of({"role": "assistant", "content": "30"})
    usage = b"data: " + to_json(USAGE) + b"\n\n"
    wires.end(wires.response(request, at + 0.1, *events, usage, last), at + 0.5)


def test_the_tabs_of_headings_and_rows_are_the_pages_that_exist() -> None:
    assert tuple(SECTION_PAGES) == OF_SECTIONS
    assert set(ROW_PAGES) == ANSWERS
    assert [tabs_of(each)[0] for each in (SESSION, Section(turn=1), Section())] == ["Time", "Time", "Servers"]


def test_each_page_without_anything_says_what_would_stand_there() -> None:
    for tab in OF_SECTIONS:
        assert "stand" in shown(tab, Wires()), tab


def test_a_bill_tells_tools_messages_and_what_is_new_with_their_tokens() -> None:
    wires = Wires()
    a_turn(wires)
    page = shown("Bill", wires)
    assert "bill of LLM 2, the largest of 2 requests, step 2 of turn 1" in page
    assert "the provider reported no tokens · estimate 120" in page
    assert "new here +2 messages, ~53 tokens" in page
    assert "prefix kept 255 of 480 B; goes on at messages[2]" in page
    assert "result of math.multiply" in page
    assert "put in by the tool protocol 0" in page
    bill = made(bill_of(wires, requests_of(wires, SESSION)))
    assert isinstance(bill, Bill)
    assert [(tool.server, tool.label, tool.unused) for tool in bill.tools] == [("math", "multiply", 0)]
    assert sum(part.size for part in bill.messages) == 300 - len("[,,,]")
    assert [weight.request for weight in bill.requests] == ["LLM 1", "LLM 2"]


def test_a_bill_tells_what_the_provider_counted_and_how_far_the_estimate_is_from_it() -> None:
    wires = Wires()
    answered(wires, "x1", 1.0, step=1, body=request_body(MESSAGES))
    page = shown("Bill", wires, Section(clock="c1", turn=1, step=1))
    assert "provider 120 · estimate 68 (-43 %) · cached 64 · out 5" in page
    assert "1 never called" in page


def test_a_bill_is_that_of_the_largest_answered_request_and_lists_where_prefixes_break() -> None:
    wires = Wires()
    noon: JSON = {"role": "system", "content": "You are helpful. It is 12:00."}
    later: JSON = {"role": "system", "content": "You are helpful. It is 12:05."}
    more: JSON = {"role": "user", "content": "and now?"}
    answered(wires, "x1", 1.0, step=1, body=request_body([noon, more, more]))
    refused = wires.request(request_body([noon, more, more, more, more]), 3.0, exchange="x2", step=2)
    wires.end(wires.response(refused, 3.1, b"{}", status=429), 3.2)
    answered(wires, "x3", 5.0, step=3, body=request_body([later, more, more, more]))
    page = shown("Bill", wires)
    assert "bill of LLM 3, the largest of 3 requests" in page
    assert "new here +1 message" in page
    assert "the prefix breaks (1), and the cache with it" in page
    assert 'LLM 3  messages[0], system prompt, changed: "12:00" -> "12:05" (a time' in page


def test_bill_and_tools_tell_money_where_prices_are_configured() -> None:
    wires = Wires()
    wires.prices["openai"] = Price(input=10.0, cached=1.0, cache_written=10.0, output=100.0)
    for number in range(1, 3):
        answered(wires, f"x{number}", number, step=number, body=request_body(MESSAGES))
    page = shown("Bill", wires)
    assert "all 2 requests: provider 240 · estimate 136 (-43 %) · cached 128 · out 10 · by your prices 0.00225" in page
    (tool,) = made(tool_costs(wires, SESSION)).tools
    assert tool.cost is not None
    assert abs(tool.cost - 2 * 0.000624 * tool.tokens / 68) < 1e-9
    assert "by your prices, " in shown("Tools", wires)


def test_a_bill_tells_what_was_put_in_by_purpose() -> None:
    wires = Wires()
    body = request_body(MESSAGES)
    wires.request(body, 1.0, exchange="x1")
    start = body.index(b"You are helpful")
    wires.link("injected", Span(exchange="x1", side="request", start=start, end=start + 15), 1.0)
    page = shown("Bill", wires)
    assert "tool protocol: " in page
    assert "put in by the tool protocol 0" not in page


@pytest.mark.parametrize("name", PLAIN)
def test_tools_in_the_prompt_have_their_shares(name: str) -> None:
    spoken, known = protocol(name), {"math__multiply": ("math", "multiply"), "math__add": ("math", "add")}
    tools = [
        ToolSpec(name=called, description=f"- {tool}: it does.\n", schema={}, server=server, tool=tool)
        for called, (server, tool) in known.items()
    ]
    assert isinstance(spoken, TextProtocol)
    text = json.dumps(spoken.tool_list(tools))[1:-1].encode()
    listed = list(listed_tools(text, known))
    assert [(tool.server, tool.tool) for tool in listed] == [("math", "multiply"), ("math", "add")]
    assert all(tool.tool.encode() in text[tool.start : tool.end] for tool in listed)
    wires = Wires()
    body = (
        request_body([{"role": "system", "content": "HERE"}]).replace(b'"tools":[', b'"none":[').replace(b"HERE", text)
    )
    wires.request(body, 1.0, exchange="x1")
    start = body.index(text)
    span = Span(exchange="x1", side="request", start=start, end=start + len(text))
    link = Link(relation="injected", call="", span=span, words=LISTS)
    wires.append(Draft(wire="host", kind="link", data=link.to_bytes()), 1.0)
    assert "2 never called" in shown("Bill", wires)
    assert [tool.tool for tool in made(tool_costs(wires, SESSION)).tools] == ["multiply", "add"]


def test_a_list_of_tools_of_unknown_form_says_that_no_share_is_known() -> None:
    assert list(listed_tools(b"You can multiply and add.", {})) == []


def test_thinking_images_and_calls_are_kinds_of_their_own() -> None:
    wires = Wires()
    picture: JSON = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages: list[JSON] = [
        {"role": "user", "content": [{"type": "text", "text": "what is it?"}, picture]},
        {"role": "assistant", "content": "It is", "reasoning_content": "a long thought about pictures"},
    ]
    wires.request(request_body(messages), 1.0, exchange="x1")
    bill = made(bill_of(wires, requests_of(wires, SESSION)))
    assert isinstance(bill, Bill)
    assert {part.label for part in bill.messages} == {"user", "images", "assistant", "thinking"}


def test_tools_are_sorted_by_their_tokens_in_all_and_tell_changes_with_their_words() -> None:
    wires = Wires()
    add: JSON = {"type": "function", "function": {"name": "math__add", "description": "Adds.", "parameters": {}}}
    changed = json.loads(to_json(TOOL))
    changed["function"]["description"] = "Multiply three numbers."
    for number, tools in enumerate(([TOOL, add], [TOOL], [changed]), start=1):
        body = to_json({"model": "m", "tools": tools, "messages": MESSAGES})
        answered(wires, f"x{number}", number, step=number, body=body)
    costs = made(tool_costs(wires, SESSION))
    assert [(tool.tool, tool.requests, tool.calls) for tool in costs.tools] == [("multiply", 3, 0), ("add", 1, 0)]
    assert [change.request for change in costs.tools[0].changes] == ["LLM 3"]
    assert "[-two-]{+three+}" in shown("Tools", wires)
    assert json.dumps(as_json(costs))


def test_requests_are_read_once_and_equal_lists_of_tools_are_the_same_values() -> None:
    wires = Wires()
    for number in range(1, 3):
        answered(wires, f"x{number}", number, step=number, body=request_body(MESSAGES))
    rows = requests_of(wires, SESSION)
    first, second = made(weigh(wires, rows))
    assert first.tools is second.tools
    assert [once is again for once, again in zip((first, second), made(weigh(wires, rows)), strict=True)] == [True] * 2


def test_servers_tell_version_tools_and_how_their_connections_ended() -> None:
    wires = Wires()
    connected(wires)
    introduction: JSON = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "Maths", "version": "2.1"}}
    listed: JSON = {"tools": [{"name": "multiply", "inputSchema": {}}, {"name": "add", "inputSchema": {}}]}
    for number, (method, result) in enumerate((("initialize", introduction), ("tools/list", listed)), start=7):
        wires.frame(to_json({"jsonrpc": "2.0", "id": number, "method": method}), 0.2, direction="out", turn=0)
        wires.frame(to_json({"jsonrpc": "2.0", "id": number, "result": result}), 0.3, direction="in", turn=0)
    a_turn(wires)
    wires.stderr("one\x1b[31m", 9.0)
    wires.stderr("Aborted (core dumped)", 9.1)
    wires.append(connection_end("math", "n1", "exited 134"), 9.2)
    wires.ladder.feed([replace(wires.records[0], capture="of the app that shows the session now")])
    page = shown("Servers", wires)
    assert "math  Maths 2.1 · MCP 2025-06-18 · stateful · offered in 2 of 2 requests" in page
    assert "connection 1  exited 134" in page
    assert "connection 2" not in page
    assert "stderr  Aborted (core dumped)" in page
    assert "\x1b" not in page
    (server,) = made(servers_of(wires))
    assert (server.tools, server.calls) == (2, 1)


def test_servers_that_took_no_part_are_one_line() -> None:
    wires = Wires()
    a_turn(wires)
    for name in ("lab", "docs"):
        draft = Draft(wire="mcp", kind="frame", peer=name, connection=name, direction="out", place=Place())
        wires.append(replace(draft, data=b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\n'), 3.93)
    for number in ("n2", "n3"):
        draft = Draft(wire="mcp", kind="frame", peer="math", connection=number, direction="out", place=Place())
        wires.append(replace(draft, data=b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\n'), 3.93)
    wires.request(request_body(MESSAGES), 4.0, exchange="x3", step=3)
    page = shown("Servers", wires)
    assert "2 more servers connected, none offered to the model" in page
    assert "2 connections without calls" in page
    assert "lab" not in page


def test_a_rejected_call_is_asked_and_not_sent() -> None:
    wires = Wires()
    first = wires.request(request_body(MESSAGES), 1.0, exchange="x1")
    asks: JSON = {"role": "assistant", "tool_calls": [{"index": 0, **CALL}]}
    wires.end(wires.response(first, 1.1, *events_of(asks, finish="tool_calls")), 1.6)
    wires.link("asked", Span(exchange="x1", start=0, end=10), 1.6)
    data: JSON = {"server": "math", "tool": "multiply", "decision": "rejected", "by": "person"}
    place = Place(session="s", turn=1, step=1, call=CALL_ID)
    wires.append(Draft(wire="host", kind="decision", peer="math", place=place, data=to_json(data)), 2.0)
    assert " 0 1 asked, 1 rejected" in shown("Tools", wires)


def test_the_time_of_a_call_whose_server_dies_is_that_of_the_server() -> None:
    wires = Wires()
    wires.request(request_body(MESSAGES), 1.0, exchange="x1")
    call = b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"multiply"}}'
    wires.frame(call, 2.0, direction="out", call=CALL_ID)
    wires.append(connection_end("math", "n1", "exited 134"), 2.4)
    wires.request(request_body(MESSAGES), 2.5, exchange="x2", step=2)
    page = shown("Time", wires)
    assert re.search("servers .* 400 ms", page)
    assert re.search("critical path[ \n](.*\n)*.*math #4 multiply, no answer +400 ms", page)


def test_the_url_of_a_server_is_told_without_credentials() -> None:
    wires = Wires()
    draft = Draft(
        wire="mcp", kind="request", peer="lab", direction="out", exchange="h1", connection="n9", place=Place()
    )
    head = Head(method="POST", url="https://me:hunter2@lab.example/mcp?token=abcdef123456")
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    wires.append(replace(draft, head=head, data=ping), 1.0)
    wires.append(replace(draft, kind="frame", data=ping), 1.0)
    page = shown("Servers", wires)
    assert "lab.example/mcp" in page
    assert "hunter2" not in page
    assert "abcdef123456" not in page
