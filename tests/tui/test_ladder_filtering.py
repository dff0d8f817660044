"""The ladder's filter: whatever word a row shows finds it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from tests.tui.inspector_wires import Wires, a_turn, connected, events_of, to_json
from tui_host.capture.ladder.row import Row
from tui_host.tui.glyphs import UNICODE
from tui_host.tui.widgets.ladder.ladder_filter import Filtering
from tui_host.tui.widgets.ladder.ladder_lines import LadderDrawing
from tui_host.tui.widgets.ladder.line_index import LadderIndex
from tui_host.tui.widgets.ladder.row_texts import LadderTexts
from tui_host.tui.widgets.ladder.row_words import LadderWords


@dataclass
class Filtered:
    """A filter as the ladder uses it, tick by tick."""

    wires: Wires
    filtering: Filtering
    drawing: LadderDrawing
    words: LadderWords
    index: LadderIndex

    @property
    def rows(self) -> Sequence[Row]:
        return self.wires.ladder.rows

    def taken(self) -> int:
        return self.index.count(self.rows)

    def look(self) -> list[int]:
        """What is found in one tick."""
        self.words.fill(self.wires, self.filtering.wanted)
        return list(self.filtering.look(self.wires.ladder).gained)

    def kept(self, text: str) -> list[int]:
        """The rows that a filter keeps in the end."""
        found = list(self.filtering.begin(self.wires.ladder, text, self.taken(), ()))
        while self.filtering.is_looking:
            found += self.look()
        assert len(set(found)) == len(found)
        return sorted(found)


def filtered(wires: Wires, clock: Callable[[], float] | None = None) -> Filtered:
    index, words = LadderIndex(wires.ladder.sections), LadderWords()
    drawing = LadderDrawing(wires, index, words, UNICODE)
    texts = LadderTexts(wires, drawing.shown)
    filtering = Filtering(texts) if clock is None else Filtering(texts, clock)
    return Filtered(wires, filtering, drawing, words, index)


def session() -> Wires:
    """A turn, a refusal, and what goes on beside them."""
    wires = Wires()
    connected(wires)
    a_turn(wires)
    wires.response(wires.ladder.rows[-1], 4.0, *events_of({"content": "It is 30 工具."}))
    refused = wires.response(wires.listing(5.0, exchange="x9"), 5.2, b'{"error":{"message":"slow down"}}', status=429)
    wires.end(refused, 5.3)
    wires.stderr("Listening", 5.4)
    wires.stderr("again", 5.5)
    wires.frame(b"garbage", 5.6, direction="in")
    wires.frame(to_json({"jsonrpc": "2.0", "id": 9, "method": "roots/list"}), 6.0, direction="in")
    wires.frame(to_json({"jsonrpc": "2.0", "id": 9, "result": {"x": "y" * 2000}}), 6.1, direction="out")
    wires.ladder.doubt({("c1", wires.ladder.rows[5].seq): "call 1 or 2 of turn 1 step 1"})
    return wires


def test_every_word_that_a_row_shows_finds_it() -> None:
    ladder = filtered(session())
    assert ladder.kept("no row shows this") == []
    shown = {row.number: ladder.drawing.shown(row) for row in ladder.rows}
    for number, text in shown.items():
        assert text is not None
        for word in text.split():
            assert number in ladder.kept(word), (word, text)
        whole = text.replace(" not ", " ")  # an operator, like `or`
        assert number in ladder.kept(whole.upper() if whole.isascii() else whole)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("messages", [2, 7]),
        ("3 events", [3, 8]),
        ("asks multiply", [3]),
        ("#4", [5, 6]),
        ("12 ms kind:result", [6]),
        ("by the server", [13]),
        ("2 lines", [11]),
        ("doubtful: or", [5]),
        ("kind:response events", [3, 8]),
        ("kind:decision events", []),
        ("工具", [8]),
        ("slow", [10]),
        ("2.0k", [14]),
        ("", range(15)),
    ],
)
def test_words_may_stand_in_values_and_in_what_is_shown(text: str, numbers: Sequence[int]) -> None:
    assert filtered(session()).kept(text) == list(numbers)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ('"It is 30 工具"', [8]),  # over two events
        ('"工具"', [8]),
        ('"what\'s 6 × 5"', [2, 7]),
        ('"LISTENING\nagain"', [11]),
        ('kind:frame not "6"', [0, 1, 6, 13, 14]),
        ('"nowhere"', []),
        ("tokens>100", [7]),
        ("size>1k or malformed", [12, 14]),
        ("ms<20 (kind:result or status:429)", [6]),
        ("call:1.1.1 not kind:frame", [3, 4, 7]),
    ],
)
def test_bodies_sizes_and_times_are_filtered_too(text: str, numbers: Sequence[int]) -> None:
    assert filtered(session()).kept(text) == list(numbers)


def test_a_turn_keeps_every_row_under_its_heading() -> None:
    wires = session()
    wires.frame(b'{"jsonrpc":"2.0","id":5,"method":"tools/list"}', 3.95, direction="out", turn=0)
    ladder = filtered(wires)
    kept = ladder.kept("turn:1")
    ladder.index.extend(range(len(ladder.rows)))
    assert kept == [number for number in range(len(ladder.rows)) if ladder.index.turn_of(number) == 1]
    assert any(ladder.rows[number].turn == 0 for number in kept)


def test_rows_that_come_are_found_and_those_that_show_the_word_no_more_are_left_out() -> None:
    ladder = filtered(session())
    wires, filtering = ladder.wires, ladder.filtering
    row = wires.ladder.rows[8]
    assert ladder.kept("… 200") == [row.number]
    wires.end(row, 7.9)
    wires.response(wires.request(b"{}", 8.0, exchange="x4"), 8.1)
    filtering.came([row.number], range(15, ladder.taken()))
    gained: list[int] = []
    lost: list[int] = []
    while filtering.is_looking:
        ladder.words.fill(wires, filtering.wanted)
        changes = filtering.look(wires.ladder)
        gained += changes.gained
        lost += changes.lost
    assert (gained, lost) == ([16], [row.number])
