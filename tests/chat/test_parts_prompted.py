"""What the inspector's Parts tell of a turn through a tool protocol of plain text: what was put in, read out, and cut."""

from __future__ import annotations

import pytest
from typing_extensions import override

from tests.chat.bench import says
from tests.chat.conftest import Make
from tests.kit.bodies import event
from tests.llm.protocols.answers import PLAIN, call, made_up
from tests.tui.inspector_wires import Wires, drawn
from tui_host.answers.bodies import body_of
from tui_host.answers.steps import made
from tui_host.capture.ladder.row import Row
from tui_host.capture.link import Link, Span
from tui_host.capture.record import Record
from tui_host.errors import JSON
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.dialects.table import DIALECTS
from tui_host.tui.widgets.details.detail_panel import tabs_of
from tui_host.tui.widgets.ladder.row_words import describe
from tui_host.tui.widgets.pages.parts_page import parts_page


def text_of(wires: Wires, row: Row, *paths: str) -> str:
    """The page with these entries flipped."""
    return "\n".join(drawn(parts_page(wires, row, set(paths)), 140))


@pytest.mark.parametrize("name", PLAIN)
async def test_parts_tell_what_was_put_in_read_out_and_cut(bench: Make, name: str) -> None:
    async with bench.hearing(says(f"{call(name)}\n{made_up(name)}"), says("It is 11."), yes=True, protocol=name) as at:
        await at.ask("what is 6 + 5?")
    wires = Wires(live=False)
    wires.records = list(at.records)
    wires.ladder.feed(wires.records)
    rows = [row for row in wires.ladder.rows if row.lane == "llm"]
    first, second = (row for row in rows if row.kind == "request")
    pages = [text_of(wires, row, *(f"/messages/{key}" for key in _keys(wires, row))) for row in (first, second)]
    for words in ("added by the tool protocol: ", "lists the tools", "teaches the tool protocol"):
        assert words in pages[1]
    assert ["the result of math.add" in page for page in pages] == [False, True]

    response = next(row for row in rows if row.kind == "response")
    answered = text_of(wires, response)
    assert 'became the call  math.add {"a": 6, "b": 5}' in answered
    assert "text after the call, left out  " in answered
    assert made(describe(wires, response)).words.startswith('asks math.add {"a": 6')
    assert {found for row in wires.ladder.rows for found in row.calls} == {"1.1.1"}, "what is of no call joins no rows"


async def test_the_run_of_a_vendor_s_own_tool_is_a_row_and_stands_in_parts_with_its_sources() -> None:
    page: JSON = {"type": "web_search_result", "url": "https://a.example/", "title": "A page"}
    blocks: list[JSON] = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "weather"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [page]},
    ]
    events = [
        ({"type": "content_block_start", "index": n, "content_block": block}, n) for n, block in enumerate(blocks)
    ]
    body = b"".join(event(began) + event({"type": "content_block_stop", "index": n}) for began, n in events)
    wires = AnthropicWires(live=False)
    response = wires.response(wires.request(b"{}", 1.0, exchange="x"), 1.1, body)
    link = Link(relation="vendor", call="", span=Span(exchange="x", start=0, end=9), words="ran its own web_search")
    wires.append(Record(wire="host", kind="link", data=link.to_bytes()), 1.2)
    lines = [line.strip() for line in text_of(wires, wires.end(response, 1.3)).splitlines()]
    assert lines[1:4] == ["the vendor ran its own web_search: weather", "▾ sources (1)", "A page  https://a.example/"]
    row = wires.ladder.rows[-1]
    assert (row.kind, tabs_of(row), b"ran its own" in body_of(wires, row).data) == ("vendor", ("Raw",), True)


class AnthropicWires(Wires):
    @override
    def dialect(self, row: Row) -> Dialect | None:
        return DIALECTS["anthropic"] if row.lane == "llm" else None


def _keys(wires: Wires, row: Row) -> list[str]:
    dialect = wires.dialect(row)
    outline = dialect.outline(wires.body(row)) if dialect is not None else None
    return [] if outline is None else [part.key for top in outline.parts for part in top.children]
