"""Files with the messages of a conversation, as Cline's `api_conversation_history.json`.

Each message of the model is shown as the answer to a request with the messages before it: what the file has, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.json.scan import after_space, elements, members, value_end
from tui_host.opening.exchange_assembly import NO_ANSWER_BUT, Exchange
from tui_host.opening.import_types import LATEST_NS, File, Moment, Notes, TimedDraft, read_value

NO_HEAD = "method, address, headers, and all of the body but its messages: the file has them alone"
SHOWN_LIMIT = 32 << 20
"""Bytes of requests that are shown: each repeats those before it."""
_MILLISECONDS_IN_2001 = 10**12
_WHOLE = {
    "anthropic": b'{"type":"message","role":"assistant","content":%s}',
    "ollama": b'{"message":%s,"done":true}',
    "openai": b'{"choices":[{"index":0,"message":%s}]}',
}
"""An answer around the bytes of its message, by dialect."""


class _Message(NamedTuple):
    start: int
    end: int
    is_models: bool
    told_ns: int


def exchanges_in(file: File, notes: Notes, peer: str, dialect: str) -> Iterator[TimedDraft]:
    """Make exchanges of a list of messages."""
    data = file.data[:]
    messages = [_message(data, start, end) for start, end in elements(data, after_space(data, 0))]
    first = next((number for number, message in enumerate(messages) if not message.is_models), 0)
    answers = [number for number, message in enumerate(messages) if message.is_models and number > first]
    if sum(messages[number].start for number in answers) > SHOWN_LIMIT:
        notes.messages.append(f"{file.name} is long: it is shown as one request, and the chat tells only how it ends.")
        answers = []
    are_timed = all(message.told_ns for message in messages)
    begin, latest_ns = messages[0].start, 0

    def at(message: _Message) -> Moment:
        nonlocal latest_ns
        latest_ns = max(latest_ns, message.told_ns)
        return Moment(latest_ns) if are_timed else Moment(file.time_ns, is_told=False)

    def asked(exchange: Exchange, last: _Message) -> Iterator[TimedDraft]:
        body = b'{"messages":[%s]}' % data[begin : last.end]
        return exchange.request(body, at(last), dialect=dialect, lacks=NO_HEAD)

    for number in answers:
        answer, exchange = messages[number], Exchange(notes, peer)
        yield from asked(exchange, messages[number - 1])
        whole = _WHOLE[dialect] % _of_message(data[answer.start : answer.end], dialect)
        yield from exchange.answer(whole, at(answer), dialect=dialect, form="json", lacks=NO_ANSWER_BUT)
        yield from exchange.finish()
    if not answers or answers[-1] < len(messages) - 1:
        exchange = Exchange(notes, peer)
        yield from asked(exchange, messages[-1])
        yield from exchange.finish()


def _message(data: bytes, start: int, end: int) -> _Message:
    value = mapping(read_value(data[start:end]))
    timestamp = value.get("ts")
    milliseconds = timestamp if isinstance(timestamp, int | float) else 0
    told_ns = int(milliseconds * 10**6) if _MILLISECONDS_IN_2001 < milliseconds <= LATEST_NS / 10**6 else 0
    return _Message(start, end, value.get("role") == "assistant", told_ns)


def _of_message(message: bytes, dialect: str) -> bytes:
    """The part of a message for an answer in a dialect."""
    if dialect != "anthropic":
        return message
    at = dict(members(message, 0))[b"content"]
    content = message[at : value_end(message, at)]
    return b'[{"type":"text","text":%s}]' % content if content[:1] == b'"' else content
