"""One call's life is read out of the records of both wires."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture.drafts import known_ns
from tests.capture.ladder_wires import Wires, at, call_of, result_of, whole_turn
from tests.capture.stores import record
from tests.capture.wires import rpc
from tui_host.capture.chain import fold_chain, read_link
from tui_host.capture.link import Link
from tui_host.capture.store.store import Store


@given(st.from_type(Link).filter(lambda link: link.span.exchange != "" and link.span.seq != 0))
def test_a_link_is_read_as_it_was_written(link: Link) -> None:
    assert read_link(link.to_bytes()) == link


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"relation":"other","span":{}}', b'{"relation":"asked","span":3}']
)
def test_what_tells_no_link_is_none(data: bytes) -> None:
    assert read_link(data) is None


def test_a_chain_tells_a_calls_life_in_order() -> None:
    wires = Wires()
    whole_turn(wires)
    chain = fold_chain("c1", wires.records())
    assert (chain.server, chain.tool) == ("math", "multiply")
    assert [step.happened for step in chain.steps] == ["asked", "asked", "decided", "sent", "answered", "told", "said"]
    assert [step.words for step in chain.of("answered")] == ["30"]
    (told,) = chain.of("told")
    assert (told.span.exchange, told.span.side) == ("x2", "request")
    assert [step.seq for step in chain.of("sent")] == [wires.drafts.index(wires.of("frame")[0]) + 1]
    times = [known_ns(step.mono_ns) for step in chain.steps]
    assert times == sorted(times)


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
    chain = fold_chain("c1", wires.records())
    assert [step.happened for step in chain.steps] == ["sent", "progress", "during", "during", "answered"]
    assert (chain.server, chain.tool) == ("math", "add")


def test_a_frame_that_is_also_linked_is_one_step() -> None:
    wires = Wires()
    wires.frame("out", call_of(1), at(call="c1"))
    wires.link("sent", "c1", seq=1)
    assert [step.happened for step in fold_chain("c1", wires.records()).steps] == ["sent"]


def test_a_call_that_was_rejected_has_no_frames() -> None:
    wires = Wires()
    wires.decide("c1", "rejected, by you")
    chain = fold_chain("c1", wires.records())
    assert [(step.happened, step.words) for step in chain.steps] == [("decided", "rejected, by you")]
    assert fold_chain("c2", wires.records()).steps == ()


def test_the_store_finds_a_calls_chain_without_the_rest_of_its_session(store: Store) -> None:
    wires = Wires()
    whole_turn(wires)
    wires.frame("out", call_of(7), at(call="other"))
    record(store, wires.drafts)

    found = store.chain(wires.drafts[-1].place.session or "", "c1")

    assert found == fold_chain("c1", store.records(capture="c1"))
    assert [step.happened for step in found.steps] == ["asked", "asked", "decided", "sent", "answered", "told", "said"]
