"""Recognises JSON whose address is not known, by asking the dialects; reads the histories of messages that Cline keeps."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.json.spans import BrokenError, elements
from tui_host.capture.record import MISSING, NOT_KNOWN
from tui_host.errors import JSON
from tui_host.llm.body_kinds import AnswerPart, answer_part, are_objects, request_kinds
from tui_host.opening.file_wires import FileWires
from tui_host.opening.files import CapturedFile

_ONLY_MESSAGES = NOT_KNOWN, "method, address, headers, and all of the body but its messages: the file has them alone"
_ONLY_AN_ANSWER = NOT_KNOWN, "status, headers, and all of the body but the message: the file has it alone"
BEGINS = re.compile(rb'\s*\[\s*\{\s*"role"\s*:')  # a list of messages, as Cline's `api_conversation_history.json`
_SHOWN_LIMIT = 32 << 20  # bytes of the requests shown for a history: each repeats those before
_MILLISECONDS_IN_2001, _MOST = 10**12, 1 << 53


class BodyForm(NamedTuple):
    """What a JSON value that was sent or received is."""

    kind: Literal["frame", "request", "answer"]
    dialects: tuple[str, ...] = ()  # in which it may be written, the likeliest first; none for a frame
    part: AnswerPart = AnswerPart()  # what an answer's value is of it


def form_of(value: JSON) -> BodyForm | None:
    """Recognise a value as a frame, a request or an answer; None for anything else."""
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, Mapping) and "jsonrpc" in first:  # a JSON-RPC message or a batch
        return BodyForm("frame")
    if isinstance(value, list):  # Gemini streams an array without `alt=sse`
        form = form_of(first) if isinstance(first, Mapping) else None
        return form if form is not None and form[:2] == ("answer", ("gemini",)) else None
    if not isinstance(value, Mapping):
        return None
    if (answer := answer_part(value)) is not None:
        return BodyForm("answer", (answer[0],), answer[1])
    dialects = tuple(request_kinds(value))
    return BodyForm("request", dialects) if dialects else None


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
    stamps = [ts for message in messages if isinstance(ts := message.get("ts"), int | float)]
    are_times = len(stamps) == len(messages) and all(_MILLISECONDS_IN_2001 < ts < _MOST for ts in stamps)
    times = [int(ts * 10**6) for ts in stamps] if are_times else [None] * len(messages)
    are_answers = [message["role"] == "assistant" for message in messages]
    first = [*are_answers, False].index(False)
    ends = [at for at in range(first + 1, len(messages)) if are_answers[at]]
    if ends[-1:] != [len(messages) - 1]:
        ends.append(len(messages))  # a request whose answer is not there
    if sum(places[at - 1][2] for at in ends) > _SHOWN_LIMIT:
        wires.messages.append(f"{file.name} is long: it is shown as one request, and the chat tells only how it ends.")
        ends = [len(messages)]
    wires.at(file.time_ns)
    for at in ends:
        wires.at(times[at - 1])
        body = b'{"messages":[%s]}' % data[places[0][1] : places[at - 1][2]]
        exchange = wires.model(file.peer).begin("", f"{dialect}:", (_ONLY_MESSAGES,), body, wires.place)
        if at == len(messages):
            exchange.end(MISSING)
            continue
        wires.at(times[at])
        exchange.response(0, (_ONLY_AN_ANSWER, ("content-type", "application/json")))
        answer: JSON = {"choices": [{"index": 0, "message": messages[at]}]}
        if dialect == "anthropic":
            content = messages[at]["content"]
            blocks: JSON = [{"type": "text", "text": content}] if isinstance(content, str) else content
            answer = {"type": "message", "role": "assistant", "content": blocks}
        exchange.chunk(to_json(answer))
        exchange.end()


def to_json(value: JSON) -> bytes:
    """Format a value as JSON, for a body whose bytes are not in the file."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
