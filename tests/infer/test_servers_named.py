"""Which server a call names: a tap may have another name for it than the host has, and another server a tool of the same name."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.infer.forms import FORMS, offering
from tests.infer.scene import chat_of
from tests.infer.world import MS, World, found_in
from tests.kit.bodies import Answer, Call, Results, User
from tui_host.chat.conversation import CallItem
from tui_host.errors import JSON

SUM = {"a": 1, "b": 2}
ADDS, SUBTRACTS = "Adds two numbers.", "Subtracts the second from the first."


def served(world: World, name: str, tools: Mapping[str, str], listed: bool = True) -> tuple[str, int]:  # noqa: FBT001, FBT002 - a row's
    """A call at a tap before a server, answered; the frame."""
    tap = world.server(name)
    listing: list[JSON] = [{"name": tool, "description": words} for tool, words in tools.items()]
    tap.start(listing if listed else [])
    world.now += 50 * MS
    identity, seq = tap.call("add", SUM)
    tap.result(identity, "3")
    return tap.id, seq


def carried(name: str, offered: Mapping[str, str], tap: str, tools: Mapping[str, str]) -> bool:
    """Whether a call is joined with the frame at a tap, before it is told and after."""
    world, form, call = World(), offering(offered), Call("c1", name, SUM)
    model = world.model()
    exchange = model.ask(form, [User("sum")])
    list(model.answer(form, exchange, Answer("", [call])))
    wanted = ("sent", (model.id, exchange, 0), served(world, tap, tools))
    found = [wanted in found_in(world.story())]
    world.now += 50 * MS
    model.ask(form, [User("sum"), Answer("", [call]), Results([(call, "3")])])
    found.append(wanted in found_in(world.story()))
    assert found[0] == found[1]
    return found[0]


BOTH = {"add": ADDS, "subtract": SUBTRACTS}


@pytest.mark.parametrize(
    ("name", "offered", "tap", "is_joined"),
    [
        ("add", {}, "math", True),
        ("math__add", {}, "math", True),
        ("calc__add", {}, "math", False),
        ("calc__add", {"calc__add": ADDS, "calc__subtract": SUBTRACTS}, "math", True),  # the host calls it so
        ("calc__add", {"calc__add": ADDS}, "math", True),  # and offers one alone
        ("calc__add", {"calc__add": "Sums up."}, "math", True),  # hosts reword descriptions
        ("calc__add", {"calc__add": ADDS, "math__add": ADDS}, "math", False),
    ],
)
def test_a_call_that_names_another_server_than_a_tap_is_joined_only_where_no_offered_tool_names_the_tap(
    name: str, offered: Mapping[str, str], tap: str, *, is_joined: bool
) -> None:
    assert carried(name, offered, tap, BOTH) == is_joined


def test_a_call_whose_server_is_not_known_is_shown_by_the_name_that_the_model_wrote() -> None:
    world, openai = World(), FORMS["openai"]
    model = world.model()
    calls = [Call("c1", "mcp__evhttp__add", SUM), Call("c2", "mcp__everything__add", {"a": 7})]
    list(model.answer(openai, model.ask(openai, [User("sum")]), Answer("", calls)))
    served(world, "everything", {"add": ADDS})
    shown = [(item.server, item.tool) for item in chat_of(world.story()) if isinstance(item, CallItem)]
    assert shown == [("", "mcp__evhttp__add"), ("everything", "add")]
