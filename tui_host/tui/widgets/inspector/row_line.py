"""Draws the lines of the list: pure functions from rows and what is known of them to pieces of text."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import islice, takewhile
from typing import assert_never

from rich.cells import cell_len

from tui_host.capture.frames.frame_heads import INPUT_REQUIRED
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import MISSING, lasted
from tui_host.capture.short_units import short_size, short_time
from tui_host.capture.visible import line
from tui_host.chat.conversation import AnswerItem, CallItem, Conversation, SummaryItem, UserItem
from tui_host.settings.urls import parts_of
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.text_width import clip, padded
from tui_host.tui.widgets.inspector.words import RowFacts
from tui_host.tui.widgets.lines.json_lines import Piece

FOREIGN_CHARACTERS = 300
"""Characters of foreign text that are used for a row; no line shows more."""
_WHOLE_CELLS = 4096
"""Cells that no row fills."""
_NAME_CELLS = 60
"""Cells of the longest name of a server."""
_LEAST_CELLS = 8
"""Cells to which foreign words, or a question, are cut before anything else gives way."""
_ROOMY_CELLS, _TIGHT_CELLS = 64, 48
"""Cells for a row's words in which all about its tokens is shown, and those in which the cached ones are left out."""
_VERSION = re.compile(r"v\d\w*|api|openai")
_CALL_PLACE = re.compile(r"(?:^|\.)(\d+\.\d+\.\d+)$")
_ENDINGS = {"stopped": "stopped by", "cut": "cut", "failed": "failed"}
"""How the last answer or call of a turn ended, where it did not end well."""


def clock(seconds: float | None) -> str:
    """Return a time since the turn began in six cells, the first blank for the marker; blank if unknown."""
    if seconds is None:
        return " " * 6
    if seconds < 0:
        return "  ·   "
    if seconds < 99.995:
        return f" {seconds:<5.2f}"
    if seconds < 999.95:
        return f" {seconds:<5.1f}"
    return f" {seconds:<5.0f}" if seconds < 99_999 else " days "


def short_path(url: str) -> str:
    """Return the path behind the version of a URL, else the whole path."""
    path = parts_of(url).path if "//" in url else url
    parts = [part for part in path.split("/") if part]
    for place in range(len(parts) - 1, 0, -1):
        if _VERSION.fullmatch(parts[place - 1]):
            return "/".join(parts[place:])
    return "/".join(parts) or "/"


# Headings.


def heading(title: str, width: int, hidden: int | None) -> list[Piece]:
    """Return the line above a section, with the number of rows that it hides if it is folded."""
    more = "" if hidden is None else f" · {hidden:,} row{'s' * (hidden != 1)}"
    text = clip(f"{'▾' if hidden is None else '▸'} {title}{more} ", width)
    return [(text + "─" * (width - cell_len(text)), "heading")]


def turn_title(source: SessionSource, turn: int, room: int) -> str:
    """Return what the chat tells of a turn: `turn 4 «what's 6 × 5?» · 2 steps · 9.4 s · stopped by you`."""
    question, figures, ending = "", "", ""
    for item in _items_of(source.session.conversation, turn):
        if isinstance(item, UserItem):
            question = question or " ".join(source.hide(item.text[: 4 * FOREIGN_CHARACTERS]).split())
        elif isinstance(item, AnswerItem | CallItem):
            ending = _ENDINGS.get(item.state, "")
        elif isinstance(item, SummaryItem):
            figures = f" · {item.steps} step{'s' * (item.steps != 1)} · {short_time(item.seconds * 1e3)}"
    by = f" {source.user}" if ending.endswith(" by") else ""
    rest = f"{figures} · {ending}{by}" if ending else figures
    if not question:
        return f"turn {turn}{rest}"
    return f"turn {turn} «{clip(question, max(_LEAST_CELLS, room - cell_len(f'turn {turn} «»{rest}')))}»{rest}"


def _items_of(conversation: Conversation, turn: int):  # noqa: ANN202
    first = bisect_left(conversation, turn, key=lambda item: item.turn)
    return takewhile(lambda item: item.turn == turn, islice(conversation, first, None))


# Rows.


