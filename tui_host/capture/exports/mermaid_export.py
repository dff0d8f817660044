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
    """Yield the diagram."""
    ladder = Ladder()
    ladder.feed(record for record, is_preamble in records if not is_preamble)
    ladder.close()
    turns = [ladder.sections.turn_of(number) for number in range(len(ladder.rows))]
    rows = [row for row in ladder.rows if turns[row.number]] or list(ladder.rows)
    questions, answers = dict[int, str](), dict[int, str]()  # of each turn: all that was asked, and the last answer
    for turn, _, item in placed_items(items):
        text = text_or_empty(item.get("text"))
        if item.get("item") == "user" and text.strip():
            questions[turn] = f"{questions.get(turn, '')} {text}".strip()
        elif item.get("item") == "answer" and text.strip():
            answers[turn] = text
    lines = ["sequenceDiagram", "  participant host as Host"]
    if any(questions.values()):
        lines.insert(1, f"  participant you as {_text(session.user)}")
    names = dict.fromkeys(("mcp" if row.lane == "host" else row.lane, row.peer) for row in rows if row.peer)
    peers = {peer: f"p{number}" for number, peer in enumerate(names)}
    lines += [f"  participant {alias} as {_text(name)}" for (_, name), alias in peers.items()]
    last_rows = {turns[row.number]: row.number for row in rows}
    seen = {0}
    for row in rows:
        turn = turns[row.number]
        if turn not in seen:
            seen.add(turn)
            lines.append(f"  Note over host: turn {turn}")
            if questions.get(turn):
                lines.append(f"  you->>host: {_text(questions[turn])}")
        peer = peers.get(("mcp" if row.lane == "host" else row.lane, row.peer), "host")
        lines.append(f"  {_arrow(row, peer)}")
        if turn and last_rows[turn] == row.number and turn in answers:
            lines.append(f"  host->>you: {_text(answers[turn])}")
    yield "".join(f"{words}\n" for words in lines).encode()


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
