"""Match the results in a request with the calls of the answer before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tui_host.infer.asking.model_exchange import Asking
from tui_host.infer.asking.request_messages import Piece
from tui_host.infer.asking.text_protocols import results_of
from tui_host.infer.call_values import Asked, Told


def results_in(asking: Asking, after: int, calls: Sequence[Asked]) -> Iterator[tuple[Asked, Told]]:
    """Yield each call of an answer that has a result in a request, with the result.

    Args:
        asking: The request.
        after: The place of the answer among the request's messages, -1 if missing.
        calls: The answer's calls.
    """
    by_id = {call.wire_id: call for call in calls if call.wire_id}
    message = next((message for message in asking.messages[after + 1 :] if message.role == "user"), None)
    if message is None:
        return
    results = results_of(asking.body, asking.protocol, message)
    repeated = asking.messages[after].of("call") if after >= 0 else ()
    pieces = [(by_id[piece.wire_id], piece, True) for piece in results if piece.wire_id in by_id]
    if not pieces:
        own = _by_own_id(repeated, calls)
        pieces = [(own[piece.wire_id], piece, True) for piece in results if piece.wire_id in own]
    is_in_words = asking.protocol != "native" and not (by_id or repeated)  # then ids of results are of no calls
    if (is_in_words or not any(piece.wire_id for piece in results)) and len(results) == len(calls):  # SDKs may drop ids
        pieces = [(call, piece, False) for call, piece in _by_name(calls, results)]
    for call, piece, is_by_id in pieces:
        capture, exchange = asking.key
        yield (
            call,
            Told(
                capture=capture,
                exchange=exchange,
                start=piece.start,
                end=piece.end,
                text=piece.text,
                at_ns=asking.at_ns,
                by_id=is_by_id,
                by_name=piece.name == call.name,
            ),
        )


def _by_own_id(repeated: Sequence[Piece], calls: Sequence[Asked]) -> dict[str, Asked]:
    """Return the calls by the ids that the host assigned, where the model assigned none."""
    if [piece.name for piece in repeated] != [call.name for call in calls]:
        return {}
    return {piece.wire_id: call for piece, call in zip(repeated, calls, strict=True) if piece.wire_id}


def _by_name(calls: Sequence[Asked], pieces: Sequence[Piece]) -> Sequence[tuple[Asked, Piece]]:
    """Pair each result with the first unused call of a fitting tool or server name; nothing if a result fits no call."""
    left = dict(enumerate(calls))
    named: dict[str, list[int]] = defaultdict(list)  # the last first
    for number in reversed(left):
        named[left[number].name].append(number)
    calls_with_results: list[tuple[Asked, Piece]] = []
    for piece in pieces:
        same = named.get(piece.name)
        number = same[-1] if same else next((place for place, call in left.items() if piece.name in call.name), None)
        if number is None:
            return ()
        call = left.pop(number)
        named[call.name].pop()  # the first unused call of the name is also the first that fits
        calls_with_results.append((call, piece))
    return calls_with_results
