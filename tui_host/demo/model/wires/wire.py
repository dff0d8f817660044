"""The parts that all five wires share: the request, the writer of an answer, and reading content and tools.

A wire is lenient: it accepts what a client of its dialect sends, and ignores what it does not know.
"""

from __future__ import annotations

import abc
import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.json_values import compact, is_object, json_line, object_at, objects_at, text_at, texts_at
from tui_host.demo.model.plan import Ended, Piece, estimate
from tui_host.demo.model.request_content import AssistantSaid, Call, Conversation, Thinking, Tool, tool_of
from tui_host.errors import JSON

SIGNATURE = "dHVpLWhvc3QgZGVtbyBtb2RlbA=="
"""The signature of all thinking and calls. Clients have to send signatures back; the demo model does not check them."""

_WORDS: dict[int, str] = {
    401: "The API key is not valid.",
    403: "This key has no permission for that.",
    404: "The model does not exist.",
    429: "Too many requests: try again in a second.",
    500: "The server had an error while processing the request.",
    503: "The server is overloaded or not ready yet.",
    529: "Overloaded.",
}
_PICTURE_SIGNS = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """A request for an answer of the model.

    Attributes:
        model: The model's name as sent.
        most_tokens: Largest number of tokens in the answer, None for no limit.
        prompt_tokens: Estimated number of tokens in the request.
        cached_tokens: How many of the `prompt_tokens` are cached: those before the last answer.
        stops: The request's stop sequences.
        options: Further options of the request that change the response, by names that the wire chooses.
    """

    conversation: Conversation
    model: str
    is_streamed: bool
    most_tokens: int | None
    prompt_tokens: int
    cached_tokens: int
    stops: tuple[str, ...] = ()
    options: Mapping[str, JSON] = field(default_factory=dict[str, JSON])


@dataclass(slots=True, kw_only=True)
class RequestRefused(Exception):  # noqa: N818 - it becomes a response; nothing of ours went wrong
    """Raised to answer a request with an HTTP error.

    Attributes:
        status: The HTTP status.
        message: The text of the error; empty for the status's usual text.
    """

    status: int
    message: str = ""

    @property
    def words(self) -> str:
        """The text of the error, with a note if the user asked for the error."""
        usual = _WORDS.get(self.status, f"Error {self.status}.")
        return self.message or f"{usual} (The demo model was asked for this.)"


class ResponseWriter(abc.ABC):
    """Writes an answer in a vendor's form, streamed or whole.

    Attributes:
        stream_type: The content type of a streamed answer.
        chat: The request that is answered.
        identity: The unique part of all ids in the response.
        created: Time of the response, in seconds since 1970.
    """

    stream_type = "text/event-stream; charset=utf-8"

    def __init__(self, chat: ChatRequest, identity: str, created: int) -> None:
        self.chat = chat
        self.identity = identity
        self.created = created

    def begin(self) -> bytes:
        """Return the beginning of a stream."""
        return b""

    @abc.abstractmethod
    def piece(self, piece: Piece) -> bytes:
        """Return a piece of the answer as a piece of the stream."""

    @abc.abstractmethod
    def end(self, ended: Ended) -> bytes:
        """Return the end of a stream."""

    @abc.abstractmethod
    def failure(self, message: str) -> bytes:
        """Return an error as the last piece of a stream."""

    @abc.abstractmethod
    def whole(self, pieces: Sequence[Piece], ended: Ended) -> JSON:
        """Return the whole answer, for a response that is not streamed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """A vendor's API, as the demo model serves it.

    Attributes:
        model: The name of the API's only model.
        read: Parses a request. Raises `RequestRefused` if the body is not a JSON object.
        error: Makes the body of an HTTP error from the error and the request's id.
        writer: Makes the writer of an answer from the request, the unique part of ids, and the seconds since 1970.
        request_id_header: The response header for the request's id; empty if the vendor sends neither an id nor `retry-after`.
    """

    model: str
    read: Callable[[Request], ChatRequest]
    error: Callable[[RequestRefused, str], JSON]
    writer: Callable[[ChatRequest, str, int], ResponseWriter]
    request_id_header: str = ""


def body_of(request: Request) -> dict[str, object]:
    """Parse a request's body. Raises `RequestRefused` if the body is not a JSON object."""
    try:
        value: object = json.loads(request.body)
    except (ValueError, RecursionError) as error:
        raise RequestRefused(status=400, message=f"The body of the request is not valid JSON: {error}") from error
    if not is_object(value):
        raise RequestRefused(status=400, message="The body of the request must be a JSON object.")
    return value


