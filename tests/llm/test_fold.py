"""Events of any dialect become one message, with what its vendor wants back in the parts that it came with."""

from __future__ import annotations

from collections.abc import Mapping

from tui_host.errors import JSON
from tui_host.llm.events import (
    ModelEvent,
    PartEnded,
    TextDelta,
    ThinkingDelta,
)
from tui_host.llm.fold import Fold
from tui_host.llm.messages import Ask, Echo, Part, Text, Thinking, ToolCall
from tui_host.llm.outgoing import Target
from tui_host.llm.request_writing import CallIds, RequestWriter


def text(words: str) -> TextDelta:
    return TextDelta(text=words, start=0, end=1)


def thought(words: str) -> ThinkingDelta:
    return ThinkingDelta(text=words, start=0, end=1)


def ended(*, thinking: bool = False, echo: JSON = None) -> PartEnded:
    return PartEnded(kind="thinking" if thinking else "text", echo=echo, start=0, end=1)


def parts_of(*events: ModelEvent) -> tuple[Part, ...]:
    fold = Fold(provider="p", model="m", call_id=str)
    for event in events:
        fold.add(event)
    return fold.message(turn=1).parts


def echo(value: JSON) -> Echo:
    return Echo(provider="p", model="m", value=value)


def test_text_goes_on_until_its_part_has_ended() -> None:
    parts = parts_of(text("a"), text("b"), ended(), text("c"), ended(echo="sig"), text("d"))

    assert parts == (Text(text="ab"), Text(text="c", echo=echo("sig")), Text(text="d"))


def test_what_is_wanted_back_goes_to_nobody_else() -> None:
    kept: JSON = {"d": {"sig": 1}}
    parts = (
        Text(text="", echo=echo(kept)),
        Thinking(text="", provider="p", model="m", echo=kept),
        ToolCall(id="c", wire_id="", name="t", arguments="", echo=echo(kept)),
    )

    def back(part: Part, *, provider: str = "p", model: str = "m", dialect: str = "d") -> Mapping[str, JSON]:
        writer = RequestWriter(Ask(model=model, messages=()), Target(provider=provider), CallIds(64))
        writer.dialect = dialect
        return writer.echo(part)

    assert [back(part) for part in parts] == [{"sig": 1}] * 3
    assert [back(part, model="n") for part in parts] == [{}] * 3
    assert [back(part, provider="q") for part in parts] == [{}] * 3
    assert [back(part, dialect="e") for part in parts] == [{}] * 3
    assert back(Text(text="a")) == back(Thinking(text="", provider="p", model="m", echo="old")) == {}
