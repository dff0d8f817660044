"""The chain of a call, what pages are asked about by name, and values that come again or from nowhere."""

import json
from dataclasses import replace

import pytest

from tests.cases import some
from tests.kit.peer import rpc
from tests.tui.inspector_wires import CALL_ID, MESSAGES, Wires, a_session, events_of, request_body, row_of, to_json
from tui_host.answers.bodies import body_of
from tui_host.answers.chain_page import ChainReader
from tui_host.answers.look_page import look_page
from tui_host.answers.names import subject_named
from tui_host.answers.pages import PAGES, sheet_of
from tui_host.answers.values import Values
from tui_host.answers.wires import RecordedTools, Section
from tui_host.capture.ladder.row import Row
from tui_host.capture.link import Span
from tui_host.capture.record import Record
from tui_host.chat.result_words import shortened
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.tool_names import OPENAI_NAMES


def tell(wires: Wires, content: str) -> None:
    told: JSON = {"role": "tool", "tool_call_id": "call_1", "content": content}
    body = request_body([*MESSAGES, told])
    wires.request(body, 2.0, exchange="x2", step=2)
    place = body.index(to_json(told))
    wires.link("told", Span(exchange="x2", side="request", start=place, end=place + len(to_json(told))), 2.0)
    wires.request(request_body([*MESSAGES, told, MESSAGES[1]]), 2.7, exchange="x3", step=3)


def test_what_was_asked_is_listed_in_the_characters_that_were_read_and_in_those_that_were_cut() -> None:
    wires = Wires()
    events = events_of(*({"content": text} for text in ("I call ", 'add({"a', '":1})', " It is 3.")))
    wires.end(wires.response(wires.request(request_body(MESSAGES), 1.0, exchange="x1"), 1.1, *events), 1.2)
    starts = [sum(map(len, events[:number])) for number in range(5)]
    wires.link("asked", Span(exchange="x1", start=starts[1], end=starts[3]), 1.2)
    wires.link("cut", Span(exchange="x1", start=starts[3], end=starts[4]), 1.2)
    asked = some(ChainReader(wires, CALL_ID).chain()).steps[0]
    body = b"".join(events)
    read = [(piece.part, body[piece.start : piece.end]) for piece in asked.pieces]
    assert read == [("text", rb"add({\"a"), ("text", rb"\":1})"), ("cut", b" It is 3.")]
    assert asked.place == "events 2-3, 12 characters of text"
    assert asked.state == "8 characters after the call cut by the tool protocol"


def test_a_chain_says_what_the_model_was_not_told_and_which_value_comes_again() -> None:
    wires = Wires()
    wires.calls(4, 1.0, {"a": 6})
    wires.notice(1, 1.1)
    image: JSON = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    content: JSON = [{"type": "text", "text": "it is GZ-7741-K"}, image]
    result: JSON = {"content": content, "structuredContent": {"id": "GZ-7741-K", "mayor": "nobody"}}
    wires.frame(rpc(id=4, result=result), 1.5, direction="in", call=CALL_ID)
    tell(wires, "it is GZ-7741-K")
    wires.decision(2.9, call="1.3.1", decision="edited", sent={"b": "GZ-7741-K"})
    wires.calls(5, 3.0, {"b": "GZ-7741-K"}, {"content": []}, call="1.3.1")

    chain, later = ChainReader(wires, CALL_ID).chain(), ChainReader(wires, "1.3.1").chain()
    assert chain is not None
    assert later is not None
    steps = {step.happened: step for step in chain.steps}
    assert [piece.text for piece in steps["answered"].pieces] == [json.dumps(result)]
    assert steps["during"].value == "log: info: n 1"
    carried = "LLM 1 and 1 later request (to LLM 2)"
    again = f'"GZ-7741-K" comes again in {carried}, math.multiply (call 1.3.1, put in by an edit)'
    assert (steps["answered"].repeats, steps["told"].repeats) == ((again,), (f"the result stands in {carried}",))
    assert steps["told"].place == "messages[2]"
    assert steps["told"].state == (
        "told: text with the values of structuredContent id · not told: image, structuredContent mayor, 1 log line"
    )
    assert [step.value for step in later.steps if step.happened == "told"] == ["not told yet"]
    looks = [line.label for line in look_page(wires, Section(is_session=True)).lines]
    assert looks == ["math #4  the model was not told: image, structuredContent mayor"]


