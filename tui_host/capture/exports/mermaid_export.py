"""Exports a session as a Mermaid diagram: one `sequenceDiagram` of the person, the host, the models and the servers.

Mermaid draws at most 500 arrows unless told otherwise, so words are short and connecting is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tui_host.capture.exports.parts import Records, keyless, placed_items
from tui_host.capture.json.narrowing import text_or_empty
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import Row
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.short_units import short_size
from tui_host.capture.visible import line

_CHARACTERS = 100
# What is written as a number: `;` and `#` end a text, `%%` begins a directive, `<` a tag, `$$` a formula.
_MARKUP = re.compile(r"[#;%<>&$`\\|~]")
_DIRECTIVE = re.compile(r"(?i)(?:no)?wrap|end\b")
_NAMES = {"line": "stderr", "end": "connection ended"}


def pieces(session: SessionInfo, records: Records, items: Sequence[str]) -> Iterator[bytes]:
    """Yield the diagram line by line."""
    return (f"{words}\n".encode() for words in _lines(session, records, items))


def _lines(session: SessionInfo, records: Records, items: Sequence[str]) -> Iterator[str]:
    ladder = Ladder()
    ladder.feed(record for record, is_preamble in records if not is_preamble)
    ladder.close()
    turns = [ladder.sections.turn_of(number) for number in range(len(ladder.rows))]
    rows = [row for row in ladder.rows if turns[row.number]] or list(ladder.rows)
    questions, answers = _words_of_turns(items, "user"), _words_of_turns(items, "answer")
    yield "sequenceDiagram"
    if any(questions.values()):
        yield f"  participant you as {_text(session.user)}"
    yield "  participant host as Host"
    names = dict.fromkeys(("mcp" if row.lane == "host" else row.lane, row.peer) for row in rows if row.peer)
    peers = {peer: f"p{number}" for number, peer in enumerate(names)}
    for (_, name), alias in peers.items():
        yield f"  participant {alias} as {_text(name)}"
    last_rows = {turns[row.number]: row.number for row in rows}
    seen = {0}
    for row in rows:
        turn = turns[row.number]
        if turn not in seen:
            seen.add(turn)
            yield f"  Note over host: turn {turn}"
            if questions.get(turn):
                yield f"  you->>host: {_text(questions[turn])}"
        peer = peers.get(("mcp" if row.lane == "host" else row.lane, row.peer), "host")
        yield f"  {_arrow(row, peer)}"
        if turn and last_rows[turn] == row.number and turn in answers:
            yield f"  host->>you: {_text(answers[turn])}"


def _words_of_turns(items: Sequence[str], kind: str) -> dict[int, str]:
    """Return the question of each turn, or its last answer."""
    words: dict[int, str] = {}
    for turn, _, item in placed_items(items):
        text = text_or_empty(item.get("text"))
        if item.get("item") == kind and text.strip():
            words[turn] = f"{words.get(turn, '')} {text}".strip() if kind == "user" else text
    return words


def _arrow(row: Row, peer: str) -> str:
    match row.kind:
        case "request":
            words = f"{row.method} {row.url.rpartition('://')[2].partition('/')[2]} {short_size(row.size)}"
        case "response" | "fault":
            words = f"{row.status or ''} {row.words or short_size(row.size)}"
        case "frame":
            outcome = "error" if row.error else "result"
            number = f"#{row.rpc_id}" if row.rpc_id else ""
            words = f"{outcome if row.answer else row.method} {number} {row.words}"
        case _:
            words = f"{_NAMES.get(row.kind, '')} {row.words}"
    if peer == "host" or row.kind in {"decision", "line", "end", "vendor"}:
        return f"Note over {'host' if row.lane == 'host' else peer}: {_text(words)}"
    if row.outward:
        return f"host->>{peer}: {_text(words)}"
    return f"{peer}--{'x' if row.error else '>>'}host: {_text(words)}"


def _text(text: str) -> str:
    """Return a text in one short line, with everything that Mermaid acts on as a number."""
    text = line(" ".join(keyless(text[: 10 * _CHARACTERS]).split()), _CHARACTERS) or "…"
    escaped = _MARKUP.sub(lambda match: f"#{ord(match[0])};", text)
    return f"#{ord(text[0])};{escaped[1:]}" if _DIRECTIVE.match(text) else escaped
