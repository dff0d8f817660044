"""A host with one model, servers of the tests' own, and what is found of them, step by step."""

from collections.abc import Sequence

from tests.infer.forms import FORMS
from tests.infer.world import MS, ServerTap, World
from tests.kit.bodies import Answer, Call, Results, User
from tui_host.chat.conversation import Conversation, Item
from tui_host.infer.story import Story
from tui_host.infer.story_chat import StoryChat

OPENAI = FORMS["openai"]
SUM = {"a": 1, "b": 2}


class Scene:
    """A host with one model, and servers of the tests' own."""

    def __init__(self) -> None:
        self.world = World()
        self.model = self.world.model()

    def server(self, name: str, *tools: str) -> ServerTap:
        tap = self.world.server(name)
        tap.start(tools)
        return tap

    def asks(self, text: str, *calls: Call) -> None:
        self.again([User(text)], *calls)

    def again(self, entries: Sequence[User | Answer | Results], *calls: Call, text: str = "") -> None:
        self.world.now += 100 * MS
        self.world.run(self.model.answer(OPENAI, self.model.ask(OPENAI, entries), Answer(text, calls)))

    def goes_on(self, text: str, calls: Sequence[Call], told: Sequence[tuple[Call, str]]) -> str:
        self.world.now += 100 * MS
        return self.model.ask(OPENAI, [User(text), Answer("", calls), Results(told)])

    def runs(self, tap: ServerTap, tool: str, text: str | None, connection: str = "c1") -> tuple[str, int]:
        """A call's frame, and its answer, if one comes; gives the frame."""
        self.world.now += 50 * MS
        identity, seq = tap.call(tool, SUM, connection)
        self.world.now += 50 * MS
        if text is not None:
            tap.result(identity, text, connection=connection)
        return tap.id, seq


def call(name: str, identity: str = "c1") -> Call:
    return Call(identity, name, SUM)


def chat_of(story: Story) -> list[Item]:
    chat = Conversation()
    StoryChat(story, chat).tell()
    return list(chat)
