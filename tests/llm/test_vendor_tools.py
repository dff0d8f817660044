"""What a vendor's built-in tool did, and the sources that an answer cites, in every dialect that has such tools."""

from __future__ import annotations

import pytest

from tests.llm.recorded.reading import fold_of
from tests.llm.recorded.wire import event
from tests.llm.streams import DONE, chunk
from tui_host.errors import JSON
from tui_host.llm.events import CitedPage

PAGE = CitedPage(url="https://a.example/", title="A page")
CITED: dict[str, JSON] = {"type": "url_citation", "url": PAGE.url, "title": PAGE.title}


def _anthropic() -> bytes:
    search: dict[str, JSON] = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    found: dict[str, JSON] = {"type": "web_search_result", "url": PAGE.url, "title": PAGE.title}
    result: dict[str, JSON] = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [found]}
    query: JSON = {"type": "input_json_delta", "partial_json": '{"query": "weather"}'}
    cited: JSON = {"type": "citations_delta", "citation": {**CITED, "cited_text": "x"}}
    events: list[dict[str, JSON]] = [
        {"type": "content_block_start", "index": 0, "content_block": search},
        {"type": "content_block_delta", "index": 0, "delta": query},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": result},
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": "sunny"}},
        {"type": "content_block_delta", "index": 2, "delta": cited},
        {"type": "content_block_stop", "index": 2},
    ]
    return b"".join(map(event, events))


def _responses() -> bytes:
    search: JSON = {"type": "web_search_call", "id": "w1", "action": {"type": "search", "query": "weather"}}
    text: JSON = {"type": "output_text", "text": "sunny", "annotations": [CITED]}
    message: JSON = {"type": "message", "id": "m1", "role": "assistant", "content": [text]}
    return event({"type": "response.output_item.done", "output_index": 0, "item": search}) + event(
        {"type": "response.output_item.done", "output_index": 1, "item": message}
    )


def _gemini() -> bytes:
    grounding: JSON = {
        "webSearchQueries": ["weather"],
        "groundingChunks": [{"web": {"uri": PAGE.url, "title": PAGE.title}}],
    }
    content: JSON = {"role": "model", "parts": [{"text": "sunny"}]}
    return event({"candidates": [{"content": content, "groundingMetadata": grounding, "finishReason": "STOP"}]})


def _openai() -> bytes:
    cited: JSON = {"type": "url_citation", "url_citation": {"url": PAGE.url, "title": PAGE.title}}
    return chunk({"content": "sunny"}) + chunk({"annotations": [cited]}) + DONE


@pytest.mark.parametrize(
    ("dialect", "body", "tool"),
    [
        ("anthropic", _anthropic(), "web_search"),
        ("openai-responses", _responses(), "web_search"),
        ("gemini", _gemini(), "google_search"),
        ("openai", _openai(), ""),
    ],
)
def test_what_a_built_in_tool_did_and_the_sources_are_read(dialect: str, body: bytes, tool: str) -> None:
    fold = fold_of(dialect, body)

    assert fold.text == "sunny"
    assert [(run.tool, run.asked) for run in fold.vendor_runs] == ([(tool, "weather")] if tool else [])
    assert fold.sources == [PAGE]
