"""What the rows of a session say, piece by piece, for exports that people read: each text once, its repeats as references."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from tui_host.answers.bodies import body_of, unescaped
from tui_host.answers.outlines import folded, host_parts, marks_of, outlined
from tui_host.answers.wires import Wires
from tui_host.capture.exports.parts import keyless
from tui_host.capture.http.exchange_end import EMPTY
from tui_host.capture.ladder.row import Row
from tui_host.capture.link import Link
from tui_host.capture.visible import decode
from tui_host.llm.exchange_summary import call_words, request_words, said_words
from tui_host.llm.outline import Outline, Part

_REFERRED_FROM = 60  # characters from which a repeated text is worth a reference
_TOGETHER = 8  # number of repeated messages from which they have one reference together
SIGNS: Mapping[tuple[str, bool], str] = {
    ("llm", True): "<──┤",
    ("llm", False): "──>┤",
    ("mcp", True): "├──>",
    ("mcp", False): "├<──",
}
_PUT_IN: Mapping[str, str] = {
    "injected": "added by the tool protocol",
    "profile": "added by the profile",
    "given": "given by a server",
    "told": "the result of a call",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A stretch of text by one author."""

    by: str = ""  # who added it: `added by the tool protocol: how to call tools`; empty for the message's own text
    text: str = ""  # the text; empty where it is repeated
    same_as: str = ""  # what says the same before: `the answer of LLM 1`; empty for a new text
    at: int = 0  # the number of the piece that says it first


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidPiece:
    """A message, a tool, the options, an answer, or a whole body."""

    number: int  # counts the pieces of a session, from 1
    label: str  # what it is: `message 3, user`
    size: int  # its bytes
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowText:
    """A row with what it says."""

    row: Row
    name: str  # how the row is called: `LLM 3`, `math #4`
    words: str  # the row in a line; foreign text as it came
    pieces: tuple[SaidPiece, ...]


