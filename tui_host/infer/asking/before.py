"""Calls that were asked for before anything was recorded: a request repeats them with what was said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui_host.infer.asking.conversations import Said
from tui_host.infer.asking.request_messages import Heard
from tui_host.infer.asking.results import results_in
from tui_host.infer.asking.text_protocols import reader_of
from tui_host.infer.call_values import Asked, Told
from tui_host.llm.events import TextDelta
from tui_host.llm.fold import Fold


def calls_before(said: Said, since_ns: int) -> Sequence[tuple[Asked, Told | None]]:
    """The calls in what a request repeats that nobody heard, each with what is told of it there.

    Args:
        said: The request.
        since_ns: When the conversation was heard last before it; no more is known of when they were asked for, but their order.
    """
    asking = said.asking
    found: list[tuple[Asked, Told | None]] = []
    for place in said.unheard:
        message = asking.messages[place]
        if message.role == "model":
            calls = [
                Asked(
                    key=f"{'.'.join(asking.key)}.before.{place}.{number}",
                    capture=asking.key[0],
                    exchange=f"{asking.key[1]}.before.{place}",
                    number=number,
                    wire_id=wire_id,
                    name=name,
                    arguments=arguments,
                    at_ns=since_ns + place,
                    spans=(),
                )
                for number, (name, arguments, wire_id) in enumerate(_calls_in(message, said))
            ]
            told = {call.key: each for call, each in results_in(asking, place, calls)}
            found += [(call, told.get(call.key)) for call in calls]
    return found


def _calls_in(message: Heard, said: Said) -> Iterator[tuple[str, str, str]]:
    """Name, arguments and id of the calls in an answer as it is repeated."""
    calls, asking = message.of("call"), said.asking
    yield from ((piece.name, piece.text, piece.wire_id) for piece in calls)
    if not calls and asking.protocol != "native":
        system = "\n\n".join(piece.text for piece in asking.system_pieces)
        reader, text = reader_of(asking.protocol, system, asking.host), message.text
        fold = Fold(provider="", model="", call_id=str)
        for event in (*reader.feed(TextDelta(text=text, start=0, end=len(text))), *reader.finish()):
            fold.add(event)
        yield from ((each.call.name, each.call.arguments, "") for each in fold.calls)
