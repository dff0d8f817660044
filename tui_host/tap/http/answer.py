"""An answer on its way through a relay: what came of its body, as the client gets it. It is recorded before it is given on."""

from __future__ import annotations

import time

from tui_host.tap.heads import Framing, ResponseHead
from tui_host.tap.http.bodies import BodyError, OpenBody, body_of, framed, last_chunk
from tui_host.tap.http.rewriting import BodyFilter
from tui_host.tap.http.witness import Witness


class Answer:
    """From its head on to its end.

    Args:
        head: As the upstream sent it.
        was: How the upstream frames the body.
        framing: How the client gets it.
        body_filter: Changes the body, None for nothing.
        witness: Has it recorded.

    Attributes:
        rest: What stood behind its end.
        fault: How it is framed wrongly; what came before that has been given on.
    """

    def __init__(
        self, head: ResponseHead, *, was: Framing, framing: Framing, body_filter: BodyFilter | None, witness: Witness
    ) -> None:
        self._head: ResponseHead | None = head
        self._body = body_of(was)
        self._is_chunked = framing == "chunked"
        self._filter = body_filter
        self._witness = witness
        self.rest = b""
        self.fault = ""

    def feed(self, data: bytes) -> bytes:
        """What the client gets for what came.

        Raises:
            BodyError: It cannot be changed as it has to be.
        """
        body, body_filter, witness = self._body, self._filter, self._witness
        try:
            payload, self.rest = body.feed(data)
        except BodyError as error:
            payload, self.rest, self.fault = error.body, b"", str(error)
        if self.is_as_it_came:
            out = data if self.fault else data[: len(data) - len(self.rest)]
        else:
            out = payload
            if body_filter is not None:
                out = body_filter.feed(payload) + (body_filter.finish() if body.done else b"")
            if self._is_chunked:
                out = framed(out) if out else b""
                if body.done:
                    out += last_chunk(body)
        at_ns = time.monotonic_ns()
        if self._head is not None:
            witness.answered(self._head, at_ns)
            self._head = None
        if payload:
            witness.chunk(payload, at_ns)
        if body.done:
            witness.end(at_ns)
        return out

    @property
    def is_done(self) -> bool:
        """Whether it has come to its end."""
        return self._body.done

    @property
    def ends_with_connection(self) -> bool:
        """Whether nothing but the connection's end tells where it ends."""
        return isinstance(self._body, OpenBody)

    @property
    def is_as_it_came(self) -> bool:
        """Whether the client gets it in the very chunks that the upstream sent, and nothing in it is changed."""
        return self._is_chunked and self._filter is None

    def left(self) -> bytes:
        """What the client gets of what is held of it, where nothing follows."""
        try:
            held = self._filter.finish() if self._filter is not None else b""
        except BodyError:
            return b""  # it ends in the middle, which the client is told another way
        return framed(held) if held and self._is_chunked else held

    @property
    def plain(self) -> int:
        """So many bytes that follow, if they come, may pass unseen: they are neither changed nor recorded."""
        return 0 if self._is_chunked or self._filter is not None or not self._witness.has_enough else self._body.plain

    def passed(self, size: int) -> None:
        """So many of these have passed."""
        self._body.passed(size)
        self._witness.unseen(size)

    def end(self) -> None:
        """It has come to its end without being fed."""
        self._witness.end()
