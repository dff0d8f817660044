"""Draws the lines of the list, and the legend of its signs: pure functions from rows and what is known of them to pieces of text."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice, takewhile
from textwrap import wrap

from rich.cells import cell_len

from tui_host.answers.row_facts import RowFacts
from tui_host.capture.frames.frame_heads import INPUT_REQUIRED
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import MISSING, lasted
from tui_host.capture.short_units import short_size, short_time
from tui_host.capture.visible import line
from tui_host.chat.conversation import AnswerItem, CallItem, SummaryItem, UserItem
from tui_host.settings.urls import parts_of
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.text_width import clip, padded
from tui_host.tui.widgets.lines.json_lines import Piece

_FOREIGN_CHARACTERS = 300  # characters of foreign text that are used for a row; no line shows more
WHOLE_CELLS = 4096  # cells that no row fills
NAME_CELLS = 60  # cells of the longest name of a server
_LEAST_CELLS = 8  # cells to which foreign words, or a question, are cut before anything else gives way
_ROOMY_CELLS, _TIGHT_CELLS = 64, 48  # for a row's words: with all about its tokens, and without the cached ones
_VERSION = re.compile(r".*/(?:v\d\w*|api|openai)/+(?=[^/])")  # in a path: what stands behind it is shown
_CALL_PLACE = re.compile(r"(?:^|\.)(\d+\.\d+\.\d+)$")


def turn_title(source: SessionSource, turn: int, step: int, room: int) -> str:
    """Return what the chat tells of a turn: `turn 4 «what's 6 × 5?» · 2 steps · 9.4 s · stopped by you`."""
    host = source.hide.marks(line(source.ladder.hosts.get(turn, ""), _FOREIGN_CHARACTERS))
    more = f" · {host}" if host else ""
    if step > 1:
        return f"turn {turn} · step {step}{more}"
    endings = {"stopped": f" · stopped by {source.user}", "cut": " · cut", "failed": " · failed"}
    question, figures, ending, conversation = "", "", "", source.session.conversation
    first = bisect_left(conversation, turn, key=lambda item: item.turn)
    for item in takewhile(lambda item: item.turn == turn, islice(conversation, first, None)):
        if isinstance(item, UserItem):
            question = question or " ".join(source.hide(item.text[: 4 * _FOREIGN_CHARACTERS]).split())
        elif isinstance(item, AnswerItem | CallItem):
            ending = endings.get(item.state, "")
        elif isinstance(item, SummaryItem):
            figures = f" · {item.steps} step{'s' * (item.steps != 1)} · {short_time(item.seconds * 1e3)}"
    more = f"{figures}{ending}{more}"
    if question:
        question = f" «{clip(question, max(_LEAST_CELLS, room - cell_len(f'turn {turn} «»{more}')))}»"
    return f"turn {turn}{question}{more}"


def row_line(source: SessionSource, row: Row, facts: RowFacts, width: int, peer: int) -> list[Piece]:
    """Return a row's line in `width` cells, of which the first is the marker's, with `peer` cells for a server's name."""
    note = source.row_marks.notes.get((row.capture, row.seq))
    written = clip(line(note or "", _FOREIGN_CHARACTERS), width // 3)
    # Times count from the turn's beginning, outside turns from the connection's first row.
    since = lasted(source.ladder.rows[source.ladder.sections.began(row)].mono_ns, row.mono_ns)
    when = " ·   " if since is not None and since < 0 else ""
    if since is not None and since >= 0:
        when = f"{since / 1e9:.2f}"[:5].rstrip(".") if since < 1e14 else "days"
    pieces: list[Piece] = [
        (" ", "time") if note is None else ("mM"[bool(note)], "what"),
        (f"{when:<5}", "time"),
        *_lanes(row, source.ladder.numbers.side(row), peer),
    ]
    left = width - _cells(pieces) - cell_len(written) - 2 * bool(written)
    words = [(line(text, _FOREIGN_CHARACTERS), style) for text, style in _words(source, row, facts, left)]
    if row.redacted:
        words = [(source.hide.marks(text), style) for text, style in words]
    because = f": {line(row.ending, 120)}" if row.ending else ""
    states = {"open": " …", "cut": " ✗ cut", "unanswered": f" ✗ no answer{because}", "failed": " ✗ failed"}
    is_told = row.state == "done" or (row.state == "failed" and row.kind == "fault")
    state = [
        (" •••" * row.redacted, "secret"),
        ("" if is_told else states[row.state], "figure" if row.state == "open" else "failed"),
        (f" ✗ malformed: {line(row.malformed, 120)}" if row.malformed else "", "failed"),
        (" ?" * row.maybe or " · inferred" * row.inferred, "note"),
    ]
    # Shorten foreign words, then leave out figures, so that a row's state is seen. A secret's sign is whole or not there.
    over = _cells([*words, *state]) - left
    longest = max(words, key=lambda piece: cell_len(piece[0]) * (piece[1] == "words"))
    if over > 0 and longest[1] == "words":
        shortened = clip(longest[0], max(_LEAST_CELLS, cell_len(longest[0]) - over))
        words[words.index(longest)] = shortened, "words"
    figures = [piece for piece in words if piece[1] == "figure"]
    while figures and _cells([*words, *state]) > left:
        words.remove(figures.pop())
    for text, style in (*words, *state):
        if left > 0 and not (style == "secret" and cell_len(text) > left):
            pieces.append((clip(text, left), style))
            left -= cell_len(pieces[-1][0])
    return [*pieces, *([(" " * max(2, left + 2), ""), (written, "note")] if written else ())]


def _cells(pieces: Sequence[Piece]) -> int:
    return sum(cell_len(text) for text, _ in pieces)


def _lanes(row: Row, side: str, peer: int) -> list[Piece]:
    style = "failed" if row.error or row.malformed or row.state in {"failed", "cut", "unanswered"} else row.lane
    if row.lane == "llm":
        name = padded(side, peer).rjust(peer + 4)
        return [(" ", ""), ("<──" if row.outward else "──>", style), ("┤", "host"), (f"{name} ", "peer")]
    if row.lane == "host":
        return [("    ", ""), ("●" if row.kind == "decision" else "│", "decision"), (" " * (peer + 5), "")]
    is_asked = row.kind == "frame" and bool(row.rpc_id) and row.answer == row.outward
    rule = "══" if is_asked else "──"
    place = side.rfind("/") if side[-3:].count("/") else len(side)  # the connection's number is not cut
    name = clip(side[:place], peer - len(side) + place) + side[place:]
    arrow = f"{rule}> " if row.outward else f"<{rule} "
    return [("    ", ""), ("├", "host"), (arrow, style), (f"{padded(name, peer)} ", "peer")]


def _words(source: SessionSource, row: Row, facts: RowFacts, room: int) -> list[Piece]:
    """Return what a row says; the tokens, if there is room for them."""
    tokens = facts.tokens if room >= _ROOMY_CELLS else facts.tokens.partition(", ")[0] * (room >= _TIGHT_CELLS)
    words, size = row.words, short_size(row.size)
    pieces: list[Piece]
    match row.kind:
        case "request":
            parts = (size, tokens, facts.words or words) if row.lane == "llm" else (str(row.status or ""), words)
            if row.missing and row.lane == "llm":
                parts = (MISSING,)
            path = _VERSION.sub("", f"/{parts_of(row.url).path if '//' in row.url else row.url}").strip("/")
            what = f"{row.method} {path or '/'}" if row.method else "request"
            joined = (" · " if row.lane == "llm" else "  ").join(filter(None, parts))
            pieces = [(what, "what"), (f"  {joined}" if joined else "", "words")]
        case "response":
            amount = f"{row.events:,} events" if row.events > 1 else size * bool(row.size)
            pieces = [(str(row.status or "answer"), "failed" if row.status >= 400 else "what")]
            pieces += [(f" · {text}", "words") for text in (amount, facts.words or words) if text]
            pieces += [(f" · {tokens}", "figure")] if tokens else []
        case "frame":
            pieces = _frame(row)
        case "decision":  # of a call: `math.multiply 1.1.2`
            places = [match[1] for match in map(_CALL_PLACE.search, sorted(row.calls)) if match is not None]
            name = f"{row.peer}.{row.tool}" if row.peer else row.tool
            pieces = [(f"{' '.join((name, *places[:1]))}  " if row.tool else "", "what"), (words, "words")]
        case "vendor" | "line":
            pieces = [("stderr  " if row.kind == "line" else "", "note"), (words, "words")]
        case "end" | "fault":
            is_plain = row.kind == "end" and not row.error
            pieces = [(words, "note") if is_plain else (f"✗ {words or 'failed'}", "failed")]
    if row.events > 1 and row.kind in {"frame", "line"}:
        pieces.append((f" x{row.events:,}" if row.kind == "frame" else f" · {row.events:,} lines", "figure"))
    is_answer = row.answer or (row.kind == "response" and row.state != "open")
    asked = source.ladder.partner_of(row) if is_answer else None  # the time since its first byte
    took = None if asked is None or asked.number > row.number else lasted(asked.mono_ns, row.end_mono_ns)
    pieces += [] if took is None else [(f" · {short_time(took / 1e6)}", "figure")]
    return [*pieces, (f" · {size}", "figure")] if row.kind == "frame" and row.size >= 1000 else pieces


def _frame(row: Row) -> list[Piece]:
    number, words = f"#{line(row.rpc_id, 40)} " if row.rpc_id else "", row.words
    if not row.answer:
        pieces: list[Piece] = [(f"{number}{row.method or 'frame'}", "what")]
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
    return [*pieces, (f"  {words}", "words")] if words else pieces


@lru_cache(2)
def legend(why_empty: str, width: int, key: str) -> str:
    """Return why the list has no rows, if it has none, and its signs and their meaning, in lines of at most 41 cells."""
    signs = (
        ("<──┤", "request to the model"),
        ("──>┤", "response of the model"),
        ("├──>", "message to a server"),
        ("├<──", "message from a server"),
        ("├<══", "a server asks; ══> its answer"),
        ("● │", "decision about a call; the host"),
        ("▸ ▾", "folded and open section: enter"),
        ("> *", "selected row; rows of its call"),
        ("m M", "marked row; with a note"),
        ("… ✗", "running; failed, cut, no answer"),
        ("•••", "a secret, not kept"),
    )
    why = [*wrap(why_empty, max(1, width - 1)), ""] if why_empty else []
    lines = *why, f"Signs of the list ({key} shows them)", *(f"{sign:<8}{words}" for sign, words in signs)
    return "\n".join(f" {words}".rstrip() for words in lines)
