"""The shape of what was recorded of a dialect: what every one of them has to be able to say, and what it means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tui_host.llm.messages import Stop, Usage

TEXT = "Let me see… 看\u0085 \u2028 🙂"
"""What an answer says, with all that readers of lines stumble over."""

THOUGHT = "Two \u2028 cities, 两个"

WEATHER = ("get_weather", '{"city":"Paris"}')
TIME = ("get_time", '{"zone": "Asia/東京", "x": 1.0}')
"""Two calls: names, and arguments as the model wrote them."""

NOW = ("now", "{}")
"""A call without arguments, in whatever way the vendor says that there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One response's body, and what it says.

    Attributes:
        body: The exact bytes.
        text: The answer.
        thinking: What was thought.
        calls: Names and arguments, as the model wrote them.
        ids: The ids that the vendor gave the calls, empty ones for none.
        stop: Why it ended, in our words.
        vendor: The same in the vendor's word.
        usage: Tokens and times.
        failure: The provider's words for an error.
        echoes: Bytes that stand in the next request of the same tool loop because of this answer, in this order; in no
            request to another provider or model.
    """

    body: bytes
    text: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    ids: tuple[str, ...] = ()
    stop: Stop = "end"
    vendor: str = ""
    usage: Usage = field(default_factory=Usage)
    failure: str = ""
    echoes: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What one dialect's provider sends. Each body is a whole stream but for `whole` and where it says so.

    Attributes:
        dialect: The dialect's name.
        framing: How it streams.
        text: TEXT and nothing else.
        tools: TEXT, and the call WEATHER.
        parallel: The calls WEATHER and TIME of one answer, their pieces as mixed as the vendor mixes them.
        thinking: THOUGHT, TEXT and WEATHER, with all that the vendor wants back.
        usage: TEXT with every count (and time) that the vendor can report.
        failing: TEXT, then an error inside the response.
        cut: TEXT, then nothing: the body ends before the vendor has said that the answer is over.
        nothing: The call NOW, whose arguments are empty.
        whole: What `parallel` says with TEXT before it, as the one answer that was not streamed.
        ends: Streams by what they are for: every reason for which an answer of this vendor ends.
        odd: Streams by what is odd about them: ids that miss or repeat, indexes that lie, whatever this vendor's services do.
        models: A list of models that names `model-a` and `model-b`.
        refusal: A body of an error that says `no such model`.
    """

    dialect: str
    framing: Literal["sse", "lines"] = "sse"
    text: Case
    tools: Case
    parallel: Case
    thinking: Case
    usage: Case
    failing: Case
    cut: Case
    nothing: Case
    whole: Case
    ends: Mapping[str, Case]
    odd: Mapping[str, Case]
    models: bytes
    refusal: bytes

    def cases(self) -> dict[str, Case]:
        """All streams, by name."""
        named = {
            "text": self.text,
            "tools": self.tools,
            "parallel": self.parallel,
            "thinking": self.thinking,
            "usage": self.usage,
            "failing": self.failing,
            "cut": self.cut,
            "nothing": self.nothing,
        }
        return {**named, **self.ends, **self.odd}
