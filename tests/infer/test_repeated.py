"""Calls that a host repeats with ids of its own, to another model or to the same: they are not called twice by that."""

from __future__ import annotations

import pytest

from tests.infer.forms import FORMS, Answer, Call, Entry, Results, User
from tests.infer.scene import Scene, call

ONE = call("math__add", "call_of_the_model")
OTHER = call("math__add", "toolu_of_the_host")


def told(repeated: Call) -> list[Entry]:
    """What a request says that goes on from it."""
    return [User("a sum"), Answer("", [repeated]), Results([(repeated, "3")])]


@pytest.mark.parametrize("form", ["openai", "anthropic"])
@pytest.mark.parametrize("is_elsewhere", [True, False])
def test_a_call_that_is_repeated_with_another_id_keeps_its_frame(form: str, *, is_elsewhere: bool) -> None:
    scene = Scene()
    math = scene.server("math", "add")
    (asked,) = scene.asks("a sum", ONE)
    frame = scene.runs(math, "add", "3")
    model = scene.world.model() if is_elsewhere else scene.model
    for _ in range(2):
        model.ask(FORMS[form], told(OTHER))
    assert scene.sent() == {asked: [frame]}
