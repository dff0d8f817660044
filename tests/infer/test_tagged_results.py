"""Results in Hermes' form: they are read alike in whatever message a host tells them, and shown without what frames them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest

from tests.infer.forms import FORMS
from tests.infer.scene import chat_of
from tests.infer.world import World
from tests.kit.bodies import Answer, Call, Entry, Results, User
from tui_host.chat.conversation import CallItem, Item
from tui_host.errors import JSON

HERMES = FORMS["hermes"]
CALLS = [Call("", "math__add", {"a": 1}), Call("", "docs__find", {"q": "é\n"})]
RESULTS = ['say "11" é\n<task>', '{"found": ["12"]}']


def _response(call: Call, content: str) -> str:
    return f'<tool_response>\n{{"name": "{call.name}", "content": {content}}}\n</tool_response>'


BLOCKS = [_response(CALLS[0], json.dumps(RESULTS[0], ensure_ascii=False)), _response(CALLS[1], RESULTS[1])]


class Shaped:
    """Hermes with the messages that tell results in a shape of a host's own."""

    url, several = HERMES.url, True

    def __init__(self, shape: Callable[[Sequence[str]], list[JSON]], blocks: Sequence[str]) -> None:
        self._shape = shape
        self._blocks = blocks

    def request(self, entries: Sequence[Entry], system: str = "") -> bytes:
        """The request with the results put in anew."""
        body = json.loads(HERMES.request([entry for entry in entries if not isinstance(entry, Results)], system))
        if any(isinstance(entry, Results) for entry in entries):
            body["messages"] += self._shape(self._blocks)
        return json.dumps(body).encode()

    def response(self, answer: Answer) -> Sequence[bytes]:
        """As ever."""
        return HERMES.response(answer)


def user(blocks: Sequence[str]) -> list[JSON]:
    return [{"role": "user", "content": "\n".join(blocks)}]


def one(blocks: Sequence[str]) -> list[JSON]:
    return [{"role": "tool", "content": "\n".join(blocks)}]


def with_ids(blocks: Sequence[str]) -> list[JSON]:
    return [
        {"role": "tool", "tool_call_id": f"made up {place}", "content": block} for place, block in enumerate(blocks)
    ]


SHAPES = [user, one, with_ids]


def _told(form: Shaped, *, is_heard: bool) -> tuple[list[Item], list[str]]:
    """The chat, and what of the last request belongs to the tool protocol."""
    world = World()
    model, asked = world.model(), [User("sums")]
    if is_heard:
        list(model.answer(form, model.ask(form, asked), Answer("", CALLS)))
    exchange = model.ask(form, [*asked, Answer("", CALLS), Results(list(zip(CALLS, RESULTS, strict=True)))])
    story = world.story()
    body = story.conversations.exchanges[model.id, exchange].body
    links = [found.link for found in story.links() if found.link.span.exchange == exchange]
    framing = [body[link.span.start : link.span.end] for link in links if link.words == "frames a result"]
    return chat_of(story), [json.loads(b'"' + text + b'"') for text in framing]


@pytest.mark.parametrize("is_heard", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", [1, -1])
def test_results_between_tags_are_those_of_the_calls_that_they_name_in_whatever_message_they_stand(
    shape: Callable[[Sequence[str]], list[JSON]], order: int, *, is_heard: bool
) -> None:
    items, framing = _told(Shaped(shape, BLOCKS[::order]), is_heard=is_heard)
    calls = [item for item in items if isinstance(item, CallItem)]
    assert [(item.tool, item.state, item.result) for item in calls] == [
        (call.name, "done", text) for call, text in zip(CALLS, RESULTS, strict=True)
    ]
    frames = [f'<tool_response>\n{{"name": "{call.name}", "content": ' for call in CALLS[::order]]
    assert "".join(framing) == "".join(f"{frame}}}\n</tool_response>" for frame in frames)
