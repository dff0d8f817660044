"""With which request before it one is compared: the one before in its own conversation, whoever asked between."""

from __future__ import annotations

from tests.infer.forms import FORMS, Form
from tests.infer.scene import call
from tests.infer.world import MS, ModelTap, World
from tests.kit.bodies import Answer, Entry, Results, User

OPENAI = FORMS["openai"]
ONE = call("math__add")
TOLD = [User("a sum"), Answer("", [ONE]), Results([(ONE, "3")])]
SUMS = [*TOLD, Answer("It is 3."), User("another")]


class Asked:
    """A model that is asked, and in the end the numbers of the requests with which each one is compared."""

    def __init__(self) -> None:
        self.world = World()
        self.model = self.world.model()

    def ask(
        self, entries: list[Entry], answer: Answer | None = None, *, model: ModelTap | None = None, form: Form = OPENAI
    ) -> None:
        """A request, and its answer; it is refused if there is none."""
        model = model or self.model
        self.world.now += 100 * MS
        exchange = model.ask(form, entries)
        if answer is None:
            model.refuse(exchange)
        else:
            self.world.run(model.answer(form, exchange, answer))

    def before(self) -> list[int | None]:
        """Of each request, from 0."""
        said = self.world.story().exchanges
        keys = [each.key for each in said]
        return [None if each.previous is None else keys.index(each.previous) for each in said]


def test_what_a_host_asks_beside_its_conversation_is_not_what_that_is_compared_with() -> None:
    asked = Asked()
    asked.ask([User("a title for: a sum")], Answer("Sums"))
    asked.ask([*TOLD[:1]], Answer("", [ONE]))
    asked.ask([User("is this a new topic?")])
    asked.ask([*TOLD], Answer("It is 3."))
    asked.ask([User("a title for: another")], Answer("Sums"))
    asked.ask([*SUMS], Answer("Yes."))
    assert asked.before() == [None, None, None, 1, None, 3]


def test_a_conversation_of_which_the_host_drops_what_was_said_first_is_still_one() -> None:
    asked = Asked()
    entries: list[Entry] = []
    for number in range(6):
        entries = [*entries, User(f"question {number}")][-5:]
        asked.ask(entries, Answer(f"answer {number}"))
        asked.ask([User(f"a title for {number}")], Answer("Questions"))
        entries = [*entries, Answer(f"answer {number}")]
    assert asked.before()[::2] == [None, 0, 2, 4, 6, 8]
