"""Turn one exchange into chat items: text and calls in the order of the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tui_host.capture.http.exchange_end import missing_in_words
from tui_host.capture.record import lasted
from tui_host.capture.visible import line
from tui_host.chat.conversation import AnswerItem, AnswerState, CallItem, CallState, Item, NoteItem
from tui_host.infer.asking.conversations import Said
from tui_host.infer.asking.model_exchange import Asking
from tui_host.infer.asking.request_messages import Piece
from tui_host.infer.call_joining import TOLD_OTHERWISE, Joined
from tui_host.infer.call_values import Sent
from tui_host.infer.unplaced_results import doubt_in_words
from tui_host.llm.exchange_summary import end_words

NOTE = ("note",)
"""The key of the item that states why an exchange has no answer."""
_BY_HOST = "approved by its host, not here"
_INFERRED = f"{_BY_HOST} · inferred"
_NAMED = 4
"""How many possible frames are named."""


def items(
    exchange: Said, calls: Sequence[Joined], unplaced: Sequence[Piece], unasked: int
) -> Iterator[tuple[tuple[str, ...], Item]]:
    """Yield the items, each with a key unique in the exchange.

    Args:
        exchange: The exchange.
        calls: The complete calls of the answer.
        unplaced: Results that no evidence assigns to a call.
        unasked: How many answers have no captured request.
    """
    asking = exchange.asking
    is_whole = asking.is_answered
    last: AnswerState = "done" if is_whole else "cut" if asking.is_over else "streaming"
    left = {joined.asked.number: joined for joined in calls}
    runs = asking.fold.runs
    words = {
        number for number, run in enumerate(runs) if any(text.strip() for text in run) or (not number and any(run))
    }
    for number, (text, thinking) in enumerate(runs):
        if number in words:
            yield (
                ("answer", *([str(number)] if number else ())),
                AnswerItem(
                    turn=exchange.turn,
                    step=exchange.step,
                    text=text,
                    thinking=thinking,
                    state=last if number == max(words) else "done",
                    seconds=(asking.end_ns - asking.at_ns) / 1e9 if asking.is_over else 0.0,
                ),
            )
        joined = left.pop(number, None)
        if joined is not None:
            yield ("call", joined.asked.key), _call(exchange, joined, unplaced)
        elif not asking.is_over:  # text behind an incomplete call waits, so that items stay where they are
            break
    for joined in left.values():
        yield ("call", joined.asked.key), _call(exchange, joined, unplaced)
    trouble = "" if not asking.is_over else end_words(asking.fold) if is_whole else _trouble(asking, unasked)
    if trouble:
        yield NOTE, NoteItem(turn=exchange.turn, kind="note", what=trouble)


def _trouble(asking: Asking, unasked: int) -> str:
    if asking.is_missing:
        return missing_in_words(unasked)
    if asking.lacks and asking.status < 300:
        return f"of the answer {asking.lacks}"
    is_error = bool(asking.fold.failure) and not (asking.fold.text or asking.fold.thinking or asking.fold.calls)
    what = "the answer is an error" if is_error else "the answer broke off" if asking.has_answer else "no answer came"
    what = f"{asking.peer} answered {asking.status}" if asking.status >= 300 else what
    return f"{what}: {asking.trouble}" if asking.trouble else what


def _approval_words(joined: Joined) -> str:
    """Return how a call was approved, or why no frame is joined to the call."""
    if joined.is_told_otherwise:
        return f"{_INFERRED} · {TOLD_OTHERWISE}"
    if joined.sent:
        return _INFERRED if joined.is_inferred else _BY_HOST
    if joined.rivals:
        which = "which of" if len(joined.rivals) > 1 else "whether"
        return f"doubtful {which} {_frames_in_words(joined.rivals)} carried it: not joined"
    return "its frame is not known" if joined.told else ""


def _frames_in_words(frames: Sequence[Sent]) -> str:
    """List each frame's name once, because frames of different connections may share server and number."""
    counts = Counter(line(f"{frame.server} #{frame.rpc_id}", 60) for frame in frames)
    named = list(counts.items())[:_NAMED]
    more = len(frames) - sum(count for _, count in named)
    words = ", ".join(f"{name} ({count:,} of them)" if count > 1 else name for name, count in named)
    return f"{words} +{more:,} more" if more else words


def _call(exchange: Said, joined: Joined, unplaced: Sequence[Piece]) -> CallItem:
    last = joined.sent[-1] if joined.sent else None
    answer = last.answer if last is not None else None
    reported = joined.told[0].text if joined.told else None
    result = reported if reported is not None else next(iter(answer.texts), "") if answer is not None else ""
    took = lasted(last.mono_ns, answer.mono_ns) if last is not None and answer is not None else None
    state: CallState = "asked"
    if answer is not None:
        state = "failed" if answer.is_error else "done"
    elif reported is not None:
        state = "done"
    elif last is not None:
        state = "running"
    return CallItem(
        turn=exchange.turn,
        step=exchange.step,
        call=joined.asked.key,
        server=joined.server,
        tool=joined.tool,
        asked=joined.asked.arguments,
        sent=joined.asked.arguments if last is not None else "",
        state=state,
        words=_approval_words(joined) or doubt_in_words(joined, unplaced),
        result=result,
        milliseconds=(took or 0) / 1e6,
    )
