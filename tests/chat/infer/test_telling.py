"""What the chat of a tapped conversation says beside what was said in it."""

from __future__ import annotations

import pytest

from tests.chat.infer.forms import FORMS, Answer, User
from tests.chat.infer.world import ModelTap, World
from tui_host.chat.conversation import Conversation, Item, NoteItem
from tui_host.chat.infer.story import Story
from tui_host.chat.infer.telling import Telling

OPENAI = FORMS["openai"]


def told(world: World) -> list[Item]:
    """The chat of all that was recorded."""
    story, chat = Story(), Conversation()
    for _, record in world.records:
        story.feed(record)
    Telling(story, chat).tell()
    return list(chat.items)


def cut(model: ModelTap, exchange: str) -> None:
    list(model.answer(OPENAI, exchange, Answer("It is"), cut=True))


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        (ModelTap.refuse, "example answered 429: slow down"),
        (ModelTap.fail, "no answer came: cut by peer"),
        (cut, "the answer broke off: cut by peer"),
    ],
)
def test_an_answer_that_did_not_come_is_told_in_the_words_of_who_refused_it(ends: object, words: str) -> None:
    world = World()
    model = world.model()
    assert callable(ends)
    ends(model, model.ask(OPENAI, [User("what is one and two?")]))
    assert [item.what for item in told(world) if isinstance(item, NoteItem)] == [words]
