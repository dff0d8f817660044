"""The interface of a wire, and the helpers of all five.

A wire is lenient: it takes what a client of its dialect sends, and passes over what it does not know.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.json_values import compact, is_object, parameters
from tui_host.demo.model.plan import CallBegun, Ended, Fragment, Piece, Said, Thought
from tui_host.demo.model.request_content import AssistantSaid, Conversation, Message, Tool
from tui_host.demo.model.token_estimate import estimate
from tui_host.errors import JSON

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
_UNCHECKED_SEALS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
"""The placeholders in Gemini's documentation for calls made by another model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request for an answer.

    Attributes:
        model: The model's name as it was sent.
        most_tokens: The most tokens that the answer may have, None for no limit.
        prompt_tokens: Estimated tokens of the request.
        cached_tokens: The cached tokens among `prompt_tokens`.
        stops: The stop sequences of the request.
        with_usage: Whether a stream ends with the usage.
        shows_thinking: Whether the thinking is sent in words.
        options: What else of the request the response depends on, by the vendor's names.
    """

    conversation: Conversation
    model: str
    is_streamed: bool
    most_tokens: int | None
    prompt_tokens: int
    cached_tokens: int
    stops: tuple[str, ...] = ()
    with_usage: bool = True
    shows_thinking: bool = True
    options: Mapping[str, JSON] = field(default_factory=dict[str, JSON])


@dataclass(slots=True, kw_only=True)
class RequestRefused(Exception):  # noqa: N818 - it becomes a response; nothing of ours went wrong
    """The request gets an HTTP error instead of an answer.

    Attributes:
        status: The HTTP status.
        message: The words of the error; empty for the usual ones of the status.
        code: OpenAI's word for the kind of mistake, None if there is none.
    """

    status: int
    message: str = ""
    code: str | None = None

    @property
    def words(self) -> str:
        """The words of the error, with a note if the error was asked for."""
        usual = _WORDS.get(self.status, f"Error {self.status}.")
        return self.message or f"{usual} (The demo model was asked for this.)"


class ResponseWriter(Protocol):
    """Writes an answer in a vendor's form."""

    @property
    def stream_type(self) -> str:
        """The content type of a stream."""
        ...

    def begin(self) -> bytes:
        """Return the beginning of a stream."""
        ...

    def piece(self, piece: Piece) -> bytes:
        """Write a piece of a stream."""
        ...

    def end(self, ended: Ended) -> bytes:
        """Return the end of a stream."""
        ...

    def failure(self, message: str) -> bytes:
        """Write an error in mid-stream, the last thing in the stream."""
        ...

    def whole(self, pieces: Sequence[Piece], ended: Ended) -> bytes:
        """Write the whole answer as a body."""
        ...


class Wire(Protocol):
    """A vendor's API."""

    @property
    def model(self) -> str:
        """The name of the API's only model."""
        ...

    @property
    def request_id_header(self) -> str:
        """The response header for the request's id; empty if the vendor sends neither an id nor `retry-after`."""
        ...

    def read(self, request: Request) -> Asked:
        """Read a request. Raises `RequestRefused` if the body is no JSON object or a signature was changed."""
        ...

    def refusal(self, refused: RequestRefused, *, identity: str = "", request: Request | None = None) -> bytes:
        """Write the body of an HTTP error."""
        ...

    def writer(self, asked: Asked, *, identity: str, created: int) -> ResponseWriter:
        """Make a writer for the answer.

        Args:
            asked: The request.
            identity: The unique part of all ids in the response.
            created: Seconds since 1970.
        """
        ...


def body_of(request: Request) -> dict[str, object]:
    """Parse a request's body. Raises `RequestRefused` if the body is no JSON object."""
    try:
        value: object = json.loads(request.body)
    except (ValueError, RecursionError) as error:
        raise RequestRefused(status=400, message=f"The body of the request is not valid JSON: {error}") from error
    if not is_object(value):
        raise RequestRefused(status=400, message="The body of the request must be a JSON object.")
    return value


