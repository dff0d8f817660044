"""Reads the heads of JSON-RPC frames, and sums them up in a line of foreign text. No function raises, whatever the bytes are.

Source: JSON-RPC 2.0; MCP 2025-11-25, Base protocol. A frame is parsed whole where that is cheap. A larger one is skimmed: its first
64 KB and its end are read, and what lies between is taken on trust: parsing would hold up the event loop.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_host.capture.json.narrowing import WORDS, clean, items, mapping, said, short, text_or_empty
from tui_host.capture.json.reading import LEVELS, PARTS_LIMIT, is_deeper, parts_of, skim
from tui_host.capture.json.spans import BrokenError, elements
from tui_host.errors import JSON

FrameKind: TypeAlias = Literal["request", "notification", "result", "error", "batch", "malformed"]

WHOLE = 2 << 20
"""Largest frame, in bytes, to parse whole, if it has no more than `PARTS_LIMIT` parts."""
_MARGIN = 64
_LISTS = {
    "tools": "tools",
    "resources": "resources",
    "resourceTemplates": "resource templates",
    "prompts": "prompts",
}
INPUT_REQUIRED = "input required: "
"""Begins the words of a result by which a server of 2026-07-28 asks for something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameHead:
    """The parts of a frame needed for a row and for correlation; empty if the frame lacks them."""

    kind: FrameKind  # the kind of message; `malformed` if it is not JSON-RPC
    method: str = ""
    id: str = ""
    progress_token: str = ""  # of a progress notification, or that a request sets for its progress, as JSON text
    request_id: str = ""  # the id that a cancellation names, as JSON text
    is_error: bool = False
    name: str = ""  # `params.name`: the tool, or the prompt
    words: str = ""  # a summary of the message on one line; only `read_frame` sets it, if asked
    reason: str = ""  # why the frame is malformed, or what is unusual about it

    @property
    def answers(self) -> bool:
        """Whether the frame answers a request."""
        return self.kind in {"result", "error"}

    @property
    def id_of_other_type(self) -> str:
        """`"5"` for `5` and the reverse: some servers answer so, and the SDK treats them as equal."""
        return self.id[1:-1] if self.id.startswith('"') else f'"{self.id}"'


@dataclass(frozen=True, slots=True)
class Frame:
    """A line that was parsed once, for all uses."""

    head: FrameHead  # the parts needed for correlation, without words
    value: JSON = None  # the parsed line; None if it is not JSON, or too large to be parsed for its head

    @property
    def is_message(self) -> bool:
        """Whether the line is a single message."""
        return self.head.kind not in {"malformed", "batch"}


def frames_in(body: bytes) -> list[bytes]:
    """Split the body of a request or response into messages: the body, or each member of a batch."""
    stripped = body.strip()
    if not stripped.startswith(b"["):
        return [stripped] if stripped else []
    try:
        return [stripped[start:end] for _, start, end in elements(stripped, 0)] or [stripped]
    except BrokenError:
        return [stripped]


def _refuse(name: str) -> JSON:
    raise ValueError(f"not JSON: {name} is no number")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def read_frame(line: bytes, *, in_words: bool = False) -> Frame:
    """Parse a message, or a broken line, with or without the line end; `in_words` with a summary for a row in its head."""
    size = len(line)
    try:
        text = line.decode()
        if size > PARTS_LIMIT and (size > WHOLE or parts_of(text) > PARTS_LIMIT):
            brackets = line[:_MARGIN].lstrip()[:1] + line[-_MARGIN:].rstrip()[-1:]
            if brackets == b"[]":
                return Frame(FrameHead(kind="batch", words="many messages"))
            members = skim(line) if brackets == b"{}" else mapping(None)
            if "method" in members or ("id" in members and not members.keys().isdisjoint({"result", "error"})):
                return Frame(head_of(members, in_words=in_words))
        if size > LEVELS and is_deeper(text, LEVELS):
            reason = "nested too deeply to be read"
        else:
            value: JSON = _DECODER.decode(text)
            return Frame(head_of(value, in_words=in_words), value)
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 at byte {error.start}"
    except json.JSONDecodeError as error:
        reason = f"not JSON: {error.msg} at character {error.pos}" if line.strip() else "an empty line"
    except ValueError as error:
        reason = str(error) if str(error).startswith("not JSON") else "a number is too long to be read"
    # If a broken answer has an id, the waiting caller is woken.
    members = skim(line)
    method = clean(text_or_empty(members.get("method")))
    return Frame(FrameHead(kind="malformed", method=method, id=_id(members.get("id")), reason=reason))