def row_line(source: SessionSource, row: Row, facts: RowFacts, width: int, peer: int) -> list[Piece]:
    """Return a row's line in `width` cells, of which the first is the marker's, with `peer` cells for a server's name."""
    note = source.row_marks.note((row.capture, row.seq))
    written = clip(line(note, FOREIGN_CHARACTERS), width // 3) if note else ""
    end = width - cell_len(written) - 2 * bool(written)
    pieces: list[Piece] = [(clock(_since(source, row)), "time"), *_lanes(row, source.ladder.numbers.side(row), peer)]
    left = end - sum(cell_len(text) for text, _ in pieces)
    words, state = _words(source, row, facts, left), _state(row)
    if row.redacted:
        words = [(source.marks(text), style) for text, style in words]
    pieces += _fitted(words, state, left)
    if note is None:
        return pieces
    room = end - sum(cell_len(text) for text, _ in pieces)
    return [
        ("mM"[bool(note)], "what"),
        (pieces[0][0][1:], "time"),
        *pieces[1:],
        (" " * max(2, room + 2), ""),
        (written, "note"),
    ]


def shown_text(source: SessionSource, row: Row, facts: RowFacts) -> str:
    """Return the full text of a row, in which a filter looks for words."""
    shown = "".join(text for text, _ in row_line(source, row, facts, _WHOLE_CELLS, _NAME_CELLS))
    return shown if source.row_marks.note((row.capture, row.seq)) is None else f"{shown} marked"


def _since(source: SessionSource, row: Row) -> float | None:
    """Return the seconds since the row's turn began, outside turns since its connection's first row."""
    home = source.ladder.rows[source.ladder.sections.homes[row.number]]
    began = source.started_mono_ns(home) if home.turn or home.mono_ns is None else home.mono_ns
    since = lasted(began, row.mono_ns)
    return None if since is None else since / 1e9


def _took(source: SessionSource, row: Row) -> list[Piece]:
    """Return the time since the first byte of the other half, of a row that answers."""
    asked = source.ladder.partner_of(row) if row.kind == "response" or row.answer else None
    nanoseconds = None if asked is None or asked.number > row.number else lasted(asked.mono_ns, row.end_mono_ns)
    return [] if nanoseconds is None else [(f" · {short_time(nanoseconds / 1e6)}", "figure")]


def _fitted(words: list[Piece], state: list[Piece], room: int) -> list[Piece]:
    """Shorten foreign words, then leave out figures, so that a row's state is seen. A secret's sign is whole or not there."""
    over = sum(cell_len(text) for text, _ in (*words, *state)) - room
    if over > 0:
        longest = max(words, key=lambda piece: cell_len(piece[0]) * (piece[1] == "words"))
        cells = cell_len(longest[0])
        if longest[1] == "words":
            shortened = clip(longest[0], max(_LEAST_CELLS, cells - over))
            words[words.index(longest)] = shortened, "words"
            over -= cells - cell_len(shortened)
    for figure in [piece for piece in reversed(words) if piece[1] == "figure"]:
        if over > 0:
            words.remove(figure)
            over -= cell_len(figure[0])
    pieces: list[Piece] = []
    left = room
    for text, style in (*words, *state):
        if left > 0 and not (style == "secret" and cell_len(text) > left):
            pieces.append((clip(text, left), style))
            left -= cell_len(pieces[-1][0])
    return pieces


def _lanes(row: Row, side: str, peer: int) -> list[Piece]:
    style = "failed" if row.error or row.malformed or row.state in {"failed", "cut", "unanswered"} else row.lane
    match row.lane:
        case "llm":
            arrow = "<──" if row.outward else "──>"
            name = padded(side, peer).rjust(peer + 4)
            return [(" ", ""), (arrow, style), ("┤", "host"), (f"{name} ", "peer")]
        case "host":
            mark = "●" if row.kind == "decision" else "│"
            return [("    ", ""), (mark, "decision"), (" " * (peer + 5), "")]
        case "mcp":
            is_asked = row.kind == "frame" and bool(row.rpc_id) and row.answer == row.outward
            rule = "══" if is_asked else "──"
            arrow = f"{rule}> " if row.outward else f"<{rule} "
            place = side.rfind("/") if side[-3:].count("/") else len(side)  # the connection's number is not cut
            name = clip(side[:place], peer - len(side) + place) + side[place:]
            return [("    ", ""), ("├", "host"), (arrow, style), (f"{padded(name, peer)} ", "peer")]
        case _:
            assert_never(row.lane)


def _words(source: SessionSource, row: Row, facts: RowFacts, room: int) -> list[Piece]:
    """Return what a row says; the tokens, if there is room for them."""
    tokens = facts.tokens
    if room < _ROOMY_CELLS:
        tokens = tokens.partition(", ")[0] if room >= _TIGHT_CELLS else ""
    foreign = line(row.words, FOREIGN_CHARACTERS)
    match row.kind:
        case "request":
            return _request(row, facts.words, tokens)
        case "response":
            return [*_response(row, facts.words, tokens), *(_took(source, row) if row.state != "open" else ())]
        case "frame":
            took = _took(source, row) if row.answer else []
            size: list[Piece] = [(f" · {short_size(row.size)}", "figure")] if row.size >= 1000 else []
            return [*_frame(row), *_times(row, ""), *took, *size]
        case "decision":
            return [(_call_name(row), "what"), (foreign, "words")]
        case "vendor":
            return [(foreign, "words")]
        case "line":
            return [("stderr  ", "note"), (foreign, "words"), *_times(row, "lines")]
        case "end":
            return [(f"✗ {foreign}", "failed") if row.error else (foreign, "note")]
        case "fault":
            return [(f"✗ {foreign or 'failed'}", "failed")]
        case _:
            assert_never(row.kind)


def _call_name(row: Row) -> str:
    """Return the call that a decision is about: `math.multiply 1.1.2`."""
    places = [match[1] for match in map(_CALL_PLACE.search, sorted(row.calls)) if match is not None]
    name = f"{row.peer}.{row.tool}" if row.peer else row.tool
    return f"{line(' '.join((name, *places[:1])), FOREIGN_CHARACTERS)}  " if row.tool else ""


def _request(row: Row, described: str, tokens: str) -> list[Piece]:
    what = line(f"{row.method} {short_path(row.url)}", FOREIGN_CHARACTERS) if row.method else "request"
    if row.lane == "mcp":
        status = f"  {row.status}" if row.status else ""
        return [(what, "what"), (f"{status}  {line(row.words, FOREIGN_CHARACTERS)}".rstrip(), "words")]
    if row.missing:
        return [(what, "what"), (f"  {MISSING}", "words")]
    more = [line(part, FOREIGN_CHARACTERS) for part in (tokens, described or row.words) if part]
    return [(what, "what"), (f"  {' · '.join((short_size(row.size), *more))}", "words")]


def _response(row: Row, described: str, tokens: str) -> list[Piece]:
    pieces: list[Piece] = [(str(row.status or "answer"), "failed" if row.status >= 400 else "what")]
    if row.events > 1 or row.size:
        pieces.append((f" · {row.events:,} events" if row.events > 1 else f" · {short_size(row.size)}", "words"))
    if words := described or row.words:
        pieces.append((f" · {line(words, FOREIGN_CHARACTERS)}", "words"))
    if tokens:
        pieces.append((f" · {tokens}", "figure"))
    return pieces


def _frame(row: Row) -> list[Piece]:
    number = f"#{line(row.rpc_id, 40)} " if row.rpc_id else ""
    words = row.words
    if not row.answer:
        pieces: list[Piece] = [(f"{number}{line(row.method or 'frame', FOREIGN_CHARACTERS)}", "what")]
        if row.rpc_id and not row.outward:
            pieces.append(("  asked by the server", "words"))
    else:
        kind = "answer" if row.outward else "result"
        pieces = [(f"{number}error", "failed") if row.error else (f"{number}{kind}", "what")]
        if row.status:  # of the refusal that carried the answer
            pieces.append((f" · {row.status}", "failed"))
        is_text = row.method == "tools/call" and not (row.error or row.missing)
        if is_text and words and not words.startswith(INPUT_REQUIRED):
            words = f'"{words}"'
        words = words or row.method
    if words:
        pieces.append((f"  {line(words, FOREIGN_CHARACTERS)}", "words"))
    return pieces


def _times(row: Row, unit: str) -> list[Piece]:
    if row.events <= 1:
        return []
    return [(f" · {row.events:,} {unit}" if unit else f" x{row.events:,}", "figure")]


def _state(row: Row) -> list[Piece]:
    pieces: list[Piece] = [(" •••", "secret")] if row.redacted else []
    if row.state == "open":
        pieces.append((" …", "figure"))
    elif row.state == "cut":
        pieces.append((" ✗ cut", "failed"))
    elif row.state == "unanswered":
        because = f": {line(row.ending, 120)}" if row.ending else ""
        pieces.append((f" ✗ no answer{because}", "failed"))
    elif row.state == "failed" and row.kind != "fault":
        pieces.append((" ✗ failed", "failed"))
    if row.malformed:
        pieces.append((f" ✗ malformed: {line(row.malformed, 120)}", "failed"))
    if row.maybe:
        pieces.append((" ?", "note"))
    elif row.inferred:
        pieces.append((" · inferred", "note"))
    return pieces
