"""The page Chain in the inspector: the key that shows it, and the key that goes to the row of a step."""

from __future__ import annotations

from tests.tui.details_drawn import row_of
from tests.tui.inspecting import Inspecting, a_session
from tests.tui.inspector_wires import CALL_ID, MESSAGES, Wires, events_of, request_body, to_json
from tui_host.answers.call_chain import chain_of
from tui_host.answers.chain_values import MOST_BYTES
from tui_host.answers.look import looks_of
from tui_host.answers.steps import made
from tui_host.capture.link import Span
from tui_host.chat.result_words import shortened
from tui_host.errors import JSON


def test_what_was_asked_is_listed_in_the_characters_that_were_read_and_in_those_that_were_cut() -> None:
    wires = Wires()
    fragments: list[JSON] = [
        {"content": "I call "},
        {"content": 'add({"a'},
        {"content": '":1})'},
        {"content": " It is 3."},
    ]
    events = events_of(*fragments)
    request = wires.request(request_body(MESSAGES), 1.0, exchange="x1")
    wires.end(wires.response(request, 1.1, *events), 1.2)
    starts = [sum(map(len, events[:number])) for number in range(5)]
    wires.link("asked", Span(exchange="x1", start=starts[1], end=starts[3]), 1.2)
    wires.link("cut", Span(exchange="x1", start=starts[3], end=starts[4]), 1.2)

    chain = made(chain_of(wires, CALL_ID))
    assert chain is not None
    asked = chain.steps[0]
    body = b"".join(events)
    assert [(piece.part, body[piece.start : piece.end]) for piece in asked.pieces] == [
        ("text", rb"add({\"a"),
        ("text", rb"\":1})"),
        ("cut", b" It is 3."),
    ]
    assert (asked.place, asked.state) == (
        "events 2-3, 12 characters",
        "8 characters after the call cut by the tool protocol",
    )


async def test_c_shows_the_chain_and_o_goes_to_the_row_of_a_step() -> None:
    app = Inspecting(a_session())
    async with app.run_test(size=(140, 45)) as pilot:
        inspector = app.inspector
        detail = inspector.details[0]
        inspector.ladder.select(row_of(app.wires, "decision").number)
        await pilot.pause()
        before = detail.tab
        await pilot.press("2")
        assert detail.tab == "Raw"
        await pilot.press("1", "9")  # there is no ninth tab
        assert detail.tab == before
        await pilot.press("c")
        assert detail.tab == "Chain"
        assert inspector.arrangement == "one"  # the chain has the whole width
        await pilot.press("vertical_line")
        assert detail.has_class("-hidden")
        await pilot.press("vertical_line", "c")
        assert detail.tab == before
        assert inspector.arrangement == "side"
        await pilot.press("c", "enter", "G", "k", "o")  # the last step is missing, and leads nowhere
        assert inspector.ladder.selected == row_of(app.wires, "request", 1)


async def test_the_chain_of_a_step_s_second_call_is_that_call_s_alone() -> None:
    wires = a_session()
    response = row_of(wires, "response")
    wires.link("asked", Span(exchange=response.exchange, start=0, end=9), 4.0, call="1.1.2")
    wires.decision(4.1, call="1.1.2")
    app = Inspecting(wires)
    async with app.run_test(size=(140, 45)):
        assert app.inspector.show_chain("1.1.2")
        assert app.inspector.ladder.selected == row_of(wires, "decision", 1)
        assert app.inspector.details[0].tab == "Chain"


def test_a_chain_says_what_the_model_was_not_told_and_which_value_comes_again() -> None:
    wires = Wires()
    asked = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"multiply","arguments":%s}}'
    wires.frame(asked % (4, b'{"a":6}'), 1.0, direction="out", call=CALL_ID)
    wires.notice(1, 1.1)
    content = (
        b'[{"type":"text","text":"it is GZ-7741-K"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}]'
    )
    result = b'{"content":%s,"structuredContent":{"id":"GZ-7741-K","mayor":"nobody"}}' % content
    wires.frame(b'{"jsonrpc":"2.0","id":4,"result":%s}' % result, 1.5, direction="in", call=CALL_ID)
    told: JSON = {"role": "tool", "tool_call_id": "call_1", "content": "it is GZ-7741-K"}
    body = request_body([*MESSAGES, told])
    wires.request(body, 2.0, exchange="x2", step=2)
    place = body.index(to_json(told))
    wires.link("told", Span(exchange="x2", side="request", start=place, end=place + len(to_json(told))), 2.0)
    wires.frame(asked % (5, b'{"b":"GZ-7741-K"}'), 3.0, direction="out", call="other")
    wires.frame(b'{"jsonrpc":"2.0","id":5,"result":{"content":[]}}', 3.1, direction="in", call="other")

    chain, later = made(chain_of(wires, CALL_ID)), made(chain_of(wires, "other"))
    assert chain is not None
    assert later is not None
    steps = {step.happened: step for step in chain.steps}
    assert [piece.text for piece in steps["answered"].pieces] == [result.decode()]
    assert steps["during"].value == "log: info: n 1"
    assert steps["answered"].repeats == ('"GZ-7741-K" comes again in math.multiply (turn 1)',)
    assert steps["told"].place == "messages[2]"
    assert steps["told"].state == (
        "told: text with the values of structuredContent id · not told: image, structuredContent mayor, 1 log line"
    )
    assert [step.value for step in later.steps if step.happened == "told"] == ["not told yet"]
    looks = [(look.name, look.reason) for look in looks_of(wires)]
    assert looks == [("math #4", "not told: image, structuredContent mayor")]


def test_a_chain_says_how_much_of_a_long_result_was_told_and_which_is_too_large() -> None:
    wires = Wires()
    asked = b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"multiply","arguments":{}}}'
    wires.frame(asked, 1.0, direction="out", call=CALL_ID)
    text = "line of the report\n" * 4_000
    answer: JSON = {"jsonrpc": "2.0", "id": 4, "result": {"content": [{"type": "text", "text": text}]}}
    wires.frame(to_json(answer), 1.5, direction="in", call=CALL_ID)
    told: JSON = {"role": "tool", "tool_call_id": "call_1", "content": shortened(text)}
    body = request_body([*MESSAGES, told])
    wires.request(body, 2.0, exchange="x2", step=2)
    place = body.index(to_json(told))
    wires.link("told", Span(exchange="x2", side="request", start=place, end=place + len(to_json(told))), 2.0)

    def states() -> dict[str, str]:
        chain = made(chain_of(wires, CALL_ID))
        assert chain is not None
        return {step.happened: f"{step.value} {step.state}" for step in chain.steps}

    assert "told: text (50," in states()["told"]
    assert "of 76,000 characters)" in states()["told"]
    assert [look.reason[:13] for look in looks_of(wires)] == ["told in part:"]

    large = Wires()
    large.frame(asked, 1.0, direction="out", call=CALL_ID)
    block: JSON = {"type": "text", "text": "x" * (MOST_BYTES + 1)}
    large.frame(to_json({"jsonrpc": "2.0", "id": 4, "result": {"content": [block]}}), 1.5, direction="in", call=CALL_ID)
    chain = made(chain_of(large, CALL_ID))
    assert chain is not None
    assert [step.value for step in chain.steps if step.happened == "answered"] == [
        "4,194,379 bytes, too large to take apart here"
    ]
