"""Finds frames, requests, answers and streams in the objects of loggers, under any names.

Loggers write such an object for each message or for each exchange. Messages are recognised by their content; the names
and short values around them give the time, direction, address, server and request id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from tui_host.capture.json.file_values import read_value
from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.llm.body_kinds import AnswerPart
from tui_host.opening.body_dialects import answer_with, body_of, history_dialect, request_dialect, to_json
from tui_host.opening.logs.log_time import TIME
from tui_host.opening.logs.stream_text import frames_of, stream_of

_ASKED = re.compile(
    r"req|ask|input|prompt|param|sent|message|msg|frame|payload|line|event$|entry|log|http", re.IGNORECASE
)
_SAID = re.compile(r"resp|^res|repl|answ|output|result|receiv|completion|chunk|stream|events|assistant", re.IGNORECASE)
_NO_ANSWERS = frozenset(
    {
        "response_format",
        "response_schema",
        "response_modalities",
        "output_config",
        "output_format",
        "stream_options",
        "previous_response_id",
    }
)
"""Members of a request whose names sound as if they held an answer."""
_OF_THE_LOG = re.compile(
    r"ts|time|date|timestamp|(?:date_?time|created|logged|started|ended|finished|received|sent)(?:_?at)?|(?:start|end)_?time"
    r"|(?:duration|latency|elapsed|took|response_?time)\w*|status(?:_?code)?|level|error|id|\w+_id|\w+Id|_\w+",
    re.IGNORECASE,
)
"""Members that a logger adds to those of a request."""
_ANSWER_TEXT = re.compile(
    r"(?:assistant_?)?(?:response|reply|answer|completion|output|assistant)(?:_?text)?", re.IGNORECASE
)
"""Members that contain an answer's text, or its message."""
_ADDRESSES = ("url", "path", "endpoint", "target", "uri")
_IDS = ("request_id", "requestId", "req_id", "reqId", "exchange_id", "trace_id", "traceId", "correlation_id", "uuid")
WEAK_KEY = "id "
"""Prefix of a key that is a plain `id`, which names a line in some logs and a request in others."""
_SERVERS = ("server", "server_name", "serverName", "mcp_server", "mcpServer")
_DEPTH = 4
_WORD_LIMIT, _MEMBER_LIMIT, _WORDS_LIMIT = 100, 30, 1000
"""Most characters of a value that may be a time or a direction, most such values, and most characters of all."""
_KEY_IN_WORDS = re.compile(
    r"\b(?:request|req|exchange|trace|correlation)[ _-]?id[\"']?\s?[=:]\s?[\"']?([\w-]{1,64})|\b(req(?:uest)?\s?[-#]\s?\w[\w-]{0,63})",
    re.IGNORECASE,
)


class Context(NamedTuple):
    """What surrounds a value in a log.

    Attributes:
        words: The text before the value, or names and short values of members, to find a time and a direction in.
        path: The members that lead to the value.
    """

    words: str
    url: str = ""
    key: str = ""
    server: str = ""
    path: tuple[str, ...] = ()


class WireData(NamedTuple):
    """A message or part of one, found in a logger's object.

    Attributes:
        kind: The kind of message; `text` for the text of a stream.
        is_message: Whether only the message of an answer is known.
    """

    kind: Literal["frame", "request", "answer", "text"]
    data: bytes
    value: JSON
    context: Context
    dialect: str = ""
    part: AnswerPart | None = None
    is_message: bool = False


def key_in(words: str) -> str:
    """Return the request id in a line of text; empty without one."""
    match = _KEY_IN_WORDS.search(words) if "re" in words or "Re" in words or "RE" in words or "id" in words else None
    return "" if match is None else match[1] or match[2]


