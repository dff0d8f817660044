"""What deserves a look, and how a call's life, the events of streams and long bodies are read for a person."""

from concurrent.futures import Future

import pytest

from tests.answers.chained import steps_of
from tests.capture.ladder_wires import Wires as BothWires
from tests.capture.ladder_wires import at, call_of, result_of
from tests.kit.peer import rpc
from tests.llm.recorded.asks import EVERY
from tests.llm.recorded.case import TEXT
from tests.tui.inspector_wires import MESSAGES, Wires, events_of, request_body
from tui_host.answers.bodies import Body
from tui_host.answers.event_words import Said, event_said
from tui_host.answers.look_page import Looks, look_page
from tui_host.answers.wires import Section
from tui_host.capture.http.sse import SseDecoder
from tui_host.errors import JSON
from tui_host.llm.body_framing import LineDecoder
from tui_host.llm.dialects.table import DIALECTS
from tui_host.tui.widgets.details.tabs import page_of
from tui_host.tui.widgets.pages.tree_page import Page


def reasons(wires: Wires) -> list[str]:
    return [line.label for line in look_page(wires, Section(is_session=True)).lines]


def answered(wires: Wires, body: bytes, at: float, exchange: str, step: int) -> None:
    request = wires.request(body, at, exchange=exchange, step=step)
    wires.end(wires.response(request, at + 0.1, *events_of({"content": "30"})), at + 0.2)


def test_retries_refusals_and_broken_prefixes_deserve_a_look_and_an_appended_message_does_not() -> None:
    wires = Wires()
    request = wires.request(request_body(MESSAGES), 0.1, exchange="x0")
    wires.end(wires.response(request, 0.2, b"slow down", status=429), 0.3)
    answered(wires, request_body(MESSAGES), 1.0, "x1", 1)
    answered(wires, request_body([*MESSAGES, {"role": "user", "content": "and 7?"}]), 2.0, "x2", 2)
    answered(wires, request_body([{"role": "system", "content": "It is 12:01."}, *MESSAGES[1:]]), 3.0, "x3", 3)
    cause = (
        'messages[0], system prompt, changed: "You are helpful" -> "It is 12:01"; also messages[2], text of the user'
    )
    assert reasons(wires) == [
        "LLM 1  1 of 1 tools of the session were never called: ~128 tokens",
        "LLM 1  it was refused with 429",
        "LLM 2  the request was sent again after LLM 1 had failed",
        f"LLM 4  the cached beginning breaks: {cause}",
    ]


def test_a_call_that_nobody_read_deserves_a_look_once_its_answer_is_whole_and_an_explanation_does_not() -> None:
    wires = Wires()
    for number, text in enumerate(
        (
            '<tool_call>\n{"name": "math__add", "arguments": {}}\n</tool_call>',
            'Qwen writes\n```\n<tool_call>\n{"name": "math__add", "arguments": {}}\n</tool_call>\n```',
        )
    ):
        request = wires.request(request_body(MESSAGES), 1.0 + number, exchange=f"x{number}", step=number + 1)
        response = wires.response(request, 1.1 + number, *events_of({"content": text}))
        assert len(reasons(wires)) == number  # with each piece of a long answer it would be read anew
        wires.end(response, 1.2 + number)
    what = (
        "the model called a tool, but its call stands unread in the text, in the form of Qwen's or Hermes' <tool_call>"
    )
    assert reasons(wires) == [f"LLM 1  {what}"]


def test_rows_are_looked_through_again_once_they_change() -> None:
    wires = Wires(live=False)
    request = wires.request(request_body(MESSAGES), 1.0, exchange="x1")
    looks = Looks(wires)
    assert looks.advance()
    assert looks.numbers == []
    wires.end(wires.response(request, 1.1, b"no", status=500), 1.2)
    assert looks.is_behind
    assert looks.advance()
    assert [looks.look(wires.ladder.rows[number])[1] for number in looks.numbers] == ["it was refused with 500"]