def head_of(value: JSON, *, in_words: bool = False) -> FrameHead:
    """Return the head of a parsed message, such as one to be sent."""
    if not isinstance(value, Mapping):
        if items(value):
            return FrameHead(kind="batch", words=f"{len(items(value))} messages")
        return FrameHead(kind="malformed", reason="an empty batch" if value == [] else "not a JSON object")
    method, identity, result, reason = value.get("method"), _id(value.get("id")), value.get("result"), ""
    words = clean(_words_of_message(value)) if in_words else ""
    if isinstance(method, str):
        params = mapping(value.get("params"))
        with_token = params if method == "notifications/progress" else mapping(params.get("_meta"))
        is_wrong, kind = "id" in value and not identity, "request" if identity else "notification"
        return FrameHead(
            kind="malformed" if is_wrong else kind,
            method=clean(method),
            id=identity,
            progress_token=_id(with_token.get("progressToken")),
            request_id=_id(params.get("requestId")) if method == "notifications/cancelled" else "",
            name=clean(text_or_empty(params.get("name"))),
            words=words,
            reason="the id is neither text nor a number" if is_wrong else "",
        )
    kind, is_error = "result", mapping(result).get("isError", False)
    if "error" in value:
        kind, is_error, reason = "error", True, "both a result and an error" if "result" in value else ""
    elif "result" not in value:
        kind, reason = "malformed", "no method, no result and no error"
    elif not identity:
        kind, reason = "malformed", "an answer without an id"
    elif not isinstance(result, Mapping):
        reason = "the result is not an object"
    elif not isinstance(is_error, bool):
        reason = "isError is neither true nor false"
    return FrameHead(kind=kind, id=identity, is_error=bool(is_error), words=words, reason=reason)


def _id(value: JSON) -> str:
    """Return an id as JSON text, empty for a value that cannot be an id."""
    if isinstance(value, str):
        return clean(json.dumps(value[:WORDS], ensure_ascii=False))
    return repr(value)[:WORDS] if type(value) in {int, float} else ""


def _words_of_message(message: Mapping[str, JSON]) -> str:
    """Summarise a request, a notification or an answer."""
    method, params = message.get("method"), mapping(message.get("params"))
    if not isinstance(method, str) and "error" not in message:
        return _words_of_result(mapping(message.get("result")))
    match method:
        case "tools/call":
            return f"{said(params.get('name'))} {short(params.get('arguments', {}))}"
        case "notifications/progress":
            total = f"/{said(params['total'])}" if "total" in params else ""
            return f"{said(params.get('progress'))}{total} {said(params.get('message'))}".strip()
        case "notifications/message":
            return f"{said(params.get('level'))}: {said(params.get('data'))}"
        case "notifications/cancelled":
            return said(params.get("reason"))
        case str():
            return _short(params)
        case _:
            error = mapping(message["error"])
            return f"{said(error.get('code'))} {said(error.get('message'))}".strip() or said(message["error"])


def _words_of_result(result: Mapping[str, JSON]) -> str:
    """Return the first text of a result, the number of listed things, or what the server asks for first."""
    if result.get("resultType") == "input_required":
        requests = map(mapping, mapping(result.get("inputRequests")).values())
        asked = ((said(ask.get("method")), said(mapping(ask.get("params")).get("message"))) for ask in requests)
        return INPUT_REQUIRED + ("; ".join(" ".join(words).strip() for words in asked) or "to be sent again")
    for block in map(mapping, (*items(result.get("content"))[:1], *items(result.get("contents"))[:1])):
        text = block.get("text")
        return said(text if isinstance(text, str) else block.get("type") or block.get("mimeType") or block.get("uri"))
    for key, name in _LISTS.items():
        if key in result:
            more = ", and more" if result.get("nextCursor") is not None else ""
            count = len(items(result[key]))
            return f"{count} {name.removesuffix('s') if count == 1 else name}{more}"
    if "capabilities" not in result:
        return _short(result)
    server = introduced(result, "serverInfo")
    versions = items(result.get("supportedVersions")) or [result.get("protocolVersion")]
    name = f"{said(server.get('name'))} {said(server.get('version'))}"
    offers = ", ".join(mapping(result["capabilities"]))
    return " · ".join(words for words in (name.strip(), ", ".join(map(said, versions)), offers) if words)


def _short(members: Mapping[str, JSON]) -> str:
    return short({key: item for key, item in members.items() if key != "_meta"}) if members else ""


def introduced(message: Mapping[str, JSON], name: Literal["clientInfo", "serverInfo"]) -> Mapping[str, JSON]:
    """Return how a program introduces itself: in `params` or `result`, as in `initialize`, or in `_meta` (2026-07-28)."""
    return mapping(message.get(name) or mapping(message.get("_meta")).get(f"io.modelcontextprotocol/{name}"))
