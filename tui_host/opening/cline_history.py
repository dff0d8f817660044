"""Files that hold a conversation's messages, as Cline keeps of each task in `api_conversation_history.json`.

Each message of the model is shown as the answer to a request that tells those before it, with what the file has and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.json.scan import after_space, elements, members, value_end
from tui_host.opening.drafts import LATEST_NS, File, Moment, Notes, Seen, read_value
from tui_host.opening.exchange_assembly import NO_ANSWER_BUT, Exchanges

NO_HEAD = "method, address, headers, and all of the body but its messages: the file has them alone"
TOLD_MOST = 32 << 20
"""Bytes of requests that are shown: each repeats those before it."""
_MILLISECONDS_SINCE_2001 = 10**12
_WHOLE = {
    "anthropic": b'{"type":"message","role":"assistant","content":%s}',
    "ollama": b'{"message":%s,"done":true}',
    "openai": b'{"choices":[{"index":0,"message":%s}]}',
}


class _Message(NamedTuple):
    start: int
    end: int
    is_models: bool
    told_ns: int


def exchanges_in(file: File, lane: Exchanges, notes: Notes, dialect: str) -> Iterator[Seen]:
    """The exchanges that a list of messages tells.

    Args:
        file: What holds the list.
        lane: Where they are put together.
        notes: Told where it is too long to be shown so.
        dialect: In which the messages are written.
    """
    data = file.data[:]
    said = [_message(data, start, end) for start, end in elements(data, after_space(data, 0))]
    first = next((number for number, each in enumerate(said) if not each.is_models), 0)
    answers = [number for number, each in enumerate(said) if each.is_models and number > first]
    if sum(said[number].start for number in answers) > TOLD_MOST:
        notes.told.append(f"{file.name} is long: it is shown as one request, and the chat tells only how it ends.")
        answers = []
    are_timed = all(each.told_ns for each in said)
    begin, now_ns = said[0].start, 0

    def at(message: _Message) -> Moment:
        nonlocal now_ns
        now_ns = max(now_ns, message.told_ns)
        return Moment(now_ns) if are_timed else Moment(file.time_ns, is_told=False)

    def asked(last: _Message) -> Iterator[Seen]:
        body = b'{"messages":[%s]}' % data[begin : last.end]
        return lane.request(body, at(last), dialect=dialect, lacks=NO_HEAD)

    for number in answers:
        answer = said[number]
        yield from asked(said[number - 1])
        whole = _WHOLE[dialect] % _of_message(data[answer.start : answer.end], dialect)
        yield from lane.answer(whole, at(answer), dialect=dialect, form="json", lacks=NO_ANSWER_BUT)
    if not answers or answers[-1] < len(said) - 1:
        yield from asked(said[-1])
    yield from lane.finish()


def _message(data: bytes, start: int, end: int) -> _Message:
    value = mapping(read_value(data[start:end]))
    told = value.get("ts")
    milliseconds = told if isinstance(told, int | float) else 0
    told_ns = int(milliseconds * 10**6) if _MILLISECONDS_SINCE_2001 < milliseconds <= LATEST_NS / 10**6 else 0
    return _Message(start, end, value.get("role") == "assistant", told_ns)


def _of_message(message: bytes, dialect: str) -> bytes:
    """What of a message stands in an answer of a dialect."""
    if dialect != "anthropic":
        return message
    at = dict(members(message, 0))[b"content"]
    content = message[at : value_end(message, at)]
    return b'[{"type":"text","text":%s}]' % content if content[:1] == b'"' else content
