"""The list: how rows are drawn, which lines there are, and whatever word a row shows finds it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.tui.inspector_wires import Wires, a_turn, connected, events_of, to_json
from tui_host.answers.masks import Mask
from tui_host.capture.ladder.row import Row
from tui_host.capture.ladder.sections import Sections
from tui_host.capture.record import MISSING
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.short_units import short_size, short_time
from tui_host.capture.visible import line
from tui_host.tui.widgets.ladder.ladder_filter import Filtering
from tui_host.tui.widgets.ladder.ladder_lines import Columns, LadderDrawing, RowFacts, clock, row_line, short_path
from tui_host.tui.widgets.ladder.ladder_title import Heading, heading_text
from tui_host.tui.widgets.ladder.line_index import SESSION, LadderIndex
from tui_host.tui.widgets.ladder.row_texts import LadderTexts
from tui_host.tui.widgets.ladder.row_words import LadderWords

ROW = Row(
    number=0,
    lane="mcp",
    kind="frame",
    outward=True,
    capture="c",
    seq=1,
    last_seq=1,
    time_ns=0,
    mono_ns=2_910_000_000,
    end_mono_ns=2_910_000_000,
    turn=1,
    step=1,
    peer="math",
)
REQUEST = replace(
    ROW,
    lane="llm",
    kind="request",
    peer="demo",
    method="POST",
    url="http://h/v1/chat/completions",
    size=3100,
    mono_ns=0,
)
RESPONSE = replace(ROW, lane="llm", kind="response", outward=False, status=200, events=41, peer="demo")


def drawn(row: Row, told: RowFacts | None = None, *, width: int = 100) -> str:
    facts = replace(told or RowFacts(started_ns=0), side="LLM 3" if row.lane == "llm" else line(row.peer, 60))
    pieces = row_line(row, facts, Columns(width=width, peer=6))
    return "".join(text for text, _ in pieces).rstrip()


def test_a_mark_stands_as_a_mask_in_a_row_that_something_was_taken_out_of_and_as_it_is_elsewhere() -> None:
    columns = Columns(width=100, peer=6, mask=Mask(lambda: Redactor([("KEY", "hunter2-hunter2")])).marks)
    row = replace(ROW, kind="line", words="token ⟨secret:KEY⟩", redacted=True)
    shown, foreign = (
        "".join(text for text, _ in row_line(each, RowFacts(started_ns=0), columns))
        for each in (row, replace(row, redacted=False))
    )
    assert "stderr  token ••• KEY (15)" in shown
    assert "stderr  token ⟨secret:KEY⟩" in foreign


def test_each_kind_of_row_stands_in_its_lane() -> None:
    asks = RowFacts(started_ns=0, described='asks math.multiply {"a":6}', milliseconds=2400)
    result = replace(ROW, outward=False, method="tools/call", rpc_id="4", answer=True, words="30")
    decision = replace(ROW, lane="host", kind="decision", words="approved once, by you, after 2.5 s")
    shown = [
        drawn(REQUEST, RowFacts(started_ns=0, described="3 tools · 2 messages")),
        drawn(RESPONSE, asks),
        drawn(decision),
        drawn(replace(ROW, method="tools/call", rpc_id="4")),
        drawn(result, RowFacts(started_ns=0, milliseconds=12)),
        drawn(replace(ROW, outward=False, method="roots/list", rpc_id="1")),
        drawn(replace(ROW, method="roots/list", rpc_id="1", answer=True)),
        drawn(replace(ROW, kind="line", outward=False, words="listening", events=3)),
    ]
    assert shown == [
        " 0.00  <──┤    LLM 3  POST chat/completions  3.1k · 3 tools · 2 messages",
        ' 2.91  ──>┤    LLM 3  200 · 41 events · asks math.multiply {"a":6} · 2.4 s',
        " 2.91     ●           approved once, by you, after 2.5 s",
        " 2.91     ├──> math   #4 tools/call",
        ' 2.91     ├<── math   #4 result  "30" · 12 ms',
        " 2.91     ├<══ math   #1 roots/list  asked by the server",
        " 2.91     ├══> math   #1 answer  roots/list",
        " 2.91     ├<── math   stderr  listening · 3 lines",
    ]


@pytest.mark.parametrize(
    ("width", "tokens"),
    [(120, "12,004 tok, 8,064 cached · 2.4 s"), (74, '6}" · 12,004 tok · 2.4 s'), (60, '6}" · 2.4 s')],
)
def test_tokens_leave_their_room_to_other_words_and_what_was_said_to_how_it_went(width: int, tokens: str) -> None:
    told = RowFacts(started_ns=0, described='"{a: 6}"', tokens="12,004 tok, 8,064 cached", milliseconds=2400)
    assert drawn(RESPONSE, told, width=width).endswith(tokens)
    assert "41 events" in drawn(RESPONSE, told, width=width)
    row = replace(ROW, outward=False, method="tools/call", rpc_id="4", answer=True, words="x" * 200, state="cut")
    text = drawn(row, RowFacts(started_ns=0, milliseconds=12), width=width)
    assert text.endswith("· 12 ms ✗ cut")
    assert cell_len(text) <= width


@pytest.mark.parametrize(
    ("row", "ending"),
    [
        (replace(ROW, outward=False, answer=True, error=True, status=400, words="-32600 no"), "error · 400  -32600 no"),
        (replace(RESPONSE, state="open"), "200 · 41 events …"),
        (replace(RESPONSE, state="cut"), "200 · 41 events ✗ cut"),
        (replace(ROW, kind="frame", malformed="not JSON"), "frame ✗ malformed: not JSON"),
        (replace(ROW, method="ping", redacted=True), "ping •••"),
        (replace(ROW, method="n", events=3), "n x3"),
        (replace(ROW, lane="llm", kind="fault", words="connection refused"), "✗ connection refused"),
        (replace(ROW, answer=True, rpc_id="4", error=True, words="-32602 bad"), "#4 error  -32602 bad"),
        (replace(RESPONSE, status=0, events=1, missing=True, words=MISSING), "answer · not in the file"),
        (replace(REQUEST, missing=True), "POST chat/completions  not in the file"),
    ],
)
def test_how_it_went_is_a_word_and_a_mark(row: Row, ending: str) -> None:
    assert drawn(row).endswith(ending)


@given(st.text(), st.text(), st.text(), st.integers(30, 120))
def test_foreign_words_stay_in_their_line_and_their_room(peer: str, method: str, words: str, width: int) -> None:
    for row in (
        replace(ROW, peer=peer, method=method, words=words, rpc_id=words, malformed=words),
        replace(RESPONSE, peer=peer, words=words),
        replace(ROW, kind="line", words=words),
        replace(REQUEST, method=method, url=words),
    ):
        text = drawn(row, width=width)
        assert cell_len(text) <= width
        assert "\n" not in text
        assert "\x1b" not in text


def test_times_sizes_and_paths_are_short() -> None:
    assert [short_size(size) for size in (0, 812, 3100, 999_499, 1_500_000, 12_000_000)] == [
        "0 B", "812 B", "3.1k", "999k", "1.5M", "12M",
    ]  # fmt: skip
    assert [short_time(time) for time in (999, 2400, 59_960, 200_000)] == ["999 ms", "2.4 s", "1 min 0 s", "3 min 20 s"]
    assert [clock(seconds) for seconds in (0, 12.345, 123.45, 1234.5)] == [
        " 0.00 ", " 12.35", " 123.5", " 1234 ",
    ]  # fmt: skip
    assert short_path("https://h/v1/chat/completions?key=1") == "chat/completions"
    assert list(map(short_path, ("http://h:1/api/chat", "http://h", "http://[h/v1/chat?a"))) == ["chat", "/", "chat"]


def rows_of(*turns: tuple[int, int]) -> list[Row]:
    return [
        replace(ROW, number=number, turn=turn, step=step, outward=True, rpc_id="1" if turn == 0 else "")
        for number, (turn, step) in enumerate(turns)
    ]


def sections_of(rows: list[Row], partner: Callable[[int], int | None] = lambda _: None) -> Sections:
    sections = Sections()
    sections.take(rows, partner)
    return sections


def index_of(rows: list[Row], numbers: list[int] | None = None) -> LadderIndex:
    index = LadderIndex(sections_of(rows))
    index.count(rows)
    index.extend(range(len(rows)) if numbers is None else numbers)
    return index


def lines_of(index: LadderIndex) -> list[str]:
    items = [index.item_at(line) for line in range(len(index))]
    assert items[:1] in ([], [SESSION]), "the session's heading is the first line"
    return [f"#{-item - 1}" if item < 0 else f"{item}" for item in items[1:]]


def test_each_turn_and_step_has_a_heading() -> None:
    index = index_of(rows_of((0, 0), (1, 1), (1, 1), (1, 2)))
    assert lines_of(index) == ["#0", "0", "#1", "1", "2", "#3", "3"]
    assert [index.line_of(number) for number in range(4)] == [2, 4, 5, 7]
    assert index.line_of(9) is None


def test_what_turns_out_to_be_of_a_turn_goes_there_and_its_heading_stays_for_what_is_left() -> None:
    rows = rows_of((1, 1), (0, 0), (0, 0), (0, 0), (2, 1))
    rows = [replace(row, mono_ns=1_000 * row.number, method="tools/call") for row in rows]
    rows[3] = replace(rows[3], answer=True)  # of row 1
    sections = sections_of(rows, {3: 1, 1: 3}.get)
    index = LadderIndex(sections)
    index.count(rows)
    index.extend(range(5))

    def moves(row: Row, turn: int) -> bool:
        sections.move(row.number, (row.clock, turn, 1))
        return index.move(replace(row, turn=turn, step=1))

    assert lines_of(index) == ["#0", "0", "#1", "1", "2", "3", "#4", "4"]
    assert moves(rows[1], 1)
    assert moves(rows[3], 1)
    assert lines_of(index) == ["#0", "0", "1", "3", "#1", "2", "#4", "4"]
    assert [index.turn_of(number) for number in range(5)] == [1, 1, 0, 1, 2]
    assert (index.counts("", 1), index.counts("", 0)) == ((0, 3), (0, 1))
    assert not moves(rows[1], 1)
    assert moves(rows[2], 2)
    assert lines_of(index) == ["#0", "0", "1", "3", "#4", "2", "4"]
    assert moves(rows[1], 2)
    assert lines_of(index) == ["#0", "0", "3", "#4", "1", "2", "4"]
    assert index.counts("", 2) == (0, 3)


def test_connections_before_the_first_turn_are_folded_and_any_section_opens_and_folds() -> None:
    rows = rows_of((0, 0), (0, 0), (1, 1), (1, 1), (0, 0))
    rows[2] = replace(REQUEST, number=2)
    rows[3] = replace(RESPONSE, number=3, end_mono_ns=0)
    index = LadderIndex(sections_of(rows))
    index.folds_starts = True
    index.count(rows)
    index.extend(range(5))
    assert (lines_of(index), index.kept) == (["#0", "#2", "2", "3", "#4", "4"], 5)
    assert (index.hidden(0), index.hidden(2)) == (2, None)
    assert (index.line_of(1), index.line_near(1)) == (None, 1)
    index.fold(0)
    index.fold(2)
    assert lines_of(index) == ["#0", "0", "1", "#2", "#4", "4"]
    index.clear()
    index.extend([4, 3, 1])
    assert (lines_of(index), index.hidden(3)) == (["#0", "1", "#2", "#4", "4"], 1)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans(), st.booleans()), max_size=40), st.data())
def test_each_section_has_one_heading_and_its_rows_stand_in_the_order_in_which_they_came(
    told: list[tuple[int, int, bool, bool]], data: st.DataObject
) -> None:
    rows = [
        replace(ROW, number=number, turn=turn, step=step if turn else 0, outward=outward, lane="llm" if llm else "mcp")
        for number, (turn, step, outward, llm) in enumerate(told)
    ]
    kept = sorted(data.draw(st.sets(st.integers(0, max(0, len(rows) - 1))))) if rows else []
    index = index_of(rows, data.draw(st.permutations(kept)))  # what a filter finds is found in any order
    items = [index.item_at(line) for line in range(1, len(index))]
    lines = [(item < 0, -item - 1 if item < 0 else item) for item in items]
    assert sorted(number for is_heading, number in lines if not is_heading) == kept
    homes = [number for is_heading, number in lines if is_heading]
    assert homes == sorted(set(homes))
    in_order = [(index.home_of(number), number) for is_heading, number in lines if not is_heading]
    assert in_order == sorted(in_order)
    assert all(lines[line - 1] == (False, number) for number in kept if (line := index.line_of(number)) is not None)
    assert all(index.line_of(number) is not None for number in kept)


def test_the_header_says_what_there_is_and_drops_the_least_first() -> None:
    heading = Heading(llm=4, mcp=4, turn=1, filter="math", kept=12, rows=240)
    assert heading_text(heading, 90).startswith(" 4 LLM ────┬── 4 MCP ──")
    assert heading_text(heading, 90).endswith(" turn 1 · following · / math · 12 of 240 · esc clears ")
    assert "12 of 240" in heading_text(heading, 60)
    assert heading_text(replace(heading, filter="", following=False, new_below=3), 80).endswith(
        " turn 1 · 3 new below (G) · / filter · ? signs "
    )
    for width in range(10, 120):
        assert cell_len(heading_text(heading, width)) <= width


@dataclass
class Filtered:
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
        self.words.fill(self.wires, self.filtering.wanted)
        return list(self.filtering.look(self.wires.ladder).gained)

    def kept(self, text: str) -> list[int]:
        found = list(self.filtering.begin(self.wires.ladder, text, self.taken(), ()))
        while self.filtering.is_looking:
            found += self.look()
        assert len(set(found)) == len(found)
        return sorted(found)


def filtered(wires: Wires, clock: Callable[[], float] | None = None) -> Filtered:
    index, words = LadderIndex(wires.ladder.sections), LadderWords()
    drawing = LadderDrawing(wires, index, words)
    texts = LadderTexts(wires, drawing.shown)
    filtering = Filtering(texts) if clock is None else Filtering(texts, clock)
    return Filtered(wires, filtering, drawing, words, index)


def session() -> Wires:
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
        ("kind:response events", [3, 8]),
        ("kind:decision events", []),
        ("工具", [8]),
        ("slow", [10]),
        ("2.0k", [14]),
        ("", range(15)),
        # In bodies, sizes and times.
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
def test_a_filter_keeps_these_rows(text: str, numbers: Sequence[int]) -> None:
    assert filtered(session()).kept(text) == list(numbers)


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
