"""The list: how rows are drawn, which lines there are, and whatever word a row shows finds it."""

import time
from collections.abc import Sequence
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.tui.inspector_wires import Wires, a_session, events_of, to_json
from tui_host.answers.masks import Mask
from tui_host.answers.row_facts import NOTHING, RowFacts
from tui_host.capture.ladder.row import Row, RowTable
from tui_host.capture.ladder.sections import Sections
from tui_host.capture.record import MISSING
from tui_host.capture.redact.redaction import Redactor
from tui_host.chat.conversation import AnswerItem, SummaryItem, UserItem
from tui_host.tui.widgets.inspector.filter import RowFilter
from tui_host.tui.widgets.inspector.index import LadderIndex
from tui_host.tui.widgets.inspector.row_line import NAME_CELLS, WHOLE_CELLS, row_line, turn_title
from tui_host.tui.widgets.inspector.words import FactsReader

ROW = replace(Wires().frame(b"", 2.91, direction="out"), kind="frame", size=0, malformed="")
REQUEST = replace(
    ROW, lane="llm", kind="request", method="POST", url="http://h/v1/chat/completions", size=3100, mono_ns=5_000_000_000
)
RESPONSE = replace(ROW, lane="llm", kind="response", outward=False, status=200, events=41)
RESULT = replace(ROW, outward=False, method="tools/call", rpc_id="4", answer=True, words="30")
DECISION = replace(
    ROW, lane="host", kind="decision", tool="multiply", calls=frozenset(("s.1.1.2",)), words="approved once, by you"
)


def asked_at_once() -> Wires:
    """A request that the row number 0 answers, whatever row that is."""
    wires = Wires()
    wires.request(b"{}", 0.0, exchange="x")
    return wires


def drawn(row: Row, facts: RowFacts = NOTHING, *, width: int = 100, wires: Wires | None = None) -> str:
    return "".join(text for text, _ in row_line(wires or asked_at_once(), row, facts, width, 6)).rstrip()


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        (replace(ROW, method="ping", mono_ns=128_450_000_000), " 123.4    ├──> math   ping"),
        (DECISION, " 2.91     ●           math.multiply 1.1.2  approved once, by you"),
        (replace(ROW, method="tools/call", rpc_id="4"), " 2.91     ├──> math   #4 tools/call"),
        (RESULT, ' 2.91     ├<── math   #4 result  "30"'),
        (
            replace(ROW, method="roots/list", rpc_id="1", outward=False),
            " 2.91     ├<══ math   #1 roots/list  asked by the server",
        ),
        (replace(ROW, method="roots/list", rpc_id="1", answer=True), " 2.91     ├══> math   #1 answer  roots/list"),
        (replace(ROW, kind="line", outward=False, words="listening", events=3),
         " 2.91     ├<── math   stderr  listening · 3 lines"),
        (replace(RESULT, error=True, status=400, words="-32600 no"), "#4 error · 400  -32600 no"),
        (replace(RESPONSE, state="open"), "200 · 41 events …"),
        (replace(RESPONSE, state="cut"), "200 · 41 events ✗ cut"),
        (replace(ROW, malformed="not JSON"), "frame ✗ malformed: not JSON"),
        (replace(ROW, method="ping", redacted=True), "ping •••"),
        (replace(ROW, method="n", events=3), "n x3"),
        (replace(ROW, lane="llm", kind="fault", words="connection refused"), "✗ connection refused"),
        (replace(RESPONSE, status=0, events=1, missing=True, words=MISSING), "answer · not in the file"),
        (replace(REQUEST, missing=True), "POST chat/completions  not in the file"),
    ],
)  # fmt: skip
def test_each_kind_of_row_stands_in_its_lane_and_says_how_it_went(row: Row, shown: str) -> None:
    assert drawn(row).endswith(shown)


