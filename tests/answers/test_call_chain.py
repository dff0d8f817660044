"""A call's life is read out of the records of both wires."""

from __future__ import annotations

from tests.answers.chained import steps_of
from tests.capture.ladder_wires import Wires, at, call_of, result_of, whole_turn
from tests.capture.wires import rpc


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