def wire_data_in(value: JSON, context: Context) -> Sequence[WireData]:
    """Find the messages in an object or a list: requests before answers, and nothing twice."""
    results: list[WireData] = []
    is_answered = False
    for wire_data in _in_value(value, context, _DEPTH):
        if any(
            wire_data.data == earlier.data or (wire_data.value is not None and wire_data.value == earlier.value)
            for earlier in results[-2:]
        ):
            continue  # the value occurs as text and parsed
        is_whole = wire_data.kind == "text" or (
            wire_data.kind == "answer" and wire_data.part is not None and not wire_data.part.is_event
        )
        if is_whole and is_answered:
            if wire_data.kind == "text" and results[-1].kind == "answer":
                results[-1] = wire_data  # the text was received, the other value was made from it
            continue
        results.append(wire_data)
        is_answered = is_whole and any(earlier.kind == "request" for earlier in results)
    return results


def texts_in(value: JSON, context: Context, depth: int = _DEPTH) -> Iterator[tuple[Context, str]]:
    """Yield the texts in an object, each with its context."""
    if isinstance(value, str):
        yield context, value
    elif depth and isinstance(value, Mapping):
        for inner, item in _members(value, context):
            yield from texts_in(item, inner, depth - 1)
    elif depth and isinstance(value, list):
        for item in value:
            yield from texts_in(item, context, depth - 1)


def split_exchange(body: Mapping[str, JSON], dialect: str, context: Context) -> Sequence[WireData]:
    """Split a request that has an answer among its members in two; empty for any other request."""
    names = [name for name, item in body.items() if item and name not in _NO_ANSWERS and _SAID.search(name)]
    if not names:
        return ()
    inner = {near.path[-1]: near for near, _ in _members(body, context)}
    answers: list[WireData] = []
    for name in [name for name in names if name in inner]:
        in_member = [answer for answer in _in_value(body[name], inner[name], 2) if answer.kind in {"answer", "text"}]
        answers += in_member or _message_answer(name, body[name], inner[name], dialect)[: not answers]
    if not answers:
        return ()
    held_in = {answer.context.path[len(context.path)] for answer in answers}
    asked = {k: v for k, v in body.items() if k not in held_in and (k in _NO_ANSWERS or not _OF_THE_LOG.fullmatch(k))}
    request = WireData("request", to_json(asked), asked, next(iter(inner.values())), request_dialect(asked) or dialect)
    return [request, *answers]


def _in_value(value: JSON, context: Context, depth: int) -> Iterator[WireData]:
    if isinstance(value, str):
        yield from _in_text(value, context, depth)
    elif (body := body_of(value)) is not None:
        both = split_exchange(mapping(value), body.dialect, context) if body.kind == "request" else ()
        yield from both or [WireData(body.kind, to_json(value), value, context, body.dialect, body.part)]
    elif depth and isinstance(value, Mapping):
        yield from _in_members(value, context, depth)
    elif depth and isinstance(value, list):
        yield from _in_list(value, context, depth)


def _in_members(value: Mapping[str, JSON], context: Context, depth: int) -> Iterator[WireData]:
    results: list[WireData] = []
    rest: list[tuple[Context, JSON]] = []
    for inner, item in _members(value, context):
        in_member = list(_in_value(item, inner, depth - 1))
        results += in_member
        if not in_member:
            rest.append((inner, item))
    yield from results
    if not results:
        for inner, item in rest:  # Langfuse and others: only messages, with the model beside them
            if (dialect := history_dialect(item)) and "model" in value:
                asked: JSON = {"model": value["model"], "messages": item}
                results = [WireData("request", to_json(asked), asked, inner, dialect)]
                yield from results
                break
    if len(results) == 1 and results[0].kind == "request":
        for inner, item in rest:
            if answers := _message_answer(inner.path[-1], item, inner, results[0].dialect):
                yield from answers
                break


def _in_list(value: Sequence[JSON], context: Context, depth: int) -> Iterator[WireData]:
    """Find messages in a list. Lines or chunks of a stream are joined first."""
    texts = [_text_of(item) for item in value]
    if any(texts):
        joined = ("" if any(text.endswith("\n") for text in texts) else "\n").join(texts)
        if stream_of(joined) is not None:
            yield from _in_text(joined, context, depth)
            return
    for item in value:
        yield from _in_value(item, context, depth - 1)


