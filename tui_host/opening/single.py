"""What speaks against it that pieces which name no stream are of one answer after the other: they may be of several at the same time.

Source: llm-dialects.md, the streams of OpenAI's chat completions and of Ollama's.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from tui_host.capture.json.narrowing import items, mapping
from tui_host.errors import JSON

_OF_NO_ANSWER = frozenset({"load", "unload"})
"""So Ollama ends what asks it to load a model, or to leave it."""


class Piece(NamedTuple):
    """What a piece of a stream tells of its place there.

    Attributes:
        has_role: It tells whose message it is of: many write that into the first piece alone.
        says: It has something of the message.
        ends: It says why that ends.
        is_used: It tells what was used.
        made: When it was made, in a count of its own; 0 if it does not tell.
        tokens: Of how many the message is; 0 if it does not tell.
    """

    has_role: bool
    says: bool
    ends: bool
    is_used: bool
    made: float
    tokens: int

    @property
    def is_rest(self) -> bool:
        """Whether it may stand behind the end of a message: it says nothing, and begins none."""
        return not self.says and (self.ends or self.is_used or not self.has_role)


def piece_of(event: JSON) -> Piece | None:
    """What an event tells, or a whole answer; None if it is no part of a message of these dialects."""
    body = mapping(event)
    if "choices" in body:
        return _of_openai(event)
    if "done" not in body or not mapping(body.get("message")):
        return None
    message = mapping(body["message"])
    is_done = body["done"] is True
    is_of_one = not (is_done and body.get("done_reason") in _OF_NO_ANSWER)
    tokens = body.get("eval_count")
    return Piece(
        has_role=False,  # each has it
        says=any(message.get(name) for name in ("content", "thinking", "tool_calls")) or not is_of_one,
        ends=is_done,
        is_used=False,
        made=_made(body.get("created_at")),
        tokens=tokens if isinstance(tokens, int) else 0,
    )


def _of_openai(event: JSON) -> Piece | None:
    body = mapping(event)
    choice = next((each for each in map(mapping, items(body.get("choices"))) if not each.get("index")), None)
    if choice is None:
        return None
    delta = mapping(choice.get("delta") or choice.get("message"))
    return Piece(
        has_role=bool(delta.get("role")),
        says=any(said for name, said in delta.items() if name != "role") or bool(choice.get("text")),
        ends=bool(choice.get("finish_reason")),
        is_used=bool(body.get("usage")),
        made=_made(body.get("created")),
        tokens=0,
    )


def _made(value: JSON) -> float:
    if isinstance(value, str):
        with suppress(ValueError, OverflowError):
            return datetime.fromisoformat(value).timestamp()
    return float(value) if isinstance(value, int | float) else 0


class Single:
    """Follows pieces as those of one answer after the other, as far as that may be.

    Attributes:
        since: Where the first answer begins that may be one of those that what was taken last shows to be several.
        is_over: The last answer has ended.
        ended: How many have.
    """

    def __init__(self) -> None:
        self.since = -1
        self.is_over = False
        self.ended = 0
        self._begun = self._crowded = self._open_since = self._unclosed_since = -1
        self._roles = self._unclosed = 0
        self._is_used = self._do_close = False
        self._has_role = self._is_told_once = False
        self._made = 0.0
        self._pieces = 0

    def takes(self, piece: Piece, place: int) -> bool:
        """Whether nothing speaks against it that a piece is the next one: of the same answer, or the first of the next."""
        self.since = self._open_since
        if self.is_over and piece.is_rest:
            return not piece.ends or self._takes_another_end(piece)
        is_right = not (self.is_over and ((self._is_told_once and not piece.has_role) or self._is_early))
        if self._begun < 0 or self.is_over:
            self._begin(piece, place)
        is_right = is_right and not 0 < piece.made < self._made
        self._made = piece.made or self._made
        self._pieces += piece.says
        self._roles += piece.has_role and not piece.says
        self._is_told_once |= self._has_role and piece.says and not piece.has_role
        return (not piece.ends or self._takes_an_end(piece)) and is_right

    def closes(self) -> bool:
        """The word that a stream has ended, behind what ends its message; whether nothing speaks against it that this is the last one."""
        self.since = self._unclosed_since if self._unclosed else self._open_since
        is_right = self._unclosed == (1 if self.is_over else 0)
        if not (self.is_over or self._unclosed) and self._begun >= 0:  # nothing said why it ends
            self.is_over = True
            self.ended += 1
            self._roles -= 1
        self._unclosed, self._do_close = 0, True
        return is_right

    @property
    def _is_early(self) -> bool:
        """Whether what comes stands before the word that closes the stream of what ended before it, where each is closed so."""
        return self._do_close and self._unclosed > 0

    def _begin(self, piece: Piece, place: int) -> None:
        self._open_since = place if self._roles <= 0 else self._open_since
        self._roles = max(self._roles, 0)
        self._begun, self.is_over = place, False
        self._has_role, self._is_told_once = piece.has_role, False
        self._made, self._pieces = 0.0, 0

    def _takes_another_end(self, piece: Piece) -> bool:
        """An end and nothing else, behind another: the same once more, with what was used, or an answer without a word."""
        is_more = piece.is_used and not self._is_used
        self._is_used |= piece.is_used
        self.ended += not is_more
        self._unclosed += not is_more
        return is_more or piece.tokens == 1

    def _takes_an_end(self, piece: Piece) -> bool:
        """An answer has no more pieces than tokens: another's stand among them, which has the fewer then."""
        self.is_over, self._is_used = True, piece.is_used
        self.ended += 1
        self._unclosed_since = self._unclosed_since if self._unclosed else self._open_since
        self._unclosed += 1
        self._roles -= 1
        if self._crowded >= 0 and piece.tokens > self._pieces + 1:
            self.since = self._crowded
            return False
        if 0 < piece.tokens < self._pieces and self._crowded < 0:
            self._crowded = self._begun
        return True
