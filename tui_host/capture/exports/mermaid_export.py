"""Exports a session as a Mermaid diagram: one `sequenceDiagram` of the person, the host, the models and the servers.

Mermaid draws at most 500 arrows unless told otherwise, so words are short and connecting is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tui_host.capture.exports.keyless import keyless
from tui_host.capture.exports.parts import Records
from tui_host.capture.json.narrowing import number_or_zero, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import Row
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.short_units import short_size
from tui_host.capture.visible import line

_CHARACTERS = 100
_MARKUP = re.compile(r"[#;%<>&$`\\|~]")
"""What is written as a number: `;` and `#` end a text, `%%` begins a directive, `<` a tag, `$$` a formula."""
_DIRECTIVE = re.compile(r"(?i)(?:no)?wrap|end\b")


def pieces(session: SessionInfo, records: Records, items: Sequence[str]) -> Iterator[bytes]:
    """Yield the diagram line by line."""
    ladder = Ladder()
    ladder.feed(record for record, is_preamble in records if not is_preamble)
    ladder.close()
    turns = [ladder.sections.turn_of(number) for number in range(len(ladder.rows))]
    rows = [row for row in ladder.rows if turns[row.number]] or list(ladder.rows)
    messages = _said(items)
    yield b"sequenceDiagram\n"
    if any(asked for asked, _ in messages.values()):
        yield _line(f"participant you as {_text(session.user)}")
    yield _line("participant host as Host")
    peers = {key: f"p{number}" for number, key in enumerate(dict.fromkeys(map(_peer, rows))) if key[1]}
    for (_, name), alias in peers.items():
        yield _line(f"participant {alias} as {_text(name)}")
    last_rows = {turns[row.number]: row.number for row in rows}
    seen: set[int] = set()
    for row in rows:
        turn = turns[row.number]
        asked, answered = messages.get(turn, ("", ""))
        if turn and turn not in seen:
            seen.add(turn)
            yield _line(f"Note over host: turn {turn}")
            if asked:
                yield _line(f"you->>host: {_text(asked)}")
        yield _line(_arrow(row, peers.get(_peer(row), "host")))
        if answered and last_rows[turn] == row.number:
            yield _line(f"host->>you: {_text(answered)}")


def _arrow(row: Row, other: str) -> str:
    words = _text(_words(row))
    if other == "host" or row.kind in {"decision", "line", "end", "vendor"}:
        return f"Note over {'host' if row.lane == 'host' else other}: {words}"
    if row.outward:
        return f"host->>{other}: {words}"
    return f"{other}--{'x' if row.error else '>>'}host: {words}"


def _peer(row: Row) -> tuple[str, str]:
    return ("mcp" if row.lane == "host" else row.lane), row.peer


def _words(row: Row) -> str:
    match row.kind:
        case "request":
            return f"{row.method} {row.url.rpartition('://')[2].partition('/')[2]} {short_size(row.size)}"
        case "response" | "fault":
            return f"{row.status or ''} {row.words or short_size(row.size)}"
        case "frame":
            outcome = "error" if row.error else "result"
            number = f"#{row.rpc_id}" if row.rpc_id else ""
            return f"{outcome if row.answer else row.method} {number} {row.words}"
        case "line":
            return f"stderr {row.words}"
        case "end":
            return f"connection ended {row.words}"
        case _:
            return row.words


def _said(items: Iterable[str]) -> Mapping[int, tuple[str, str]]:
    """Return question and last answer of each turn."""
    said: dict[int, tuple[str, str]] = {}
    for text in items:
        item = read_object(text.encode("utf-8", "surrogatepass"))
        turn, words = number_or_zero(item.get("turn")), text_or_empty(item.get("text"))
        asked, answered = said.get(turn, ("", ""))
        if item.get("item") == "user":
            said[turn] = (f"{asked} {words}".strip(), answered)
        elif item.get("item") == "answer" and words.strip():
            said[turn] = (asked, words)
    return said


def _text(text: str) -> str:
    """Return a text in one short line, with everything that Mermaid acts on as a number."""
    text = line(" ".join(keyless(text[: 10 * _CHARACTERS]).split()), _CHARACTERS) or "…"
    escaped = _MARKUP.sub(lambda match: f"#{ord(match[0])};", text)
    return f"#{ord(text[0])};{escaped[1:]}" if _DIRECTIVE.match(text) else escaped


def _line(text: str) -> bytes:
    return f"  {text}\n".encode()