def _in_text(text: str, context: Context, depth: int) -> Iterator[WireData]:
    start = text[:200].lstrip()[:1]
    if start in {"{", "["}:
        data = text.encode("utf-8", "surrogatepass")
        value = read_value(data)
        if value is None:
            yield from _in_lines(text, context, depth)
        elif (body := body_of(value)) is not None:
            both = split_exchange(mapping(value), body.dialect, context) if body.kind == "request" else ()
            yield from both or [WireData(body.kind, data.strip(), value, context, body.dialect, body.part)]
        elif depth:
            yield from _in_value(value, context, depth - 1)
    elif start in {"d", "e", ":", "i", "r"} and (stream := stream_of(text)) is not None:
        frames = list(frames_of(text))
        yield from (WireData("frame", data, value, context) for data, value in frames)
        if not frames and (stream.dialect or stream.is_done):
            yield WireData("text", stream.data, None, context, stream.dialect, stream.part)


def _in_lines(text: str, context: Context, depth: int) -> Iterator[WireData]:
    """Find objects in the lines of a text, as Ollama streams them."""
    lines = text.strip().split("\n")
    if len(lines) > 1 and depth:
        for line in lines:
            yield from _in_text(line, context, 0)


def _message_answer(name: str, item: JSON, context: Context, dialect: str) -> list[WireData]:
    """Make an answer from a member that contains a message or its text; empty if it has neither."""
    is_text = isinstance(item, str) and bool(item.strip()) and _ANSWER_TEXT.fullmatch(name) is not None
    message: Mapping[str, JSON] = {"role": "assistant", "content": item} if is_text else mapping(item)
    answer = answer_with(message, dialect) if message.get("role") == "assistant" else None
    if answer is None:
        return []
    return [WireData("answer", to_json(answer), answer, context, dialect, AnswerPart(), is_message=True)]


def _members(value: Mapping[str, JSON], context: Context) -> Iterator[tuple[Context, JSON]]:
    """Yield the members that may contain messages, requests first, each with its context."""
    inner = [item for item in value.values() if isinstance(item, Mapping)]
    plain = [f"{item}" for item in value.values() if isinstance(item, str | int | float)]
    plain += [item for nested in inner for item in nested.values() if isinstance(item, str) and TIME.match(item)]
    short = (text for text in plain if len(text) <= _WORD_LIMIT and "{" not in text and text.lstrip()[:1] != "[")
    words = " ".join([*islice(short, _MEMBER_LIMIT), context.words])[:_WORDS_LIMIT]
    plain_id = _first(value, (), ("id",))
    key = context.key or _first(value, inner, _IDS) or (f"{WEAK_KEY}{plain_id}" if plain_id else "")
    addresses = (text for name in _ADDRESSES if isinstance(text := value.get(name), str))
    url = next(addresses, "") or context.url
    servers = (text for name in _SERVERS if isinstance(text := value.get(name), str) and len(text) <= _WORD_LIMIT)
    server = next(servers, "") or context.server
    for name in sorted(value, key=_rank):
        item = value[name]
        if isinstance(item, str | Mapping | list):
            yield Context(f"{words} {name}", url, key, server, (*context.path, name)), item


def _first(value: Mapping[str, JSON], inner: Sequence[Mapping[str, JSON]], names: Sequence[str]) -> str:
    values = (members[name] for name in names for members in (value, *inner) if name in members)
    return next((f"{item}" for item in values if isinstance(item, str | int)), "")


def _rank(name: str) -> int:
    return 2 if _SAID.search(name) else 0 if _ASKED.search(name) else 1


def _text_of(item: JSON) -> str:
    if isinstance(item, str):
        return item
    names = ("raw", "data", "chunk", "text", "line", "body", "content")
    return next((text for name in names if isinstance(text := mapping(item).get(name), str)), "")