def unknown_model(asked: str, known: str) -> RequestRefused:
    """Return the refusal of a request for an unknown model."""
    return RequestRefused(status=404, message=f'The model "{asked[:100]}" was not found: there is only "{known}" here.')


def chat_request(
    request: Request,
    conversation: Conversation,
    *,
    model: str,
    is_streamed: bool,
    limits: tuple[dict[str, object], *tuple[str, ...]],
    stops: tuple[str, ...] = (),
    **options: JSON,
) -> ChatRequest:
    """Make a chat request.

    Args:
        request: The HTTP request, from whose size the tokens are estimated.
        conversation: The content of the request.
        model: The model's name as sent.
        is_streamed: Whether the request asks for a stream.
        limits: The object that has the limit of tokens, and the names that the limit may have there.
        stops: The request's stop sequences.
        **options: Further options that change the response.
    """
    values = [limits[0].get(name) for name in limits[1:]]
    messages = conversation.messages
    last = max((place for place, message in enumerate(messages) if isinstance(message, AssistantSaid)), default=0)
    tokens = estimate(request.body.decode("utf-8", "replace"))
    return ChatRequest(
        conversation=conversation,
        model=model,
        is_streamed=is_streamed,
        most_tokens=next(
            (value for value in values if isinstance(value, int) and value is not True and value > 0), None
        ),
        prompt_tokens=tokens,
        cached_tokens=min(tokens, sum(estimate(message.text) for message in messages[:last])),
        stops=stops,
        options=options,
    )


def thinking_for(option: object, *offs: object) -> Thinking:
    """Return whether to think, by a request's option: any value except those in `offs` means yes."""
    return "asked" if option is None else "never" if option in offs else "always"


def tools_of(declarations: Iterable[dict[str, object]], schema_key: str) -> tuple[Tool, ...]:
    """Read tools with name, description, and JSON Schema of the parameters; entries without a name are skipped."""
    return tuple(
        tool_of(text_at(tool, "name"), text_at(tool, "description"), tool.get(schema_key))
        for tool in declarations
        if text_at(tool, "name")
    )


def call_of(identity: str, name: str, arguments: object) -> Call:
    """Make a call of an assistant message. `arguments` may be a JSON object or its text."""
    text = arguments if isinstance(arguments, str) else compact(arguments if is_object(arguments) else {})
    return Call(id=identity, name=name, arguments=text)


def content_at(message: dict[str, object], name: str) -> tuple[str, tuple[str, ...]]:
    """Read a text, or parts of types as in all dialects but Gemini's: the text, and each image in words."""
    parts = objects_at(message, name)
    texts = texts_at(message, name) or [text_at(part, "text") for part in parts if text_at(part, "text")]
    return "\n".join(texts), tuple(_image(part) for part in parts if "image" in text_at(part, "type"))


def _image(part: dict[str, object]) -> str:
    source = object_at(part, "source")
    if source:
        return picture(source["data"], source.get("media_type")) if "data" in source else "at a URL"
    url = text_at(part, "image_url") or text_at(part.get("image_url"), "url")
    head, _, data = url.partition(",")
    return picture(data, head[5:].partition(";")[0]) if head.startswith("data:") else "at a URL"


def picture(data: object, media_type: object = "") -> str:
    """Describe an image in base64 by its size and type, which is stated or recognised by the first bytes."""
    try:
        content = base64.b64decode(data if isinstance(data, str) else "")
    except (binascii.Error, ValueError):
        content = b""
    by_bytes = next((kind for sign, kind in _PICTURE_SIGNS if content.startswith(sign)), "of an unknown type")
    return f"{media_type if isinstance(media_type, str) and media_type else by_bytes}, {len(content):,} bytes"


def event(value: JSON, *, name: str = "") -> bytes:
    """Format a server-sent event."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + json_line(value) + b"\n\n"


def object_in(arguments: str) -> dict[str, JSON] | None:
    """Parse a call's arguments; an empty text counts as an empty object. None for anything but a JSON object."""
    try:
        value: JSON = json.loads(arguments.strip() or "{}", parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse(constant: str) -> JSON:
    raise ValueError(f"{constant} is not JSON")
