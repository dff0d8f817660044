"""Frames to which no answer came in time: hosts send again on the same connection, answer by themselves, and do not always say so."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.infer.forms import Answer, Call, Results, User
from tests.infer.scene import OPENAI, SUM, Scene, call
from tests.infer.world import MS, Asked, Frame, ServerTap
from tui_host.errors import JSON

TIMED_OUT = "Tool execution timed out"
BROUGHT = "state: pending, 1 pod, 0 restarts"
WORDS = [
    TIMED_OUT,
    "Error: rate limit of this host reached",
    "Same call as the one before: see its result.",
    "state: running, 3 pods, 0 restarts",
]
"""What hosts tell of a call that they sent to no server."""


class Retrying(Scene):
    """A host that gives answers up, and one server."""

    def __init__(self) -> None:
        super().__init__()
        self.math: ServerTap = self.server("math", "add")

    def sends(self) -> tuple[int, Frame]:
        """A frame; gives its id and itself."""
        self.world.now += 50 * MS
        identity, seq = self.math.call("add", SUM)
        return identity, (self.math.id, seq)

    def gives_up(self, *, says_so: bool) -> Frame:
        """A frame, and no answer."""
        identity, frame = self.sends()
        self.world.now += 100 * MS
        if says_so:
            self.cancels(identity)
        return frame

    def cancels(self, identity: int) -> None:
        """Say that it waits no longer."""
        self.math.frame("out", {"method": "notifications/cancelled", "params": {"requestId": identity}})

    def tells(self, question: str, told: Sequence[tuple[Call, str]]) -> None:
        """The conversation goes on."""
        self.goes_on(question, [each for each, _ in told], told)


def twice() -> Sequence[Call]:
    """Two calls for the same."""
    return [call("math__add", "c1"), call("math__add", "c2")]


@pytest.mark.parametrize("says_so", [True, False])
@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("place", [0, 1])
def test_a_frame_that_was_given_up_before_another_may_be_the_first_try_of_what_that_one_carried(
    place: int, words: str, *, says_so: bool
) -> None:
    scene, calls = Retrying(), twice()
    asked = scene.asks("both", *calls)
    scene.gives_up(says_so=says_so)
    frame = scene.runs(scene.math, "add", BROUGHT)
    texts = [BROUGHT, BROUGHT]
    texts[place] = words
    scene.tells("both", list(zip(calls, texts, strict=True)))
    assert scene.sent() == {asked[1 - place]: [frame]}


@pytest.mark.parametrize("says_so", [True, False])
@pytest.mark.parametrize("words", WORDS)
def test_so_it_may_be_of_what_another_conversation_asked_for(words: str, *, says_so: bool) -> None:
    scene, (one, other) = Retrying(), twice()
    scene.asks("one", one)
    (asked,) = scene.asks("other", other)
    scene.gives_up(says_so=says_so)
    frame = scene.runs(scene.math, "add", BROUGHT)
    scene.tells("other", [(other, BROUGHT)])
    scene.tells("one", [(one, words)])
    assert scene.sent() == {asked: [frame]}


@pytest.mark.parametrize("late", [300, 2000])
def test_of_three_frames_of_two_calls_nobody_knows_which_was_the_first_call_s(late: int) -> None:
    scene, calls = Retrying(), twice()
    scene.asks("both", *calls)
    first, _ = scene.sends()
    scene.world.now += 100 * MS
    scene.gives_up(says_so=True)
    scene.math.result(scene.sends()[0], "ok")
    if late < 1000:
        scene.math.result(first, "ok")
    scene.world.now += late * MS
    scene.tells("both", list(zip(calls, (TIMED_OUT, "ok"), strict=True)))
    if late >= 1000:
        scene.math.result(first, "ok")
    assert not [call for call in scene.sent() if call[2] == 0]


@pytest.mark.parametrize("words", [BROUGHT, "it stands as it stood"])
def test_a_frame_that_was_never_answered_brought_nothing_that_is_told_as_a_result(words: str) -> None:
    scene, (one, other) = Retrying(), twice()
    (first,) = scene.asks("how is it?", one)
    frame = scene.runs(scene.math, "add", BROUGHT)
    entries = [User("how is it?"), Answer("", [one]), Results([(one, BROUGHT)])]
    scene.again(entries, other)
    scene.sends()  # by itself, to know when it changes
    scene.world.now += 100 * MS
    scene.model.ask(OPENAI, [*entries, Answer("", [other]), Results([(other, words)])])
    assert scene.sent() == {first: [frame]}


@pytest.mark.parametrize("words", [TIMED_OUT, "MCP error -32000: Connection closed", "The tool failed."])
def test_it_is_of_the_only_call_that_failed(words: str) -> None:
    scene, one = Retrying(), call("math__add")
    (asked,) = scene.asks("sum", one)
    frame = scene.gives_up(says_so=False)
    scene.tells("sum", [(one, words)])
    assert scene.sent() == {asked: [frame]}


def test_what_was_sent_while_a_frame_was_waited_for_was_not_sent_in_its_place() -> None:
    scene, calls = Retrying(), twice()
    asked = scene.asks("both", *calls)
    (waiting, given_up), (answered, frame) = scene.sends(), scene.sends()
    scene.math.result(answered, BROUGHT)
    scene.world.now += 1000 * MS
    scene.cancels(waiting)
    scene.tells("both", list(zip(calls, (TIMED_OUT, BROUGHT), strict=True)))
    assert scene.sent() == {asked[0]: [given_up], asked[1]: [frame]}


def test_calls_that_were_all_sent_again_have_what_was_answered() -> None:
    scene, calls = Retrying(), twice()
    asked = scene.asks("both", *calls)
    texts = ["the first one, of some length", "the second one, of some length"]
    frames: list[Frame] = []
    for text in texts:
        scene.gives_up(says_so=True)
        frames.append(scene.runs(scene.math, "add", text))
    scene.tells("both", list(zip(calls, texts, strict=True)))
    found: dict[Asked, list[tuple[str, object]]] = {one: [frame] for one, frame in zip(asked, frames, strict=True)}
    assert scene.sent() == found


def test_what_was_sent_again_on_its_own_connection_is_no_first_try_of_what_was_sent_on_the_next_one() -> None:
    scene, calls = Retrying(), twice()
    asked = scene.asks("both", *calls)
    texts = ["the first one, of some length", "the second one, of some length"]
    scene.gives_up(says_so=True)
    frames = [scene.runs(scene.math, "add", texts[0])]
    scene.world.now += 50 * MS
    frames.append(scene.runs(scene.server("math", "add"), "add", texts[1]))
    scene.tells("both", list(zip(calls, texts, strict=True)))
    found: dict[Asked, list[tuple[str, object]]] = {one: [frame] for one, frame in zip(asked, frames, strict=True)}
    assert scene.sent() == found


def test_what_is_cancelled_once_its_answer_has_come_was_not_given_up() -> None:
    scene, calls = Retrying(), [call("math__add", "c1")]
    (asked,) = scene.asks("one", *calls)
    identity, frame = scene.sends()
    scene.math.result(identity, BROUGHT)
    scene.cancels(identity)
    scene.tells("one", [(calls[0], BROUGHT)])
    assert scene.sent() == {asked: [frame]}


def test_a_frame_that_was_given_up_is_not_counted_as_that_of_a_call_that_was_told_a_result() -> None:
    """One of two conversations was told what its host knew: of which the one answered frame is, nobody can tell."""
    host = Retrying()
    first, second = twice()
    for question, asked in (("one", first), ("two", second)):
        host.asks(question, asked)
    given_up, _ = host.sends()
    answered, _ = host.sends()
    host.math.result(answered, BROUGHT)
    host.tells("one", [(first, BROUGHT)])
    host.world.now += 100 * MS
    host.cancels(given_up)
    host.tells("two", [(second, BROUGHT)])
    assert host.sent() == {}


def test_an_error_that_comes_after_one_call_was_given_up_may_be_what_another_is_told_in_other_words() -> None:
    host = Retrying()
    first, second = twice()
    for question, asked in (("one", first), ("two", second)):
        host.asks(question, asked)
    identity, _ = host.sends()
    host.tells("two", [(second, TIMED_OUT)])
    host.world.now += 100 * MS
    error: JSON = {"code": -32603, "message": "no such thing: 65"}
    host.math.frame("in", {"id": identity, "error": error})
    host.tells("one", [(first, "The call failed.")])
    assert host.sent() == {}
