"""Requests and responses taken apart: what each part says, who brought it, what it takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from typing_extensions import override

from tests.tui.details_drawn import drawn, frame, row_of
from tests.tui.inspector_wires import CALL, MESSAGES, Wires, a_turn, events_of, request_body, to_json
from tui_host.capture.ladder.row import Row
from tui_host.capture.redact.redaction import Redactor
from tui_host.errors import JSON
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.dialects.dialect_table import DIALECTS
from tui_host.tui.masks import Mask
from tui_host.tui.widgets.details.events_tab import events_page
from tui_host.tui.widgets.details.wire_tabs import frame_page, headers_page, raw_page, timing_page
from tui_host.tui.widgets.ladder.row_words import describe
from tui_host.tui.widgets.pages.detail_page import Page
from tui_host.tui.widgets.pages.page_steps import Steps, made
from tui_host.tui.widgets.pages.parts_page import parts_page
from tui_host.tui.widgets.pages.tree_page import Entry, TreePage


def test_a_request_is_taken_apart_with_bytes_tokens_and_origin() -> None:
    wires = Wires()
    a_turn(wires)
    text = "\n".join(drawn(parts_page(wires, row_of(wires, "request"), set())))
    assert "the first request" in text
    assert "+ tools (1)" in text
    assert "- messages (2)" in text
    assert "from you" in text
    assert "~" in text
    wires.user = "the user"
    text = "\n".join(drawn(parts_page(wires, row_of(wires, "request"), set())))
    assert "from the user" in text
    assert "from you" not in text


def test_what_is_new_since_the_request_before_is_marked() -> None:
    wires = Wires()
    a_turn(wires)
    lines = drawn(parts_page(wires, row_of(wires, "request", 1), set()))
    assert any("+2 messages, tools unchanged" in line for line in lines)
    assert next(line for line in lines if "messages (4)" in line).rstrip().endswith("+2")
    assert next(line for line in lines if "assistant" in line).rstrip().endswith("+")
    assert next(line for line in lines if "user" in line).rstrip()[-1].isdigit()


class SpokenTwoWays(Wires):
    """Taps may see several hosts at once."""

    @override
    def dialect(self, row: Row) -> Dialect | None:
        return DIALECTS["gemini" if row.exchange == "between" else "openai"]


def test_a_request_is_compared_with_the_one_before_it_in_its_own_dialect() -> None:
    wires = SpokenTwoWays()
    body = request_body([{"role": "user", "content": "one"}])
    first, between, last = (wires.request(body, 1.0, exchange=each) for each in ("first", "between", "last"))
    assert wires.before(between) is None
    before = wires.before(last)
    assert before is not None
    assert before.number == first.number


def test_a_response_is_folded_to_what_it_says() -> None:
    wires = Wires()
    a_turn(wires)
    text = "\n".join(drawn(parts_page(wires, row_of(wires, "response"), set())))
    assert "asks  math__multiply" in text
    assert '"a": 6' in text
    assert "stop: tools (tool_calls)" in text


_CALL: JSON = {"index": 0, "id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, '}}


@pytest.mark.parametrize(
    ("delta", "said"), [({"content": "Hel"}, "answer  Hel"), ({"tool_calls": [_CALL]}, 'asks  add {"a": 1')]
)
def test_a_response_that_still_comes_says_so_far(delta: dict[str, JSON], said: str) -> None:
    wires = Wires()
    request = wires.request(request_body(MESSAGES), 1.0, exchange="x")
    response = wires.response(request, 1.1)
    response = wires.chunk(response, events_of(delta)[0], 1.2)
    text = "\n".join(drawn(parts_page(wires, response, set())))
    assert "so far" in text
    assert said in text
    assert "cut" not in text


def test_a_secret_that_a_model_spells_in_several_events_is_masked_where_they_are_joined() -> None:
    wires = Wires()
    wires.mask = Mask(lambda: Redactor([("KEY", "hunter2-hunter2")]))
    response = wires.response(wires.request(request_body(MESSAGES), 1.0, exchange="x"), 1.1)
    for event in events_of({"content": "x" * 195 + "hunter2"}, {"content": "-hunter2"}):
        response = wires.chunk(response, event, 1.2)
    text = "\n".join(drawn(parts_page(wires, wires.end(response, 1.3), set()), 300))
    assert "••• KEY (15)" in text
    assert "hunter" not in text


def test_a_refusal_is_told_in_the_provider_s_words() -> None:
    wires = Wires()
    request = wires.request(request_body(MESSAGES), 1.0, exchange="x")
    response = wires.response(request, 1.1, status=401)
    response = wires.chunk(response, to_json({"error": {"message": "bad key", "type": "auth"}}), 1.2)
    text = "\n".join(drawn(parts_page(wires, wires.end(response, 1.3), set())))
    assert "status: 401" in text
    assert "bad key" in text


@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b'{"messages":[', b'{"tools":[{}],"messages":', b"data: {", b'data: {"choices":[']),
)
def test_no_body_is_refused(data: bytes, head: bytes) -> None:
    wires = Wires()
    wires.request(b'{"messages":[]}', 0.5, exchange="x0")
    request = wires.request(head + data, 1.0, exchange="x")
    response = wires.response(request, 1.1, head + data)
    for row in (request, response, wires.end(response, 2.0), frame(wires, head + data)):
        pages: list[Page | Steps[Page]] = [raw_page(wires, row), frame_page(wires, row)]
        pages += [headers_page(wires, row), timing_page(wires, row), events_page(wires, row, set())]
        if row.lane == "llm":
            pages.append(parts_page(wires, row, set()))
            made(describe(wires, row))
        for page in pages:
            assert all(cell_len(line) <= 40 for line in drawn(page, 40))


# Trees.


def test_a_tree_keeps_its_figures_in_columns_and_cuts_labels() -> None:
    entries = [
        Entry(key="a", label="x" * 200, figures=("1,902", "~540")),
        Entry(key="b", label="short", figures=("8", "~2"), mark="+2", note="from you"),
    ]
    lines = drawn(TreePage("parts", entries, flipped=set()), 40)
    assert [cell_len(line) for line in lines] == [40, 40]
    assert lines[0].endswith("… 1,902 ~540   ")
    assert lines[1].endswith("     8   ~2 +2")
    assert "from you" in lines[1]


def test_a_tool_call_s_argument_cannot_fake_an_entry() -> None:
    call: JSON = {**CALL, "function": {"name": "x", "arguments": "1\n+ tools (9)\x1b[2J"}}
    wires = Wires()
    row = wires.request(request_body([{"role": "assistant", "tool_calls": [call]}]), 1.0, exchange="x")
    text = drawn(parts_page(wires, row, {"/messages/messages/0"}))
    assert not any(line.lstrip().startswith("+ tools (9)") for line in text)
    assert "\x1b" not in "".join(text)


def all_of(page: Page) -> str:
    """Every line of a page."""
    page.fit(120)
    page.advance(10.0)
    return "\n".join("".join(text for text, _ in page.draw(number)) for number in range(len(page)))


def test_parts_tell_every_figure_that_was_reported() -> None:
    class Local(Wires):
        @override
        def dialect(self, row: Row) -> Dialect | None:
            return DIALECTS["ollama"] if row.lane == "llm" else None

    told = (
        b'{"message":{"role":"assistant","content":"hi"},"done":true,"done_reason":"stop","total_duration":5000000000,'
        b'"load_duration":30000000,"prompt_eval_count":120,"prompt_eval_duration":80000000,"eval_count":48,'
        b'"eval_duration":4000000000}\n'
    )
    cached: JSON = {
        "choices": [],
        "usage": {
            "prompt_tokens": 120,
            "completion_tokens": 48,
            "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 9},
            "completion_tokens_details": {"reasoning_tokens": 16},
        },
    }
    local, distant = Local(live=False), Wires(live=False)
    here = local.end(local.response(local.request(b"{}", 1.0, exchange="x"), 1.1, told), 1.2)
    asked = distant.request(request_body(MESSAGES), 1.0, exchange="x")
    there = distant.end(distant.response(asked, 1.1, b"data: " + to_json(cached) + b"\n\ndata: [DONE]\n\n"), 1.2)

    assert "0.03 s loading, 0.08 s reading, 4.00 s writing, 12.0 tokens a second" in all_of(
        made(parts_page(local, here, set()))
    )
    drawn = all_of(made(parts_page(distant, there, set())))
    assert "120 in, 64 of them cached, 9 of them written to the cache, 48 out, 16 of them thinking" in drawn