@dataclass(slots=True)
class RowTexts:
    """Takes the rows of a session apart, in order."""

    _wires: Wires
    _seen: dict[bytes, tuple[str, int]] = field(default_factory=dict[bytes, tuple[str, int]])
    _lists: dict[str, tuple[str, list[bytes], int]] = field(default_factory=dict[str, tuple[str, list[bytes], int]])
    _count: int = 0

    def all(self) -> Iterator[RowText]:
        """Yield all rows."""
        for row in self._wires.ladder.rows:
            name = self._wires.called(row)
            if row.lane == "llm" and row.kind == "request" and not row.missing:
                yield self._request(row, name)
            elif row.lane == "llm" and row.kind == "response" and not row.missing:
                yield self._response(row, name)
            else:
                is_told = row.kind in {"decision", "end", "vendor"}
                text = "" if is_told else keyless(decode(body_of(self._wires, row).data))
                yield self._whole(row, name, keyless(_words(row)), text)

    def _whole(self, row: Row, name: str, words: str, text: str) -> RowText:
        pieces = (self._piece(name, "body", text),) if text else ()
        return RowText(row=row, name=name, words=words, pieces=pieces)

    def _request(self, row: Row, name: str) -> RowText:
        body = body_of(self._wires, row).data
        dialect = self._wires.dialect(row)
        before = self._wires.before(row)
        previous = None if before is None or before.turn != row.turn else body_of(self._wires, before).data
        words = f"{row.method} {row.url.rpartition('://')[2].partition('/')[2]} · {request_words(body, previous)}"
        outline = outlined(self._wires, row, body, dialect) if dialect is not None else None
        if outline is None:
            return self._whole(row, name, words, keyless(decode(body)))
        hosts, marks, pieces = host_parts(self._wires, row, outline), marks_of(self._wires, row), list[SaidPiece]()
        for part in (part for part in outline.parts if part.kind != "option"):
            # One piece for many tools or messages that the request before began with.
            digests = [_digest(outline.bytes_of(child)) for child in part.children]
            origin, earlier, at = self._lists.get(part.key, ("", [], 0))
            alike = (number for number, pair in enumerate(zip(digests, earlier, strict=False)) if pair[0] != pair[1])
            known = next(alike, min(len(digests), len(earlier)))
            self._lists[part.key] = (name, digests, self._count + 1)
            if known >= _TOGETHER:
                label, size = f"{part.kind} 1 to {known}", sum(child.size for child in part.children[:known])
                pieces.append(self._made("", label, size, [Passage(same_as=f"{label} of {origin}", at=at)], ""))
            known = known if known >= _TOGETHER else 0
            for number, child in enumerate((part.children or (part,))[known:], known + 1):
                label = " ".join(word for word in (child.label, child.name) if word)
                label = f"message {number}, {child.label}" if part.kind == "messages" else label
                label += f", from {hosts[child.key]}" if child.key in hosts else ""
                whole = keyless(decode(outline.bytes_of(child)))
                passages = [self._passage("", whole)]
                if not passages[0].same_as and child.kind != "tool":
                    passages = list(self._said(outline, child, marks))
                pieces.append(self._made(f"{label} of {name}", label, child.size, passages, whole))
        if options := [part for part in outline.parts if part.kind == "option"]:
            lines = (f"{part.name or part.label}: {decode(outline.bytes_of(part))}" for part in options)
            pieces.append(self._piece(name, "options", "\n".join(map(keyless, lines))))
        return RowText(row=row, name=name, words=words, pieces=tuple(pieces))

    def _said(self, outline: Outline, part: Part, marks: Sequence[Link]) -> Iterator[Passage]:
        for leaf in part.walk():
            start, end = leaf.says
            if leaf.children or start == end:
                continue
            head = "" if leaf.kind in {"message", "text"} else f"{leaf.label} {leaf.name}".strip()
            is_text = outline.body[start : start + 1] == b'"'
            start, end = (start + 1, end - 1) if is_text else (start, end)
            for by, begin, stop in _cut(marks, start, end, is_result=leaf.kind == "result"):
                text = outline.body[begin:stop]
                whole = unescaped(text) if is_text else decode(text)
                yield self._passage(" · ".join(filter(None, (head, by))), keyless(whole))

    def _response(self, row: Row, name: str) -> RowText:
        body = body_of(self._wires, row)
        dialect = self._wires.dialect(row)
        if dialect is None or row.method == "GET" or row.status >= 400 or row.words == EMPTY:
            return self._whole(row, name, keyless(_words(row)), keyless(decode(body.data)))
        fold = folded(self._wires, row, body, dialect)
        pieces = [
            self._piece(name, label, keyless(text))
            for label, text in (
                ("thinking", fold.thinking),
                ("answer", fold.text),
                *((f"asks {call.call.name}", call.call.arguments) for call in fold.calls),
            )
            if text
        ]
        pieces.append(self._piece(name, "as it came", keyless(decode(body.data))))
        words = said_words(fold, keyless) or row.words
        if fold.calls:
            asked = fold.calls[0].call
            words = keyless(row.words) or call_words(asked.name, asked.arguments, keyless)
        return RowText(row=row, name=name, words=f"{row.status} · {words}", pieces=tuple(pieces))

    def _piece(self, name: str, label: str, text: str) -> SaidPiece:
        size, passages = len(text.encode("utf-8", "replace")), [self._passage("", text)]
        return self._made(f"{label} of {name}", label, size, passages, text)

    def _made(self, words: str, label: str, size: int, passages: Iterable[Passage], whole: str) -> SaidPiece:
        texts = tuple(passages)  # before the piece is known: it is no repeat of itself
        self._count += 1
        self._seen.setdefault(_digest(whole), (words, self._count))
        for passage in texts:
            if len(passage.text) >= _REFERRED_FROM:
                self._seen.setdefault(_digest(passage.text), (words, self._count))
        return SaidPiece(number=self._count, label=label, size=size, passages=texts)

    def _passage(self, by: str, text: str) -> Passage:
        first = self._seen.get(_digest(text)) if len(text) >= _REFERRED_FROM else None
        return Passage(by=by, text=text) if first is None else Passage(by=by, same_as=first[0], at=first[1])


def _digest(text: str | bytes) -> bytes:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=16).digest()


def _cut(marks: Sequence[Link], start: int, end: int, *, is_result: bool) -> Iterator[tuple[str, int, int]]:
    at = start
    for mark in marks:
        words = _PUT_IN.get(mark.relation, "")
        begin, stop = max(mark.span.start, start), min(mark.span.end or 0, end)
        if not words or begin < at or stop <= begin or (is_result and mark.relation == "told"):
            continue
        if begin > at:
            yield "", at, begin
        called = f"{mark.server}.{mark.tool}" if mark.relation == "told" and mark.server else mark.words
        yield f"{words}: {called}" if called else words, begin, stop
        at = stop
    if at < end:
        yield "", at, end


def _words(row: Row) -> str:
    if row.kind == "frame":
        answered = "error" if row.error else "result"
        what = answered if row.answer else row.method
        return " ".join(word for word in (what, row.words) if word)
    if row.kind in {"response", "fault"}:
        return f"{row.status or ''} {row.words or row.malformed}".strip()
    return {"line": f"stderr: {row.words}", "end": f"connection ended: {row.words}"}.get(row.kind, row.words)