def test_tokens_leave_their_room_to_other_words_and_what_was_said_to_how_it_went() -> None:
    facts = RowFacts(words='"{a: 6}"', tokens="12,004 tok, 8,064 cached")
    for width, tokens in ((120, "12,004 tok, 8,064 cached"), (74, '6}" · 12,004 tok'), (60, '6}"')):
        assert drawn(RESPONSE, facts, width=width).endswith(tokens)
        assert "41 events" in drawn(RESPONSE, facts, width=width)
        text = drawn(replace(RESULT, words="x" * 200, state="cut"), width=width)
        assert text.endswith("… ✗ cut")
        assert cell_len(text) <= width
    wires = asked_at_once()
    wires.hide = Mask(lambda: Redactor([("KEY", "hunter2-hunter2")]))
    row = replace(ROW, kind="line", words="token ⟨secret:KEY⟩", redacted=True)
    assert drawn(row, wires=wires).endswith("stderr  token ••• KEY (15) •••")
    assert drawn(replace(row, redacted=False), wires=wires).endswith("stderr  token ⟨secret:KEY⟩")


PLAIN = st.text(st.characters(exclude_characters="•"))


@given(PLAIN, PLAIN, PLAIN, st.integers(30, 120))
def test_foreign_words_stay_in_their_line_and_their_room(peer: str, method: str, words: str, width: int) -> None:
    wires = asked_at_once()
    for row in (
        replace(ROW, peer=peer, method=method, words=words, rpc_id=words, malformed=words, redacted=True),
        replace(RESPONSE, peer=peer, words=words),
        replace(DECISION, peer=peer, tool=method, words=words),
        replace(REQUEST, method=method, url=words),
    ):
        text = drawn(row, width=width, wires=wires)
        assert cell_len(text) <= width
        assert "\n" not in text
        assert "\x1b" not in text
        assert "•••" in text or not row.redacted or "•" not in text, "the sign of a secret is whole"


def test_the_heading_of_a_turn_says_its_question_and_how_it_ended_and_only_the_question_is_cut() -> None:
    wires = Wires()
    items = (
        UserItem(turn=3, text="earlier"),
        UserItem(turn=4, text="what's\n6 × 5?"),
        AnswerItem(turn=4, step=1),
        SummaryItem(turn=4, steps=2, calls=1, seconds=9.4),
        AnswerItem(turn=4, step=2, state="stopped"),
    )
    for item in items:
        wires.session.conversation.add(item)
    assert turn_title(wires, 4, 1, 80) == "turn 4 «what's 6 × 5?» · 2 steps · 9.4 s · stopped by you"
    assert turn_title(wires, 4, 1, 52) == "turn 4 «what's …» · 2 steps · 9.4 s · stopped by you"
    assert (turn_title(wires, 3, 1, 80), turn_title(wires, 5, 1, 80)) == ("turn 3 «earlier»", "turn 5")


def table_of(rows: Sequence[Row]) -> RowTable:
    table = RowTable()
    for row in rows:
        table.append({field.name: getattr(row, field.name) for field in fields(row) if field.name != "number"})
    return table


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans(), st.booleans()), max_size=40), st.data())
def test_each_section_has_one_heading_and_its_rows_stand_in_the_order_in_which_they_came(
    told: list[tuple[int, int, bool, bool]], data: st.DataObject
) -> None:
    rows = [
        replace(ROW, number=number, turn=turn, step=step if turn else 0, outward=outward, lane="llm" if llm else "mcp")
        for number, (turn, step, outward, llm) in enumerate(told)
    ]
    kept = sorted(data.draw(st.sets(st.integers(0, max(0, len(rows) - 1))))) if rows else []
    early = [replace(row, turn=0, step=0) if data.draw(st.booleans()) else row for row in rows]
    sections = Sections()
    table = table_of(early)
    sections.take(table, lambda _: None)
    index = LadderIndex(table, sections)
    index.count()
    index.extend(data.draw(st.permutations(kept)))  # what a filter finds is found in any order
    for number in (row.number for row, before in zip(rows, early, strict=True) if row != before):
        sections.move(number, (rows[number].clock, rows[number].turn, rows[number].step))  # it was of a turn after all
        table.put(number, {"turn": rows[number].turn, "step": rows[number].step})
        index.move(number)
    assert [index.home_of(row.number) for row in rows] == list(sections.homes)
    items = [index.item_at(line) for line in range(1, len(index))]
    lines = [(item < 0, -item - 2 if item < 0 else item) for item in items]
    assert sorted(number for is_heading, number in lines if not is_heading) == kept
    homes = [number for is_heading, number in lines if is_heading]
    assert homes == sorted(set(homes))
    in_order = [(index.home_of(number), number) for is_heading, number in lines if not is_heading]
    assert in_order == sorted(in_order)
    assert all(lines[line - 1] == (False, number) for number in kept if (line := index.line_of(number)) is not None)
    assert all(index.line_of(number) is not None for number in kept)


