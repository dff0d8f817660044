"""The shape of what was recorded of a dialect: what every one of them has to be able to say, and what it means."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tui_host.errors import JSON
from tui_host.llm.dialects.table import dialect
from tui_host.llm.events import ModelEvent
from tui_host.llm.fold import Fold
from tui_host.llm.messages import Stop, Usage

PROVIDER, MODEL = "p", "m"
TEXT = "Let me see… 看\u0085 \u2028 🙂"  # what an answer says, with all that readers of lines stumble over
THOUGHT = "Two \u2028 cities, 两个"
WEATHER = ("get_weather", '{"city":"Paris"}')
TIME = ("get_time", '{"zone": "Asia/東京", "x": 1.0}')
"""Two calls: names, and arguments as the model wrote them."""
NOW = ("now", "{}")  # a call without arguments, in whatever way the vendor says that there are none


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One response's body, and what it says: a stop in our words and in the vendor's, ids and names and arguments of calls.

    `echoes` are bytes that stand in the next request of the same tool loop because of this answer, in this order; in no
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
    """What one dialect's provider sends. Each body is a whole stream but for `whole`."""

    dialect: str
    text: Case
    tools: Case  # TEXT, and the call WEATHER
    parallel: Case  # WEATHER and TIME, their pieces as mixed as the vendor mixes them
    thinking: Case  # THOUGHT, TEXT and WEATHER, with all that the vendor wants back
    usage: Case  # TEXT with every count (and time) that the vendor can report
    failing: Case  # TEXT, then an error inside the response
    whole: Case  # TEXT, WEATHER and TIME as the one answer that was not streamed
    ends: Mapping[str, Case]  # every reason for which an answer of this vendor ends
    odd: Mapping[str, Case]  # ids that miss or repeat, indexes that lie, whatever this vendor's services do
    models: bytes  # a list of `model-a` and `model-b`
    refusal: bytes  # an error that says `no such model`

    @property
    def is_in_lines(self) -> bool:
        return dialect(self.dialect).framing == "lines"

    def cases(self) -> dict[str, Case]:
        names = ("text", "tools", "parallel", "thinking", "usage", "failing")
        named: dict[str, Case] = {name: getattr(self, name) for name in names}
        return {**named, **self.ends, **self.odd}


def failing(body: bytes) -> Case:
    """An answer that says TEXT, and then that it broke."""
    return Case(body=body, text=TEXT, stop="failed", failure="it broke")


def asking(body: bytes, vendor: str, *, ids: tuple[str, ...] = ("", ""), text: str = "") -> Case:
    """An answer that asks for WEATHER, and for TIME if there are two ids."""
    return Case(body=body, text=text, calls=(WEATHER, TIME)[: len(ids)], ids=ids, stop="tools", vendor=vendor)


def text(value: JSON) -> bytes:
    """JSON in UTF-8, without escapes where none are needed."""
    return json.dumps(value, ensure_ascii=False).encode()


def compact(value: JSON) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def events_of(name: str, pieces: Iterable[bytes], content_type: str = "") -> list[ModelEvent]:
    """All events of a response that came in these pieces."""
    decoder = dialect(name).decoder(content_type)
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.finish()


def fold_of(name: str, *pieces: bytes) -> Fold:
    fold = Fold(provider=PROVIDER, model=MODEL, call_id=lambda number: f"call-{number}")
    for found in events_of(name, pieces):
        fold.add(found)
    return fold


def said(fold: Fold) -> Case:
    """What a response said, in the form of what it should say."""
    return Case(
        body=b"",
        text=fold.text,
        thinking=fold.thinking,
        calls=tuple((found.call.name, found.call.arguments) for found in fold.calls),
        ids=tuple(found.call.wire_id for found in fold.calls),
        stop=fold.stop or "cut",
        vendor=fold.vendor_stop,
        usage=fold.usage,
        failure=fold.failure,
    )


def means(case: Case) -> Case:
    return replace(case, body=b"", echoes=())
