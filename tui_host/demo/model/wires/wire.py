"""What every wire does, so that one server loop serves them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tui_host.demo.model.conversation import Conversation
from tui_host.demo.model.plan import Ended, Piece


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request, read.

    Attributes:
        model: The model's name as it was sent.
        is_streamed: Whether the answer comes as a stream.
        with_usage: Whether a stream tells the usage.
        most_tokens: The most tokens that the answer may have, None for no limit.
        prompt_tokens: Estimated tokens of the request.
    """

    conversation: Conversation
    model: str
    is_streamed: bool
    with_usage: bool
    most_tokens: int | None
    prompt_tokens: int


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

    def read(self, body: bytes) -> Asked:
        """A request's body, checked as the vendor would.

        Raises:
            RequestRefused: The vendor would refuse it.
        """
        ...

    def refusal(self, refused: RequestRefused) -> bytes:
        """The body of an HTTP error."""
        ...

    def writer(self, asked: Asked, *, identity: str, created: int) -> ResponseWriter:
        """A writer for the answer.

        Args:
            asked: The request.
            identity: What makes the ids of this response, and of no other, unique.
            created: Seconds since 1970.
        """
        ...