def test_a_request_says_that_the_model_has_changed_since_the_turn_before() -> None:
    wires = Wires()
    models = (b'{"model":"m1","messages":[]}', b'{"model":"m2","messages":[]}')
    asked = [wires.request(body, number, exchange=f"x{number}") for number, body in enumerate(models)]
    assert [FactsReader().read(wires, row).words for row in asked] == ["", "changed: model demo/m2, was demo/m1"]


def session() -> Wires:
    wires = a_session()
    wires.response(wires.ladder.rows[-1], 4.0, *events_of({"content": "It is 30 工具."}))
    refused = wires.response(wires.listing(5.0, exchange="x9"), 5.2, b'{"error":{"message":"slow down"}}', status=429)
    wires.end(refused, 5.3)
    wires.stderr("Listening", 5.4)
    wires.stderr("again", 5.5)
    wires.frame(b"garbage", 5.6, direction="in")
    wires.frame(to_json({"jsonrpc": "2.0", "id": 9, "method": "roots/list"}), 6.0, direction="in")
    wires.frame(to_json({"jsonrpc": "2.0", "id": 9, "result": {"x": "y" * 2000}}), 6.1, direction="out")
    return wires


def looked(row_filter: RowFilter, wires: Wires) -> tuple[list[int], list[int]]:
    """What matches now, and no longer, once all rows were tested."""
    row_filter.prepare(wires)
    row_filter.run(wires, time.perf_counter() + 60)
    gained, lost = row_filter.take()
    return list(gained), list(lost)


def kept(wires: Wires, text: str) -> list[int]:
    row_filter = RowFilter(FactsReader(), text, len(wires.ladder.rows), (3, 2))
    return looked(row_filter, wires)[0] if row_filter.is_on else list(range(len(wires.ladder.rows)))


def test_every_word_that_a_row_shows_finds_it() -> None:
    wires = session()
    assert kept(wires, "no row shows this") == []
    for row in wires.ladder.rows:
        pieces = row_line(wires, row, FactsReader().read(wires, row), WHOLE_CELLS, NAME_CELLS)
        text = "".join(text for text, _ in pieces)
        for word in text.split():
            assert row.number in kept(wires, word), (word, text)
        whole = text.replace(" not ", " ")  # an operator, like `or`
        assert row.number in kept(wires, whole.upper() if whole.isascii() else whole)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("3 events", [3, 8]),
        ("12 ms kind:result", [6]),
        ("kind:decision events", []),
        ("工具", [8]),
        # By the names that pages print.
        ("llm:2", [7, 8]),
        ('"LLM 1"', [2, 3]),
        ('"math #4"', [5, 6]),
        ("step:2 kind:request", [7]),
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
    assert kept(session(), text) == list(numbers)


def test_rows_that_come_are_found_and_those_that_show_the_word_no_more_are_left_out() -> None:
    wires = session()
    row_filter = RowFilter(FactsReader(), "… 200", 15)
    assert looked(row_filter, wires) == ([8], [])
    wires.end(wires.ladder.rows[8], 7.9)
    wires.response(wires.request(b"{}", 8.0, exchange="x4"), 8.1)
    row_filter.came([8], range(15, len(wires.ladder.rows)))
    assert looked(row_filter, wires) == ([16], [8])