def unknown_model(asked: str, known: str) -> RequestRefused:
    """Make the refusal of an unknown model."""
    words = f'The model "{asked[:100]}" was not found: there is only "{known}" here.'
    return RequestRefused(status=404, message=words, code="model_not_found")


def token_counts(body: bytes, messages: Sequence[Message]) -> tuple[int, int]:
    """Estimate a request's tokens, and the cached tokens: all before the last answer."""
    tokens = estimate(body.decode("utf-8", "replace"))
    last = max((place for place, message in enumerate(messages) if isinstance(message, AssistantSaid)), default=0)
    return tokens, min(tokens, sum(estimate(message.text) for message in messages[:last]))


def tool_of(name: str, description: str, schema: object) -> Tool:
    """Make a tool with the parameters of a JSON Schema."""
    types, required = parameters(schema)
    return Tool(name=name, description=description, types=types, required=required)


def picture(data: object, media_type: object = "") -> str:
    """Describe an image in base64: its type, as stated or by the first bytes, and its size."""
    try:
        content = base64.b64decode(data if isinstance(data, str) else "")
    except (binascii.Error, ValueError):
        content = b""
    by_bytes = next((kind for sign, kind in _PICTURE_SIGNS if content.startswith(sign)), "of an unknown type")
    return f"{media_type if isinstance(media_type, str) and media_type else by_bytes}, {len(content):,} bytes"


def picture_at(url: object) -> str:
    """Describe an image at a URL: type and size for a `data:` URL."""
    head, comma, data = url.partition(",") if isinstance(url, str) else ("", "", "")
    if not comma or not head.startswith("data:"):
        return "at a URL"
    return picture(data, head.removeprefix("data:").partition(";")[0])


def seal(*parts: str) -> str:
    """Make the signature for thinking or for a call, a hash of texts, so nothing has to be stored."""
    digest = hashlib.sha256(b"tui-host demo model")
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data) + data)
    return base64.b64encode(digest.digest()).decode("ascii")


def check_seal(given: object, *parts: str) -> None:
    """Refuse a changed signature; a missing signature is fine. Raises `RequestRefused`."""
    if not isinstance(given, str) or not given or given in _UNCHECKED_SEALS:
        return
    # Google's own client sends the other alphabet of base64 than it was given.
    if given.replace("-", "+").replace("_", "/") != seal(*parts):
        raise RequestRefused(status=400, message=f"Invalid signature: {given[:20]!r} is not the one that was given.")


def json_line(value: JSON) -> bytes:
    """Write JSON without blanks in UTF-8; only a text with lone surrogates is escaped."""
    try:
        return compact(value).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def event(value: JSON, *, name: str = "") -> bytes:
    """Write a server-sent event."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + json_line(value) + b"\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredCall:
    """A call with all sent arguments."""

    index: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """An answer put together from pieces."""

    thinking: str
    text: str
    calls: tuple[GatheredCall, ...]


def gathered(pieces: Sequence[Piece]) -> Gathered:
    """Put the pieces of an answer together."""
    arguments: dict[int, list[str]] = {}
    for piece in pieces:
        if isinstance(piece, Fragment):
            arguments.setdefault(piece.index, []).append(piece.text)
    return Gathered(
        thinking="".join(piece.text for piece in pieces if isinstance(piece, Thought)),
        text="".join(piece.text for piece in pieces if isinstance(piece, Said)),
        calls=tuple(
            GatheredCall(index=piece.index, name=piece.name, arguments="".join(arguments.get(piece.index, [])))
            for piece in pieces
            if isinstance(piece, CallBegun)
        ),
    )


def object_in(arguments: str) -> dict[str, JSON] | None:
    """Parse a call's arguments, an empty text as an empty object. None for anything but a JSON object."""
    try:
        value: JSON = json.loads(arguments.strip() or "{}", parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse(constant: str) -> JSON:
    raise ValueError(f"{constant} is not JSON")
