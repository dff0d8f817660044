"""What every wire does, so that one server loop serves them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.plan import Ended, Piece
from tui_host.demo.model.request_content import Conversation
from tui_host.errors import JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request, read.

    Attributes:
        model: The model's name as it was sent.
        is_streamed: Whether the answer comes as a stream.
        with_usage: Whether a stream tells the usage.
        most_tokens: The most tokens that the answer may have, None for no limit.
        prompt_tokens: Estimated tokens of the request.
        cached_tokens: Those of them that a cache would hold.
        stops: Where the text of the answer ends before it has them.
        shows_thinking: Whether what was thought is told in words.
        options: What else of the request the response follows or repeats, by the vendor's names.
    """

    conversation: Conversation
    model: str
    is_streamed: bool
    with_usage: bool
    most_tokens: int | None
    prompt_tokens: int
    cached_tokens: int = 0
    stops: tuple[str, ...] = ()
    shows_thinking: bool = True
    options: Mapping[str, JSON] = field(default_factory=dict[str, JSON])


@dataclass(slots=True, kw_only=True)
class RequestRefused(Exception):  # noqa: N818 - its words go out as a response; nothing of ours went wrong
    """The request gets an HTTP error instead of an answer.

    Attributes:
        status: The HTTP status.
        message: What the vendor would say; empty for its usual words.
        param: The part of the request at fault, None if none.
        code: The vendor's word for the kind of mistake, None if it has none.
    """

    status: int
    message: str = ""
    param: str | None = None
    code: str | None = None


class ResponseWriter(Protocol):
    """Writes one answer in a vendor's form."""

    @property
    def stream_type(self) -> str:
        """The content type of a stream."""
        ...

    def begin(self) -> bytes:
        """What a stream begins with."""
        ...

    def piece(self, piece: Piece) -> bytes:
        """What a stream says of one piece."""
        ...

    def end(self, ended: Ended) -> bytes:
        """What a stream ends with."""
        ...

    def failure(self, message: str) -> bytes:
        """An error in mid-stream, after which nothing comes."""
        ...

    def whole(self, pieces: Sequence[Piece], ended: Ended) -> bytes:
        """The whole answer as one body."""
        ...


class Wire(Protocol):
    """One vendor's API."""

    def read(self, request: Request) -> Asked:
        """A request, checked as the vendor would.

        Raises:
            RequestRefused: The vendor would refuse it.
        """
        ...

    def headers(self, identity: str, status: int) -> list[tuple[str, str]]:
        """What a response carries besides what describes its body: under which id it is known, when to come again."""
        ...

    def refusal(self, refused: RequestRefused, *, identity: str = "", request: Request | None = None) -> bytes:
        """The body of an HTTP error, as an answer to this request."""
        ...

    def writer(self, asked: Asked, *, identity: str, created: int) -> ResponseWriter:
        """A writer for the answer.

        Args:
            asked: The request.
            identity: What makes the ids of this response, and of no other, unique.
            created: Seconds since 1970.
        """
        ...
