"""Draws the rows of the list: pure functions from values to pieces of text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from rich.cells import cell_len

from tui_host.capture.frames.frame_heads import INPUT_REQUIRED
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import MISSING, lasted
from tui_host.capture.short_units import short_size, short_time
from tui_host.capture.visible import line
from tui_host.settings.urls import parts_of
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.text_width import clip, padded
from tui_host.tui.widgets.ladder.line_index import SESSION, LadderIndex
from tui_host.tui.widgets.ladder.row_words import LadderWords, RowFacts
from tui_host.tui.widgets.lines.json_lines import Piece

MARKED = "mM"
"""The signs of a marked row, without and with a note."""
WORDS = 300
"""Number of characters of foreign text to use for a row; no line shows more."""
_LEAST = 8
_ROOMY = 64
"""Cells for a row's words in which all about its tokens is shown."""
_TIGHT = 48
"""Cells in which its tokens are shown without the cached ones; below, they are not."""
_VERSION = re.compile(r"v\d\w*|api|openai")


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The layout of a line."""

    width: int  # cells of the whole line
    peer: int  # cells for a server's name
    mask: Callable[[str], str] = str  # hides the marks of removed secrets


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


def heading(title: str, columns: Columns, hidden: int | None) -> list[Piece]:
    """Return the line above a section, with the number of rows that it hides if it is folded."""
    fold = "▸▾"[hidden is None]
    more = "" if hidden is None else f" · {hidden:,} row{'s' * (hidden != 1)}"
    text = f"{fold} {title}{more} "
    return [(clip(text + "─" * max(0, columns.width - cell_len(text)), columns.width), "heading")]


def row_line(row: Row, facts: RowFacts, columns: Columns) -> list[Piece]:
    """Return a row's line, without the marker's cell."""
    since = lasted(facts.started_ns, row.mono_ns)
    pieces: list[Piece] = [(clock(None if since is None else since / 1e9), "time"), *_lanes(row, facts.side, columns)]
    left = columns.width - sum(cell_len(text) for text, _ in pieces)
    words = _words(row, replace(facts, tokens=_fitting(facts.tokens, left)))
    if row.redacted:
        words = [(columns.mask(text), style) for text, style in words]
    for text, style in _squeezed(words, left):
        if left <= 0:
            break
        shown = clip(text, left)
        pieces.append((shown, style))
        left -= cell_len(shown)
    return pieces


def _fitting(tokens: str, room: int) -> str:
    """Shorten the tokens of a row where its other words need the room: without the cached ones, else empty."""
    if room >= _ROOMY:
        return tokens
    return tokens.partition(", ")[0] if room >= _TIGHT else ""


def _squeezed(pieces: list[Piece], room: int) -> list[Piece]:
    """Shorten foreign words, to keep outcome and duration visible."""
    over = sum(cell_len(text) for text, _ in pieces) - room
    if over <= 0:
        return pieces
    longest = max(
        range(len(pieces)), key=lambda place: cell_len(pieces[place][0]) if pieces[place][1] == "words" else -1
    )
    text, style = pieces[longest]
    if style == "words":
        pieces[longest] = clip(text, max(_LEAST, cell_len(text) - over)), style
    return pieces


def _lanes(row: Row, side: str, columns: Columns) -> list[Piece]:
    rule, upright, tee_left, tee_right = "─", "│", "┤", "├"
    rest = " " * (columns.peer + 5)
    style = "failed" if row.error or row.malformed or row.state in {"failed", "cut", "unanswered"} else row.lane
    match row.lane:
        case "llm":
            arrow = f"<{rule}{rule}" if row.outward else f"{rule}{rule}>"
            name = padded(side, columns.peer).rjust(columns.peer + 4)
            return [(" ", ""), (arrow, style), (tee_left, "host"), (f"{name} ", "peer")]
        case "host":
            mark = "●" if row.kind == "decision" else upright
            return [("    ", ""), (mark, "decision"), (rest, "")]
        case "mcp":
            is_asked = row.kind == "frame" and bool(row.rpc_id) and row.answer == row.outward
            rule = "═" if is_asked else rule
            arrow = f"{rule}{rule}> " if row.outward else f"<{rule}{rule} "
            place = side.rfind("/") if side[-3:].count("/") else len(side)  # the connection's number is not cut
            name = clip(side[:place], columns.peer - len(side) + place) + side[place:]
            return [("    ", ""), (tee_right, "host"), (arrow, style), (f"{padded(name, columns.peer)} ", "peer")]
        case _:
            assert_never(row.lane)


def _words(row: Row, facts: RowFacts) -> list[Piece]:
    match row.kind:
        case "request":
            words = _request(row, facts)
        case "response":
            words = _response(row, facts)
        case "frame":
            words = _frame(row, facts)
        case "decision" | "vendor":
            words = [(line(row.words, WORDS), "words")]
        case "line":
            words = [("stderr  ", "note"), (line(row.words, WORDS), "words"), *_times(row, "lines")]
        case "end":
            words = [(f"✗ {line(row.words, WORDS)}", "failed") if row.error else (line(row.words, WORDS), "note")]
        case "fault":
            words = [(f"✗ {line(row.words or 'failed', WORDS)}", "failed")]
        case _:
            assert_never(row.kind)
    return [*words, *_state(row)]


def _request(row: Row, facts: RowFacts) -> list[Piece]:
    what = line(f"{row.method} {short_path(row.url)}", WORDS) if row.method else "request"
    described = facts.described or row.words
    if row.lane == "mcp":
        status = f"  {row.status}" if row.status else ""
        return [(what, "what"), (f"{status}  {line(row.words, WORDS)}".rstrip(), "words")]
    more = "".join(f" · {line(part, WORDS)}" for part in (facts.tokens, described) if part)
    return [(what, "what"), (f"  {MISSING}" if row.missing else f"  {short_size(row.size)}{more}", "words")]


def _response(row: Row, facts: RowFacts) -> list[Piece]:
    status = str(row.status) if row.status else "answer"
    pieces: list[Piece] = [(status, "failed" if row.status >= 400 else "what")]
    if row.events > 1:
        pieces.append((f" · {row.events:,} events", "words"))
    elif row.size:
        pieces.append((f" · {short_size(row.size)}", "words"))
    if words := facts.described or row.words:
        pieces.append((f" · {line(words, WORDS)}", "words"))
    if facts.tokens:
        pieces.append((f" · {facts.tokens}", "figure"))
    if facts.milliseconds is not None and row.state != "open":
        pieces.append((f" · {short_time(facts.milliseconds)}", "figure"))
    return pieces


def _frame(row: Row, facts: RowFacts) -> list[Piece]:
    number = f"#{line(row.rpc_id, 40)} " if row.rpc_id else ""
    if row.answer:
        kind = "answer" if row.outward else "result"
        pieces: list[Piece] = [(f"{number}error", "failed") if row.error else (f"{number}{kind}", "what")]
        if row.status:  # of the refusal that carried the answer
            pieces.append((f" · {row.status}", "failed"))
        if row.words:
            is_text = (
                row.method == "tools/call"
                and not (row.error or row.missing)
                and not row.words.startswith(INPUT_REQUIRED)
            )
            words = f'"{row.words}"' if is_text else row.words
            pieces.append((f"  {line(words, WORDS)}", "words"))
        elif row.method:
            pieces.append((f"  {line(row.method, WORDS)}", "words"))
    else:
        pieces = [(f"{number}{line(row.method or 'frame', WORDS)}", "what")]
        if row.rpc_id and not row.outward:
            pieces.append(("  asked by the server", "words"))
        if row.words:
            pieces.append((f"  {line(row.words, WORDS)}", "words"))
    pieces += _times(row, "")
    if row.answer and facts.milliseconds is not None:
        pieces.append((f" · {short_time(facts.milliseconds)}", "figure"))
    if row.size >= 1000:
        pieces.append((f" · {short_size(row.size)}", "figure"))
    return pieces


def _times(row: Row, unit: str) -> list[Piece]:
    if row.events <= 1:
        return []
    return [(f" · {row.events:,} {unit}" if unit else f" x{row.events:,}", "figure")]


def _state(row: Row) -> list[Piece]:
    pieces: list[Piece] = []
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
    if row.redacted:
        pieces.append((f" {'•' * 3}", "secret"))
    if row.maybe:
        pieces.append((" ?", "note"))
    elif row.inferred:
        pieces.append((" · inferred", "note"))
    return pieces


_WHOLE = 4096
"""Cells that no row fills."""
_NARROW = 60
"""Cells of the list below which a server's name has less room."""


