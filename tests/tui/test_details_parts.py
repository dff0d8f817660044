"""Requests and responses taken apart: what each part says, who brought it, what it takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.tui.details_drawn import drawn, frame, row_of
from tests.tui.inspector_wires import CALL, MESSAGES, TOOL, Wires, a_turn, events_of, request_body, to_json
from tui_host.answers.masks import Mask
from tui_host.answers.sheet import SheetLine
from tui_host.answers.steps import Steps, made
from tui_host.capture.link import Link, Span
from tui_host.capture.record import Draft
from tui_host.capture.redact.redaction import Redactor
from tui_host.errors import JSON
from tui_host.tui.glyphs import ASCII
from tui_host.tui.widgets.details.events_tab import events_page
from tui_host.tui.widgets.details.wire_tabs import frame_page, headers_page, raw_page, timing_page
from tui_host.tui.widgets.ladder.row_words import describe
from tui_host.tui.widgets.pages.detail_page import Page
from tui_host.tui.widgets.pages.parts_page import parts_page
from tui_host.tui.widgets.pages.tree_page import TreePage


def test_a_request_is_taken_apart_with_bytes_tokens_and_origin() -> None:
    wires = Wires()
    a_turn(wires)
    text = "\n".join(drawn(parts_page(wires, row_of(wires, "request"), set())))
    assert "the first request" in text
    assert "▸ tools (1)" in text
    assert "▾ messages (2)" in text
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
        SheetLine(key="a", label="x" * 200, figures=("1,902", "~540")),
        SheetLine(key="b", label="short", figures=("8", "~2"), mark="+2", note="from you"),
    ]
    lines = drawn(TreePage("parts", entries, flipped=set()), 40)
    assert [cell_len(line) for line in lines] == [40, 40]
    assert lines[0].endswith("… 1,902 ~540   ")
    assert lines[1].endswith("     8   ~2 +2")
    assert "from you" in lines[1]


def test_a_label_that_nothing_else_shows_wraps_between_words() -> None:
    figures = "tokens, as reported: 722 in, 8 of them cached, 48 out, 16 of them thinking"
    page = TreePage("parts", [SheetLine(key="a", label=figures), SheetLine(key="b", label="stop: end")], flipped=set())
    lines = drawn(page, 40)
    assert [line.strip() for line in lines] == [
        "tokens, as reported: 722 in, 8 of",
        "them cached, 48 out, 16 of them",
        "thinking",
        "stop: end",
    ]
    assert (page.place_of(2), page.place_of(3), page.line_at(1)) == (0, 1, 3)
    assert page.entry_of(1) == (figures, figures)


def test_a_closed_option_is_shown_whole() -> None:
    value = '{"include_usage":true}'
    option = SheetLine(
        key="a", label=f"stream_options  {value}", figures=("22", "~6"), text=lambda: value, is_wrapped=True
    )
    page = TreePage("parts", [option, SheetLine(key="b", label="messages", figures=("3,059", "~765"))], flipped=set())
    lines = drawn(page, 40)
    assert [line.split() for line in lines] == [
        ["▸", "stream_options", "22", "~6"],
        [value],
        ["messages", "3,059", "~765"],
    ]
    assert all(cell_len(line) <= 40 for line in lines)
    assert page.toggle(0) == 0
    assert drawn(page, 40)[1].strip() == "{"


def test_a_label_without_room_leaves_the_mark_whole_and_an_open_line_of_a_sheet_keeps_its_words() -> None:
    words = "the profile's words, and then some more of them"
    part = SheetLine(key="a", label=words, figures=("22",), mark="added", text=lambda: "text")
    assert [cell_len(line) for line in drawn(TreePage("parts", [part], flipped=set()), 40)] == [40]
    page = TreePage("chain", [SheetLine(key="a", label=words, text=lambda: "text", is_wrapped=True)], flipped={"/a"})
    assert [line.strip() for line in drawn(page, 40)] == [
        "▾ the profile's words, and then some",
        "more of them",
        "text",
    ]
    assert page.toggle(1) == 0
    assert [line.strip() for line in drawn(page, 40)] == ["▸ the profile's words, and then some", "more of them"]


def test_an_adapted_schema_is_told_above_and_at_its_tool() -> None:
    wires = Wires()
    body = request_body(MESSAGES)
    row = wires.request(body, 1.0, exchange="x")
    start = body.index(to_json(TOOL))
    span = Span(exchange="x", side="request", layer="wire", start=start, end=start + len(to_json(TOOL)))
    link = Link(relation="adapted", call="", span=span, words="adapted for openai: left out: oneOf")
    wires.append(Draft(wire="host", kind="link", data=link.to_bytes()), 1.0)
    lines = drawn(parts_page(wires, row, {"/tools", "/tools/tools/math__multiply"}))
    assert "adapted for openai: 1 of the tools, which say how" in lines
    place = next(number for number, line in enumerate(lines) if "math__multiply" in line)
    assert lines[place].rstrip().endswith("adapted")
    assert lines[place + 1].strip() == "adapted for openai: left out: oneOf"


def test_an_open_text_is_broken_between_words() -> None:
    text = "*demo model: I follow rules, I am no AI*\nand so on"
    entry = SheetLine(key="a", label="answer", figures=("84",), text=lambda: text, opened=True)
    lines = [line.strip() for line in drawn(TreePage("parts", [entry], flipped=set()), 40)]
    assert lines[1:] == ["*demo model: I follow rules, I am no", "AI*", "and so on"]


def test_folding_has_signs_of_its_own_in_ascii() -> None:
    child = SheetLine(key="a", label="child", figures=("8",), mark="+")
    entries = [
        SheetLine(key="x", label="open", figures=("8",), mark="+1", children=(child,), opened=True),
        SheetLine(key="y", label="shut", text=lambda: "text"),
    ]
    page = TreePage("parts", entries, flipped=set())
    page.fit(40, ASCII)
    lines = drawn(page, 40)
    assert lines[0].startswith("[-] open")
    assert lines[1].startswith("      child")
    assert lines[2].startswith("[+] shut")
    assert all(cell_len(line) <= 40 for line in lines)


def test_a_tool_call_s_argument_cannot_fake_an_entry() -> None:
    call: JSON = {**CALL, "function": {"name": "x", "arguments": "1\n+ tools (9)\x1b[2J"}}
    wires = Wires()
    row = wires.request(request_body([{"role": "assistant", "tool_calls": [call]}]), 1.0, exchange="x")
    text = drawn(parts_page(wires, row, {"/messages/messages/0"}))
    assert not any(line.lstrip().startswith("▸ tools (9)") for line in text)
    assert "\x1b" not in "".join(text)


def test_parts_tell_every_figure_that_was_reported() -> None:
    cached: JSON = {
        "choices": [],
        "usage": {
            "prompt_tokens": 120,
            "completion_tokens": 48,
            "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 9},
            "completion_tokens_details": {"reasoning_tokens": 16},
        },
    }
    wires = Wires(live=False)
    asked = wires.request(request_body(MESSAGES), 1.0, exchange="x")
    row = wires.end(wires.response(asked, 1.1, b"data: " + to_json(cached) + b"\n\ndata: [DONE]\n\n"), 1.2)
    figures = "120 in, 64 of them cached, 9 of them written to the cache, 48 out, 16 of them thinking"
    assert figures in "\n".join(drawn(parts_page(wires, row, set()), 120))


def test_a_part_knows_its_path_and_its_bytes_in_the_body() -> None:
    wires = Wires()
    row = wires.request(request_body([*MESSAGES, {"role": "assistant", "tool_calls": [CALL]}]), 1.0, exchange="x")
    page = made(parts_page(wires, row, {"/messages/messages/2"}))
    drawn(page, 60)
    assert [page.path(number) for number in range(4, len(page) - 1)] == [
        "messages",
        "messages[0]",
        "messages[1]",
        "messages[2]",
        "messages[2].tool_calls[0]",
    ]
    assert page.show_bytes(8) == 8
    assert "".join(line.strip() for line in drawn(page, 60)[9:-1]) == to_json(CALL).decode()
