"""What all five wires share: the request, the answer to write, and reading content and tools.

A wire is lenient: it accepts what a client of its dialect sends, and ignores what it does not know.
"""

from __future__ import annotations

import abc
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tui_host.demo.model.conversation import DemoCall, DemoConversation, DemoMessage, Thinking
from tui_host.demo.model.json_values import compact, is_object, json_line, objects_at, text_at, texts_at
from tui_host.demo.model.plan import PiecedAnswer
from tui_host.errors import JSON

SIGNATURE = "dHVpLWhvc3QgZGVtbyBtb2RlbA=="
"""The signature of all thinking and calls. Clients have to send signatures back; the demo model does not check them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """A request for an answer of the model."""

    conversation: DemoConversation
    model: str
    is_streamed: bool
    most_tokens: object = None  # the limit of tokens as sent: a number, or nothing that counts
    is_detailed: bool = False  # whether the request asks for what the vendor sends on request only


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """An answer to write. All ids in it contain `identity`."""

    chat: ChatRequest
    pieces: PiecedAnswer
    identity: str
    created: int
    prompt_tokens: int


@dataclass(slots=True, kw_only=True)
class RequestRefused(Exception):  # noqa: N818 - it becomes a response; nothing of ours went wrong
    """Raised to answer a request with an HTTP error."""

    status: int
    message: str


class VendorWire(abc.ABC):
    """A vendor's API with one model, as the demo model serves it.

    Attributes:
        request_id_header: The response header for the request's id; empty if the vendor sends neither an id nor `retry-after`.
    """

    model: str
    request_id_header = ""
    stream_type = "text/event-stream; charset=utf-8"
    overload = (500, "")  # the status of an error in mid-stream, and the vendor's word before the message

    @abc.abstractmethod
    def read(self, path: str, body: bytes) -> ChatRequest:
        """Parse a request. Raises `RequestRefused` if the body is not a JSON object."""

    @abc.abstractmethod
    def stream(self, answer: ModelAnswer) -> Iterator[bytes]:
        """Yield the stream, a piece of the answer at a time."""

    @abc.abstractmethod
    def whole(self, answer: ModelAnswer) -> JSON:
        """Return the answer for a response that is not streamed."""

    @abc.abstractmethod
    def error(self, refused: RequestRefused, identity: str) -> dict[str, JSON]:
        """Return the body of an HTTP error."""

    def failure(self, message: str) -> bytes:
        """Return an error that ends a stream."""
        status, word = self.overload
        return self.framed(self.error(RequestRefused(status=status, message=word + message), ""))

    def framed(self, value: dict[str, JSON]) -> bytes:
        """Format a piece of a stream: an event, named by its type where the vendor's have one."""
        head = f"event: {value['type']}\n".encode() if "type" in value else b""
        return head + b"data: " + json_line(value) + b"\n\n"


def object_of(body: bytes) -> dict[str, object]:
    """Parse a request's body. Raises `RequestRefused` if the body is not a JSON object."""
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestRefused(status=400, message=f"The body of the request is not valid JSON: {error}") from error
    if not is_object(value):
        raise RequestRefused(status=400, message="The body of the request must be a JSON object.")
    return value


def thinking_for(option: object, off: object = None) -> Thinking:
    """Return whether to think, by a request's option: any value but `off` means yes."""
    if option is None:
        return "asked"
    return "never" if option == off else "always"


def tools_of(declarations: Iterable[dict[str, object]]) -> tuple[str, ...]:
    """Read the names of tools; a vendor's own tools have none."""
    return tuple(name for tool in declarations if (name := text_at(tool, "name")))


def call_of(identity: str, name: str, arguments: object) -> DemoCall:
    """Make a call of an assistant message. `arguments` may be a JSON object or its text."""
    text = arguments if isinstance(arguments, str) else compact(arguments or {})
    return DemoCall(id=identity, name=name, arguments=text)


def content_at(message: dict[str, object], name: str) -> tuple[str, int]:
    """Read a text, or parts of types as in all dialects but Gemini's: the text, and the number of images."""
    parts = objects_at(message, name)
    texts = [*texts_at(message, name), *(text_at(part, "text") for part in parts if text_at(part, "text"))]
    return "\n".join(texts), sum("image" in text_at(part, "type") for part in parts)


def paired(messages: Iterable[DemoMessage]) -> tuple[DemoMessage, ...]:
    """Give ids to calls without one, in APIs that have none; results without an id answer the calls in their order."""
    pairs: list[DemoMessage] = []
    open_ids: list[str] = []
    for index, message in enumerate(messages):
        if message.calls:
            calls = [replace(call, id=call.id or f"{index}.{place}") for place, call in enumerate(message.calls)]
            open_ids = [call.id for call in calls]
            pairs.append(replace(message, calls=tuple(calls)))
            continue
        call_id = message.call_id
        if message.role == "tool" and open_ids:
            call_id = call_id if call_id in open_ids else open_ids[0]
            open_ids.remove(call_id)
        pairs.append(replace(message, call_id=call_id))
    return tuple(pairs)
