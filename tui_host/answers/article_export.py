"""Exports a session as text for an article: the ladder of each turn, and below it what was said, each text once.

Long texts are cut, with the number of characters that they have. Everything can be read whole in the formats `markdown` and `jsonl`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from tui_host.answers.said_texts import SIGNS, RowText, RowTexts
from tui_host.answers.values import parsed
from tui_host.answers.wires import Wires, session_wires
from tui_host.capture.exports.markdown_export import code, fence, words
from tui_host.capture.exports.parts import Records, keyless
from tui_host.capture.session_summary import SessionInfo, rfc3339
from tui_host.capture.visible import line
from tui_host.errors import JSON

_MOST = 600  # characters of a text that are shown
_IN_JSON = 160  # characters of a string in JSON that are shown
_WIDE = 140
_RAW = "as it came"
_SIDES = {"llm": "<", "mcp": ">"}


def pieces(session: SessionInfo, records: Records, _items: Sequence[str]) -> Iterator[bytes]:
    """Yield the article block by block. Connecting, which belongs to no turn, is left out."""
    for block in _blocks(session_wires(session, records), session):
        yield f"{block}\n\n".encode("utf-8", "backslashreplace")


def _blocks(wires: Wires, session: SessionInfo) -> Iterator[str]:
    yield f"# {words(keyless(session.title)) or 'untitled'}"
    yield f"{session.id} · {code(session.model)} · {code(session.protocol)} · {rfc3339(session.created_ns)}"
    texts = list(RowTexts(wires).all())
    turn_of = wires.ladder.sections.turn_of
    of_turns = [text for text in texts if turn_of(text.row.number)] or texts
    for turn, group in groupby(of_turns, lambda text: turn_of(text.row.number)):
        of_turn = list(group)
        if turn:
            yield f"## Turn {turn}"
        start = next((text.row.mono_ns for text in of_turn if text.row.mono_ns is not None), None)
        left, ladder = max(len(text.name) for text in of_turn), list[str]()
        for text in of_turn:
            row = text.row
            seconds = "" if row.mono_ns is None or start is None else f"{(row.mono_ns - start) / 1e9:.2f}"
            name = text.name if row.lane == "llm" and row.kind == "request" else ""
            said = text.words if row.lane != "mcp" else f"{text.name}  {text.words}"
            sign = format(SIGNS.get((row.lane, row.outward), "●"), f"{_SIDES.get(row.lane, '^')}7")
            ladder.append(line(f"{seconds:>8}  {name:<{left}} {sign}  {keyless(said)}", _WIDE).rstrip())
        yield fence("\n".join(ladder))
        for text in of_turn:
            yield from _said(text)


def _said(text: RowText) -> Iterator[str]:
    shown = [piece for piece in text.pieces if piece.label != _RAW]
    if not shown:
        return
    to = "to the server" if text.row.outward else "from the server"
    what = {"request": "asked", "response": "answered"}.get(text.row.kind, to)
    yield f"**{words(text.name)}**, {what}: {code(line(text.words, _WIDE))}"
    for piece in shown:
        head = f"*{words(piece.label)}*, {piece.size:,} bytes:"
        if all(passage.same_as for passage in piece.passages):
            yield f"{head} = {words(', '.join(passage.same_as for passage in piece.passages))}"
            continue
        if piece.label != "body":
            yield head
        for passage in piece.passages:
            if passage.by:
                yield f"[{words(passage.by)}]"
            value = parsed(passage.text) if passage.text.lstrip().startswith(("{", "[")) else None
            if passage.same_as:
                yield f"= {words(passage.same_as)}"
            elif value is None:
                yield fence(_cut(passage.text, _MOST))
            else:
                yield fence(_cut(json.dumps(_shortened(value), ensure_ascii=False, indent=2), 3 * _MOST), "json")
    if text.row.state == "cut":
        yield f"*cut off here{text.row.ending and f': {words(text.row.ending)}'}*"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most + 40 else f"{text[:most]}… ({len(text) - most:,} more characters)"


def _shortened(value: JSON) -> JSON:
    if isinstance(value, str):
        return _cut(value, _IN_JSON)
    if isinstance(value, Mapping):
        return {name: _shortened(member) for name, member in value.items()}
    return [_shortened(member) for member in value] if isinstance(value, Sequence) else value
