"""Recognises JSON whose address is not known, by asking the dialects; reads the histories of messages that Cline keeps."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.json.spans import VALUE_LIMIT, BrokenError, elements
from tui_host.errors import JSON
from tui_host.llm.body_kinds import AnswerPart, answer_part, are_objects, request_kinds
from tui_host.opening.file_wires import FileWires, lacks
from tui_host.opening.files import LATEST_NS, CapturedFile

NO_HEAD = "method, address, headers, and all of the body but its messages: the file has them alone"
NO_ANSWER_BUT = "status, headers, and all of the body but the message: the file has it alone"

_HISTORY = re.compile(rb'\s*\[\s*\{\s*"role"\s*:')
_SHOWN_LIMIT = 32 << 20  # bytes of the requests shown for a history: each repeats those before
_MILLISECONDS_IN_2001 = 10**12


class Body(NamedTuple):
    """A JSON value that was sent or received.

    Attributes:
        dialects: The dialects in which it may be written, the likeliest first; empty for a frame.
        part: For an answer, what this value is of it; None for others.
    """

    kind: Literal["frame", "request", "answer"]
    dialects: tuple[str, ...] = ()
    part: AnswerPart | None = None


EVENT = Body("answer", ("",), AnswerPart(is_event=True))
"""An event of the answer that goes on, whatever its dialect."""


def body_of(value: JSON) -> Body | None:
    """Recognise a value as a frame, a request or an answer; None for anything else."""
    if is_frame(value):
        return Body("frame")
    answer = answer_of(value)
    if answer is None and isinstance(value, Mapping):
        dialects = tuple(request_kinds(value))
        return Body("request", dialects) if dialects else None
    return answer


def answer_of(value: JSON) -> Body | None:
    """Recognise an answer, or one event of an answer; None for anything else."""
    if isinstance(value, list):  # Gemini streams an array without `alt=sse`
        first = answer_of(value[0]) if value and isinstance(value[0], Mapping) else None
        return first if first is not None and first.dialects == ("gemini",) else None
    answer = answer_part(value) if isinstance(value, Mapping) else None
    return None if answer is None else Body("answer", (answer[0],), answer[1])


def is_frame(value: JSON) -> bool:
    """Whether a value is a JSON-RPC message or a batch."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, Mapping) and "jsonrpc" in first


def recognise(file: CapturedFile) -> bool:
    """Whether a file is a list of messages, as Cline's `api_conversation_history.json`."""
    return _HISTORY.match(file.head) is not None and len(file.data) <= VALUE_LIMIT


def read(file: CapturedFile, wires: FileWires) -> None:
    """Report a request and an answer for each message of the model, and a request for what stands behind the last.

    Raises:
        TuiHostError: The list is broken, or holds something else.
    """
    data = file.data[:]
    try:
        places = list(elements(data, data.find(b"[")))
    except BrokenError as error:
        raise file.unreadable(f"this list is broken: {error}", file.line_at(error.at)) from error
    messages = [mapping(value) for value, _, _ in places]
    if not are_objects(messages) or not all({"role", "content"} <= message.keys() for message in messages):
        raise file.unreadable("this is a list, but not of messages to a model", "line 1")
    dialect = "anthropic" if "anthropic" in request_kinds({"model": "", "messages": messages}) else "openai"
    times = [_time_ns(message.get("ts")) for message in messages]
    is_models = [message["role"] == "assistant" for message in messages]
    first = is_models.index(False) if False in is_models else 0
    ends = [number for number in range(first + 1, len(messages) + 1) if number == len(messages) or is_models[number]]
    if is_models[-1] and len(ends) > 1:
        ends.pop()  # its answer is the last message
    if sum(places[number - 1][2] for number in ends) > _SHOWN_LIMIT:
        wires.messages.append(f"{file.name} is long: it is shown as one request, and the chat tells only how it ends.")
        ends = [len(messages)]
    for number in ends:
        body = b'{"messages":[%s]}' % data[places[0][1] : places[number - 1][2]]
        wires.at(times[number - 1] if all(times) else None)
        exchange = wires.model(file.peer).begin("", f"{dialect}:", (lacks(NO_HEAD),), body, wires.place)
        if number == len(messages):
            exchange.not_in_file()
            continue
        wires.at(times[number] if all(times) else None)
        exchange.response(0, (lacks(NO_ANSWER_BUT), ("content-type", "application/json")))
        exchange.chunk(to_json(_answer_with(messages[number], dialect)))
        exchange.end()


def _time_ns(ts: JSON) -> int | None:
    milliseconds = ts if isinstance(ts, int | float) else 0
    is_time = _MILLISECONDS_IN_2001 < milliseconds <= LATEST_NS / 10**6
    return int(milliseconds * 10**6) if is_time else None


def _answer_with(message: Mapping[str, JSON], dialect: str) -> JSON:
    """Return an answer that contains a message."""
    if dialect != "anthropic":
        return {"choices": [{"index": 0, "message": message}]}
    content = message.get("content")
    blocks: JSON = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {"type": "message", "role": "assistant", "content": blocks}


def to_json(value: JSON) -> bytes:
    """Format a value as JSON, for a body whose bytes are not in the file."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