@pytest.mark.parametrize(
    ("command", "text", "what"),
    [
        ("bill", "2", "bill of LLM 2, step 2 of turn 1"),
        ("bill", "llm:1", "bill of LLM 1, step 1 of turn 1"),
        ("bill", "turn 1", "bill of LLM 2, the largest of 2 requests, step 2 of turn 1"),
        ("changes", "LLM 1 LLM 2", "changes of LLM 2 since LLM 1, the request before"),
        ("changes", "2 1", "changes of LLM 1 since LLM 2"),
        ("time", "turn 1", "time of turn 1: 2.9 s"),
        ("chain", "math #4", "math.multiply  call s.1.1.1 = math #4, connection 1  2.3 s, of it 2.3 s until decided"),
        ("chain", "multiply", "math.multiply  call s.1.1.1 = math #4, connection 1  2.3 s, of it 2.3 s until decided"),
        ("calls", "1", "calls of turn 1: 1"),
        ("tools", "", "tools of the session: 1 in 2 requests"),
        ("bill", "LLM 9", "has no request LLM 9"),
        ("time", "yesterday", "has no turn yesterday"),
        ("time", "turn 9", "has no turn 9"),
        ("chain", "divide", "has no call divide"),
        ("changes", "1 2 3", "it takes 2 names, not 3"),
        ("servers", "math", "it takes no names"),
    ],
)
def test_pages_take_the_names_that_they_print_and_say_what_they_cannot_read(command: str, text: str, what: str) -> None:
    wires, page = a_session(), next(page for page in PAGES if page.command == command)
    try:
        shown = sheet_of(page.name, wires, subject_named(wires, page, text)).what
    except TuiHostError as error:
        shown = error.what
    assert shown == what


def test_the_parts_of_a_bill_are_all_of_the_request() -> None:
    wires, page = a_session(), next(page for page in PAGES if page.name == "Bill")
    row = subject_named(wires, page, "2")
    assert isinstance(row, Row)
    parts = [part.values for part in sheet_of("Bill", wires, row).lines if part.values and "above" not in part.label]
    assert sum(int(str(values["bytes"])) for values in parts) == len(body_of(wires, row).data)


def test_values_are_compared_without_the_separators_of_numbers_and_from_nowhere_is_said() -> None:
    wires = Wires()
    content: JSON = [{"type": "text", "text": "to: ops@example.org"}]
    wires.calls(4, 1.0, {"city": "Paris"}, {"content": content, "structuredContent": {"people": 2102650}})
    tell(wires, "to: ops@example.org, 2,102,650 people")
    asked, said = row_of(wires, "request"), "2.102650 million, 2,102,650 or 77?"
    answer = wires.response(asked, 2.1, *events_of({"content": said}))
    wires.end(answer, 2.2)
    assert [line.label for line in look_page(wires, Section(is_session=True)).lines] == []
    values = Values(wires)
    assert [(origin.value, origin.words) for origin in values.of_answer(wires.ladder.rows[answer.number])] == [
        ("2102650", "from math.multiply (math #4)"),
        ("2.102650", "from nowhere"),
        ("77", "from nowhere"),
    ]
    arguments: JSON = {"to": "ops@example.org", "cc": ["you are", "helpful"], "count": 6}
    assert values.notes_on(arguments) == {"to": "text from math.multiply (math #4), step 1"}


def test_a_chain_says_how_much_of_a_long_result_was_told() -> None:
    wires = Wires()
    text = "line of the report\n" * 4_000
    wires.calls(4, 1.0, result={"content": [{"type": "text", "text": text}]})
    tell(wires, shortened(text))
    states = {step.happened: f"{step.value} {step.state}" for step in some(ChainReader(wires, CALL_ID).chain()).steps}
    assert "told: text (50," in states["told"]
    assert "of 76,000 characters)" in states["told"]
    assert [
        "the model was told a part:" in line.label for line in look_page(wires, Section(is_session=True)).lines
    ] == [True]


def listed(tools: RecordedTools, capture: str, server: str, *names: str) -> None:
    data = rpc(id=1, result={"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]})
    draft = Record(wire="mcp", kind="frame", peer=server, direction="in", data=data)
    tools.feed(replace(draft, capture=capture, seq=1, time_ns=1, mono_ns=1))


def test_each_capture_has_the_names_of_its_own_servers() -> None:
    tools = RecordedTools()
    listed(tools, "then", "math", "add")
    listed(tools, "now", "lab", "add", "天气")
    assert tools.names("then", OPENAI_NAMES) == {"math__add": ("math", "add")}
    assert set(tools.names("now", OPENAI_NAMES).values()) == {("lab", "add"), ("lab", "天气")}
    assert tools.names("now", OPENAI_NAMES)["lab__天气"] == ("lab", "天气"), "as text protocols keep it"
    assert set(tools.names("a model's own file", OPENAI_NAMES)) >= {"math__add", "lab__add"}