def test_what_servers_do_not_offer_is_one_line_behind_the_errors() -> None:
    wires = Wires()
    for number, method in enumerate(("prompts/list", "resources/list", "roots/none")):
        wires.frame(rpc(id=number, method=method), 0.1, direction="out", turn=0)
        error: JSON = {"code": -32601, "message": "Method not found"}
        wires.frame(rpc(id=number, error=error), 0.2, direction="in", turn=0)
    (failed, folded) = look_page(wires, Section(is_session=True)).lines
    assert (failed.label, failed.style) == ("math #2  this is an error: -32601 Method not found", "failed")
    assert folded.label == "not offered by math: prompts/list, resources/list (asked at the start, no error)"


CALLS = ("1.1.1", "1.2.1")


def test_progress_and_a_servers_question_stand_between_call_and_answer() -> None:
    wires = BothWires()
    wires.frame(
        "out", rpc(id=1, method="tools/call", params={"name": "add", "_meta": {"progressToken": 1}}), at(call="c1")
    )
    wires.frame("in", rpc(method="notifications/progress", params={"progressToken": 1, "progress": 1}))
    wires.frame("in", rpc(id=1, method="roots/list"), at(call="c1"))
    wires.frame("out", rpc(id=1, result={"roots": []}))
    wires.frame("in", result_of(1))
    wires.frame("out", call_of(2), at(call="c2"))
    happened = [step.happened for step in steps_of("c1", wires.records())]
    assert happened == ["sent", "during", "during", "during", "answered"]


def test_later_attempts_of_a_call_are_named_where_it_failed_or_the_arguments_are_the_same() -> None:
    wires = BothWires()
    for call, arguments, failed in (("1.1.1", 1, True), ("1.2.1", 2, False), ("1.3.1", 1, False), ("1.4.1", 3, False)):
        frame = rpc(id=arguments, method="tools/call", params={"name": "multiply", "arguments": {"a": arguments}})
        wires.frame("out", frame, at(call=call))
        wires.frame("in", result_of(arguments, failed=failed))
    again = [[step.value for step in steps_of(call, wires.records()) if step.happened == "again"] for call in CALLS]
    later = ("1.2.1, differs in a 1 -> 2", "1.3.1, with the same arguments", "1.4.1, differs in a 1 -> 3")
    assert again == [[f"asked again as call {words}" for words in later], []]


def _said(name: str, body: bytes) -> list[Said]:
    splitter = LineDecoder() if EVERY[name].is_in_lines else SseDecoder()
    reader = DIALECTS[name].reader()
    events = [*splitter.feed(body), *splitter.finish()]
    return [said for event in events if (said := event_said(reader, event)) is not None]


@pytest.mark.parametrize("name", EVERY)
def test_events_say_what_came_in_words_and_why_the_answer_ended(name: str) -> None:
    recorded = EVERY[name]
    said = _said(name, recorded.tools.body)
    words = "\n".join(each.words for each in said)
    assert "".join(each.text for each in said if each.kind == "text") == TEXT
    for wanted in ('text "Let me "', "name get_weather", 'arguments {"', f"stop {recorded.tools.vendor}"):
        assert wanted in words
    out = f"{recorded.usage.usage.output_total:,} out"
    for case, wanted in ((recorded.thinking, 'thinking "Two '), (recorded.usage, out), (recorded.failing, "error ")):
        assert any(wanted in each.words for each in _said(name, case.body))


KEY = f"sk-proj-{'a1B2' * 12}"


def test_keys_and_hidden_characters_are_found_in_all_pieces_of_a_body() -> None:
    words = ("word " * 13_104)[:65_520]  # the first piece would end inside of the key
    data = f'{words} {KEY}" {words}'.encode()
    first, second = Body(wire=data, data=data).pieces()
    text = first + second
    assert KEY[-8:] not in text
    assert text.replace("••• vendor-key (56)", KEY) == data.decode()
    data = ("x" * 65_536 + "\u200b").encode() * 2
    assert Body(wire=data, data=data).with_hidden().notes == ("contains 2 hidden characters, drawn as symbols",)


def test_a_long_body_shows_its_beginning_while_the_rest_is_read() -> None:
    wires = Wires()
    row = wires.frame(b"[" + b'"one",\n' * 40_000 + b'"end"]', 1.0, direction="in")
    beginning = Future[Page]()
    text, shown = page_of("Frame", wires, row, set(), beginning).source[1], beginning.result(0).source[1]
    assert (text.startswith(shown), len(shown) < 70_000) == (True, True)
