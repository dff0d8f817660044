"""Read a request's messages in one form for all dialects."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tui_host.capture.json.reading import read_json
from tui_host.errors import JSON
from tui_host.infer.call_values import canonical_text
from tui_host.llm.outline import Outline, Part

_MODEL = ("assistant", "model")
_HOST = ("system", "developer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A text, call or result in a message.

    Attributes:
        kind: `text`, `call` or `result`.
        text: The text; of a call the arguments as JSON.
        start: The first byte in the body: of a text's content, or of the whole part.
        end: One past the last byte.
        name: The name of the call or result, empty if unknown.
        wire_id: The id of the call or result, empty if there is none.
        says: Where the content of a result stands in the body.
    """

    kind: str
    text: str
    start: int
    end: int
    name: str = ""
    wire_id: str = ""
    says: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A message of a request.

    Attributes:
        role: `model`, `host` (the system prompt), or `user`, who also tells results.
        pieces: The message's parts without thinking and images.
        mark: A mark that equal messages share.
    """

    role: str
    pieces: tuple[Piece, ...]
    mark: bytes

    @property
    def text(self) -> str:
        """All texts of the message, joined."""
        return "".join(piece.text for piece in self.pieces if piece.kind == "text")

    def of(self, kind: str) -> tuple[Piece, ...]:
        """Return the pieces of one kind."""
        return tuple(piece for piece in self.pieces if piece.kind == kind)


def as_one(messages: Sequence[Heard]) -> Heard:
    """Merge consecutive messages of one role."""
    return _message(messages[0].role, tuple(piece for message in messages for piece in message.pieces))


def message_of(outline: Outline, part: Part) -> Heard:
    """Read a message of a body; system messages get the role `host`."""
    label = part.label
    role = "model" if label in _MODEL or part.kind in {"call", "thinking"} else "host" if label in _HOST else "user"
    return _message(role, tuple(_pieces(outline, part)))


def _message(role: str, pieces: tuple[Piece, ...]) -> Heard:
    mark = hashlib.blake2b(role.encode(), digest_size=16)
    for piece in pieces:
        text = canonical_text(piece.text) or piece.text if piece.kind == "call" else piece.text.strip()
        for words in (piece.kind, piece.name if piece.kind == "call" else "", piece.wire_id, text):
            mark.update(words.encode("utf-8", "surrogatepass") + b"\0")
    return Heard(role=role, pieces=pieces, mark=mark.digest())


def _pieces(outline: Outline, part: Part) -> Iterator[Piece]:
    if part.kind in {"call", "result"}:
        text = _decoded(outline.body[part.says[0] : part.says[1]])
        names = {"name": part.name, "wire_id": part.wire_id}
        yield Piece(kind=part.kind, text=text, start=part.start, end=part.end, says=part.says, **names)
    elif part.kind in {"message", "text"} and not part.children:
        start, end = part.says
        text = _decoded(outline.body[start:end])
        if text.strip():
            yield Piece(kind="text", text=text, start=start, end=end)
    elif part.kind == "message":
        for child in part.children:
            yield from _pieces(outline, child)
    elif part.kind == "text":  # with a signature
        text = _decoded(outline.body[part.says[0] : part.says[1]])
        if text.strip():
            yield Piece(kind="text", text=text, start=part.says[0], end=part.says[1])


def _decoded(data: bytes) -> str:
    """Decode a JSON string, join the texts of blocks, or return other JSON as written."""
    try:
        value: JSON = read_json(data) if data else ""
    except ValueError:
        return data.decode("utf-8", "replace")
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        texts = [text for block in value if isinstance(block, dict) and isinstance(text := block.get("text"), str)]
        if texts and len(texts) == len(value):
            return "\n".join(texts)
    return data.decode("utf-8", "replace")
