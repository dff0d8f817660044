"""Frames to which no answer came in time: hosts send again on the same connection, answer by themselves, and do not always say so."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.infer.forms import Call
from tests.infer.scene import SUM, Scene, call
from tests.infer.world import MS, Frame, ServerTap

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


@pytest.mark.parametrize("words", [TIMED_OUT, "MCP error -32000: Connection closed", "The tool failed."])
def test_it_is_of_the_only_call_that_failed(words: str) -> None:
    scene, one = Retrying(), call("math__add")
    (asked,) = scene.asks("sum", one)
    frame = scene.gives_up(says_so=False)
    scene.tells("sum", [(one, words)])
    assert scene.sent() == {asked: [frame]}
