"""Find calls made before the capture began, in requests that repeat the earlier conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui_host.infer.asking.conversations import Said
from tui_host.infer.asking.request_messages import Heard
from tui_host.infer.asking.results import results_in
from tui_host.infer.asking.text_protocols import reader_of
from tui_host.infer.call_values import Asked, Told
from tui_host.llm.events import TextDelta
from tui_host.llm.fold import Fold


def uncaptured_calls(exchange: Said, since_ns: int) -> Sequence[tuple[Asked, Told | None]]:
    """Return the calls in the uncaptured messages of a request, each with its result in the request.

    Args:
        exchange: The exchange of the request.
        since_ns: The end of the last captured exchange before; the calls get times from then on, in order.
    """
    asking = exchange.asking
    calls_with_results: list[tuple[Asked, Told | None]] = []
    for place in exchange.unheard:
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
                for number, (name, arguments, wire_id) in enumerate(_calls_in(message, exchange))
            ]
            results = {call.key: result for call, result in results_in(asking, place, calls)}
            calls_with_results += [(call, results.get(call.key)) for call in calls]
    return calls_with_results


def _calls_in(message: Heard, exchange: Said) -> Iterator[tuple[str, str, str]]:
    """Yield name, arguments and id of the calls in a repeated answer."""
    calls, asking = message.of("call"), exchange.asking
    yield from ((piece.name, piece.text, piece.wire_id) for piece in calls)
    if not calls and asking.protocol != "native":
        system = "\n\n".join(piece.text for piece in asking.system_pieces)
        reader, text = reader_of(asking.protocol, system, asking.host), message.text
        fold = Fold(provider="", model="", call_id=str)
        for event in (*reader.feed(TextDelta(text=text, start=0, end=len(text))), *reader.finish()):
            fold.add(event)
        yield from ((folded.call.name, folded.call.arguments, "") for folded in fold.calls)