class LadderDrawing:
    """Draws the lines of an index.

    Args:
        source: Provides the rows; without a source there are no lines.
        index: Provides the order of the lines.
        words: Provides descriptions of rows.
    """

    def __init__(self, source: SessionSource | None, index: LadderIndex, words: LadderWords) -> None:
        self._source = source
        self._index = index
        self._words = words
        self._peer = 6
        self._last_home: Row | None = None

    def widen(self, width: int) -> bool:
        """Widen the column of server names within limits; returns whether it changed."""
        before, source = self._peer, self._source
        self._peer = max(
            before, min(0 if source is None else source.ladder.numbers.widest, 8 if width < _NARROW else 14)
        )
        return self._peer != before

    def line(self, number: int, width: int) -> list[Piece]:
        """Return a line in `width` cells."""
        source = self._source
        if source is None:
            return []
        item = self._index.item_at(number)
        return self._row(source, source.ladder.rows[item], width) if item >= 0 else self._heading(source, item, width)

    def shown(self, row: Row) -> str | None:
        """Return the full text of a row; None before its description is known."""
        if self._source is None or self._words.is_to_come(row):
            return None
        shown = "".join(text for text, _ in self._row(self._source, row, _WHOLE))
        return shown if self._source.row_marks.note((row.capture, row.seq)) is None else f"{shown} marked"

    def _heading(self, source: SessionSource, item: int, width: int) -> list[Piece]:
        columns, turn = self._columns(source, width), self._index.turn_of(item)
        if item == SESSION:
            turns = len({(clock, turn) for clock, turn in self._index.turns if turn})
            rows = len(source.ladder.rows)
            words = f"{turns:,} turn{'s' * (turns != 1)}", f"{rows:,} row{'s' * (rows != 1)}"
            return heading(" · ".join(("session", *words)), columns, None)
        title = "connections"
        if turn:
            step = source.ladder.rows[self._index.home_of(item)].step
            host = columns.mask(line(source.ladder.hosts.get(turn, ""), WORDS))
            words = f"turn {turn}", f"step {step}" if step else "", host
            title = " · ".join(filter(None, words))
        return heading(title, columns, self._index.hidden(item))

    def _row(self, source: SessionSource, row: Row, width: int) -> list[Piece]:
        facts = self._words.facts(source, row, self._home(source, row))
        note = source.row_marks.note((row.capture, row.seq))
        if note is None:
            return row_line(row, facts, self._columns(source, width))
        written = clip(line(note, WORDS), width // 3) if note else ""
        room = width - cell_len(written) - 2 * bool(written)
        (first, style), *rest = row_line(row, facts, self._columns(source, room))
        end = room - cell_len(first) - sum(cell_len(text) for text, _ in rest)
        sign = MARKED[bool(note)]
        return [(sign, "what"), (first[1:], style), *rest, (" " * max(2, end + 2), ""), (written, "note")]

    def _home(self, source: SessionSource, row: Row) -> Row:
        number = self._index.home_of(row.number)
        if self._last_home is None or self._last_home.number != number:  # a section's rows are drawn together
            self._last_home = source.ladder.rows[number]
        return self._last_home

    def _columns(self, source: SessionSource, width: int) -> Columns:
        return Columns(width=width, peer=self._peer, mask=source.marks)
