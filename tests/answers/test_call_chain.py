"""A call's life is read out of the records of both wires."""

from __future__ import annotations

from tests.answers.chained import steps_of
from tests.capture.ladder_wires import Wires, at, call_of, result_of, whole_turn
from tests.capture.wires import rpc

CALLS = ("1.1.1", "1.2.1")


def happened(wires: Wires) -> list[str]:
    return [step.happened for step in steps_of("c1", wires.records())]


def test_a_chain_tells_a_calls_life_in_order() -> None:
    wires = Wires()
    whole_turn(wires)
    wires.frame("out", call_of(7), at(call="other"))
    assert happened(wires) == ["asked", "decided", "sent", "answered", "told", "said"]


def test_progress_and_a_servers_question_stand_between_call_and_answer() -> None:
    wires = Wires()
    wires.frame(
        "out", rpc(id=1, method="tools/call", params={"name": "add", "_meta": {"progressToken": 1}}), at(call="c1")
    )
    wires.frame("in", rpc(method="notifications/progress", params={"progressToken": 1, "progress": 1}))
    wires.frame("in", rpc(id=1, method="roots/list"), at(call="c1"))
    wires.frame("out", rpc(id=1, result={"roots": []}))
    wires.frame("in", result_of(1))
    wires.frame("out", call_of(2), at(call="c2"))
    assert happened(wires) == ["sent", "during", "during", "during", "answered"]


def test_a_call_that_was_rejected_has_no_frames() -> None:
    wires = Wires()
    wires.decide("c1", "rejected, by you")
    assert [(step.happened, step.value) for step in steps_of("c1", wires.records())] == [
        ("decided", "rejected, by you")
    ]


def test_later_attempts_of_a_call_are_named_where_it_failed_or_the_arguments_are_the_same() -> None:
    wires = Wires()
    for call, arguments, failed in (("1.1.1", 1, True), ("1.2.1", 2, False), ("1.3.1", 1, False), ("1.4.1", 3, False)):
        frame = rpc(id=arguments, method="tools/call", params={"name": "multiply", "arguments": {"a": arguments}})
        wires.frame("out", frame, at(call=call))
        wires.frame("in", result_of(arguments, failed=failed))
    again = [[step.value for step in steps_of(call, wires.records()) if step.happened == "again"] for call in CALLS]
    assert again == [
        [
            "asked again as call 1.2.1, differs in a 1 -> 2",
            "asked again as call 1.3.1, with the same arguments",
            "asked again as call 1.4.1, differs in a 1 -> 3",
        ],
        [],
    ]
