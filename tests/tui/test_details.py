"""The details of a row: tabs, events, what a request is compared with, JSON that folds; whole pages stand in `test_pages`."""

import json
import re
import threading
from collections.abc import Sequence
from concurrent.futures import Future

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.tui.inspector_wires import LONG, Looking, Wires, a_session, asking, drawn, events_of, request_body
from tests.tui.selecting import drag, row_of, selected
from tests.tui.test_selection import Reading
from tests.tui.waiting import at_work, until
from tui_host.answers.changes_page import changed_words, merged_text
from tui_host.answers.sheet import BodyPlace, Sheet, SheetLine
from tui_host.capture.json.values import path_at
from tui_host.capture.ladder.row import Row
from tui_host.errors import JSON
from tui_host.tui.widgets.details import tabs
from tui_host.tui.widgets.details.detail_panel import SearchInput
from tui_host.tui.widgets.details.tabs import page_of
from tui_host.tui.widgets.inspector.words import FactsReader
from tui_host.tui.widgets.lines.json_lines import highlight, json_lines
from tui_host.tui.widgets.pages.text_page import LineItem, Match, TextPage
from tui_host.tui.widgets.pages.tree_page import Page, TreePage


@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b'{"messages":[', b'{"tools":[{}],"messages":', b"data: {", b'data: {"choices":[']),
)
def test_no_body_is_refused(data: bytes, head: bytes) -> None:
    wires = Wires()
    wires.request(b'{"messages":[]}', 0.5, exchange="x0")
    request = wires.request(head + data, 1.0, exchange="x")
    response = wires.response(request, 1.1, head + data)
    for row in (request, response, wires.end(response, 2.0), wires.frame(head + data, 1.0, direction="in")):
        for tab in ("Raw", "Frame", "Headers", "Events", *(("Parts",) if row.lane == "llm" else ())):
            assert all(cell_len(text) <= 40 for text in drawn(page_of(tab, wires, row, set()), 40))
        if row.lane == "llm":
            FactsReader().read(wires, row)


def test_pieces_of_one_text_are_one_line_that_opens_to_the_text_and_to_each_event() -> None:
    wires = Wires()
    request = wires.request(request_body(), 1.0, exchange="x")
    response = wires.response(request, 1.1, b"".join(events_of(*({"content": f"{n} "} for n in range(1100)))))
    page = page_of("Events", wires, wires.end(response, 2.0), set())
    lines = drawn(page)
    assert lines[3].split("  ")[:3] == ["▸ 1–1,000", "text ×1,000", "3,890 characters in 0 ms"]
    assert lines[4].startswith('▸ 1,001–1,100  text ×100  500 characters in 0 ms  "1000 1001 ')
    assert "1,101  stop stop" in lines[5]
    assert page.opened(4)
    opened = drawn(page)
    assert opened[5].strip().startswith("▸ assembled: 500 bytes of text in ")
    assert opened[6].strip().startswith('▸ 1,001  text "1000 "')
    assert page.opened(6)
    assert any('"content": "1000 "' in text for text in drawn(page))
    assert page.opened(5)
    assert drawn(page)[6].strip().startswith("1000 1001 1002")


async def test_all_tabs_have_names_and_a_page_is_shown_if_still_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()

    def slow(tab: str, source: Wires, row: Row, flipped: set[str], beginning: Future[Page]) -> Page:
        if tab == "Headers":
            go_on.wait(60)
            return TextPage("", "too late", form="plain")
        return page_of(tab, source, row, flipped, beginning)

    monkeypatch.setattr(tabs, "page_of", slow)
    async with at_work(Looking(a_session()), (81, 40)) as (app, pilot):
        await until(pilot, lambda: "[Parts]" in app.text and "LLM 2 request" in app.text)
        names = ("Parts Raw Headers Events Chain Changes", "Frame Raw Chain")
        for detail, tabs_of in zip(app.inspector.details, map(str.split, names), strict=True):
            at = next(number for number, text in enumerate(app.lines) if f"[{tabs_of[0]}]" in text)
            shown = "".join(text[detail.region.x : detail.region.right] for text in app.lines[at : at + 2])
            assert re.findall("[A-Za-z]+", shown)[: len(tabs_of)] == tabs_of
        await pilot.resize_terminal(140, 40)
        await until(pilot, lambda: "messages (" in app.text and app.inspector.is_settled)
        await app.reach(pilot, "3", "reading …")
        await app.reach(pilot, "2", '"messages":[')
        go_on.set()
        await until(pilot, lambda: app.inspector.is_settled)
        assert "too late" not in app.text
        await app.reach(pilot, "3", "too late")


async def test_b_sorts_a_tree_d_shows_the_changes_and_a_mark_says_since_when() -> None:
    wires = Wires()
    texts = ("a", "long question " * 9, "mid " * 9)
    for number in range(1, 4):
        wires.request(asking("s", *texts[:number]), number - 1, exchange=f"x{number}")
    wires.end(wires.response(wires.ladder.rows[2], 3.0, *events_of({"content": "x"})), 4.0)
    async with at_work(Looking(wires), (140, 40)) as (app, pilot):
        app.inspector.ladder.select(2)
        await until(pilot, lambda: "+1 message" in app.text)

        def order() -> str:
            places = sorted((app.text.find(f"user  from you  {text[:3]}"), text[0]) for text in texts)
            return "".join(letter for _, letter in places)

        await app.reach(pilot, "enter b", lambda: "sorted by size" in app.text and order() == "lma")
        await app.reach(pilot, "b", lambda: "sorted by size" not in app.text and order() == "alm")
        app.inspector.ladder.focus()
        await app.reach(pilot, "d", "changes of LLM 3 since LLM 2, the request before")
        await app.reach(pilot, "d", "+1 message")
        app.inspector.ladder.select(3)
        await until(pilot, lambda: "[Parts]" in app.text and "LLM 3 response" in app.text)
        await app.reach(pilot, "d", "changes of LLM 3 since LLM 2")  # on an answer: of its request
        app.inspector.ladder.select(0)
        await app.reach(pilot, "m", lambda: " m0.00 " in app.text or ">m0.00 " in app.text)
        app.inspector.ladder.select(2)
        await until(pilot, lambda: "changes of LLM 3 since LLM 1, which is marked" in app.text)
        await app.reach(pilot, "d", "since LLM 1, which is marked: +2 messages")
        wires.row_marks.write((wires.ladder.rows[0].capture, wires.ladder.rows[0].seq), "look: [b]here")
        app.inspector.ladder.filter("marked look")
        await until(pilot, lambda: "look: [b]here" in app.text and "M0.00" in app.text and "M2.00" not in app.text)
        app.inspector.ladder.select(0)
        await app.reach(pilot, "m", lambda: "look: [b]here" not in app.text)


def test_a_request_is_compared_with_the_one_that_was_marked_last_in_another_session() -> None:
    first, second = Wires(), Wires()
    marked = first.request(asking("s", "a"), 0, exchange="x0")
    rows = [second.request(asking("s", *"bc"[:number]), number, exchange=f"x{number}") for number in range(2)]
    first.row_marks.write((marked.capture, marked.seq), "")
    second.elsewhere = first.marked_last()
    shown = "\n".join(drawn(page_of("Changes", second, rows[1], set())))
    assert f"changes of LLM 2 since LLM 1 of {first.row_marks.session}, which is marked" in shown
    second.row_marks.write((rows[0].capture, rows[0].seq), "")
    assert second.compared(rows[1]) == rows[0]


def test_words_are_marked_as_wholes() -> None:
    for old, new, merged in (
        ("the weather is good", "the weather is fine today", "the weather is [-good-]{+fine today+}"),
        ("北京天气好", "北京天气很好", "北京天气{+很+}好"),
        ("x = 12", "x = 13", "x = [-12-]{+13+}"),
    ):
        assert merged_text(new, changed_words(old, new)) == merged


# JSON that folds: where lines break, containers, strings as what they hold, bytes, paths; and searching a page.

ARGUMENTS = '{"city": "Paris", "a b": [1, {"x": "y\\n"}]}'
BODY = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "one\ntwo 中文"},
        {"role": "assistant", "calls": [{"name": "f", "arguments": ARGUMENTS}]},
    ],
    "数据": {"a b": [1, {"k": [2, 3]}, 4], "empty": []},
}
TEXT = json.dumps(BODY, ensure_ascii=False)
CALL = "messages[1].calls[0].arguments"


def made(page: Page, width: int = 70) -> Page:
    page.fit(width)
    page.grow(LONG)
    return page


def json_page(text: str) -> TextPage:
    page = TextPage("body", text, form="json")
    made(page)
    return page


def lines(page: Page) -> list[str]:
    return ["".join(text for text, _ in page.pieces(number)) for number in range(len(page))]


def at(page: Page, words: str) -> int:
    return next(number for number, line in enumerate(lines(page)) if words in line)


def item(page: Page, words: str) -> LineItem:
    standing = page.item(at(page, words))
    assert standing is not None
    return standing


def path(standing: LineItem) -> str:
    return "" if standing.place is None else standing.place().path


def folded(page: Page, *words: str) -> Sequence[str]:
    for part in words:
        assert isinstance(page.opened(at(page, part)), int)
    return [line.strip() for line in lines(page)]


def below(page: Page, words: str) -> Page:
    opened = page.opened(at(page, words))
    assert isinstance(opened, TextPage)
    return made(opened)


def test_containers_fold_to_a_line_that_counts_them_and_unfold_where_they_were() -> None:
    page = json_page(TEXT)
    before = lines(page)
    assert folded(page, '"calls"')[9:12] == ['"calls": [ … 1 element, 86 bytes ]', "}", "],"]
    assert folded(page, '"messages"')[2] == '"messages": [ … 2 elements, 168 bytes ],'
    assert folded(page, '"k"', '"a b"')[4] == '"a b": [ … 3 elements, 21 bytes ],'
    assert folded(page, '"a b"')[7] == '"k": [ … 2 elements, 6 bytes ]', "what is inside stays folded"
    assert folded(page, '"k"', '"messages"', '"calls"') == [line.strip() for line in before]
    folded(page, '"messages"', '"a b"')
    line = page.reveal(Match(TEXT.index("one"), TEXT.index("two")))
    assert '"content"' in lines(page)[line], "a search opens what hides its place"
    assert at(page, '"a b": [ … 3 elements'), "and nothing else"
    folded(page, '"a b"')
    assert page.opened(len(page) - 1) == 0, "the closing mark folds too"
    assert lines(page) == [f"{{ … 3 members, {len(TEXT.encode())} bytes }}"]


def test_a_line_knows_the_lines_the_path_and_the_bytes_of_its_value_and_strings_open_as_pages() -> None:
    page = json_page(TEXT)
    paths = ["" if value is None else path(value) for value in map(page.item, range(len(page)))]
    assert paths[0] == paths[-1] == "."
    assert paths[-5:-2] == ['数据["a b"][2]', '数据["a b"]', "数据.empty"]
    messages = item(page, '"messages"')
    assert (messages.lines.start, messages.lines.stop) == (2, at(page, '"数据"'))
    assert messages.copy() == ("messages", json.dumps(BODY["messages"], ensure_ascii=False))
    assert item(page, "{").copy() == ("body", TEXT), "what holds all is the body"
    words = lines(below(page, '"content"'))
    assert words == ["messages[0].content: text of 10 characters · escape: back", "one", "two 中文"]
    inner = below(page, '"arguments"')
    assert [line.strip() for line in lines(inner)][1:4] == ["{", '"city": "Paris",', '"a b": [']
    assert path(item(inner, '"city"')) == f"{CALL} | fromjson | .city"
    assert path(item(inner, '"x"')) == f'{CALL} | fromjson | .["a b"][1].x'
    body = TEXT.encode()
    assert path_at(body, body.index(b'"one')) == "messages[0].content"
    assert path_at(body, body.index(b'{"k"')) == '数据["a b"][1]'
    assert path_at(b"no JSON", 3) == ""


def test_folds_survive_another_width_and_a_page_that_has_grown_and_what_is_cut_off_folds_too() -> None:
    page = json_page(TEXT)
    shown = folded(page, '"a b"', '"calls"')
    assert all(cell_len(line) <= 20 for line in lines(made(page, 20)))
    grown = TextPage("body", TEXT + "\n{}", form="json")
    grown.folds = page.folds
    assert [line.strip() for line in lines(made(grown))] == [*shown, "{}"]
    page = json_page('{"a": [1, {"b": 2}, {"c": "text\\nand')
    assert folded(page, '"a"')[1:] == ['"a": [ … 3 elements, 30 bytes, not closed']
    folded(page, '"a"')
    assert lines(below(page, '"c"'))[-2:] == ["text", "and"]


def test_a_text_in_a_tree_opens_as_a_page_that_folds_and_leads_paths_through_the_body() -> None:
    place = BodyPlace("messages[1].calls[0]", b'{"name": "f\xff"}', is_decoded=False)
    string = BodyPlace("messages[0].content", json.dumps(ARGUMENTS).encode(), is_decoded=True)
    entries = [
        SheetLine(key="a", label="call", text=lambda: '{"name": {"x": 1}, "b": [2]}', place=lambda: place, opened=True),
        SheetLine(key="b", label="text", text=lambda: ARGUMENTS, place=lambda: string),
    ]
    page = made(TreePage(Sheet(what="parts", lines=entries), set()))
    assert [line.strip() for line in lines(page)][1:5] == ["▾ call", "{", '"name": {', '"x": 1']
    name = item(page, '"name"')
    assert (path(name), name.copy()[1], name.lines) == ("messages[1].calls[0].name", '{"x": 1}', range(3, 6))
    inner = below(page, '"name"')
    assert folded(inner, '"name"')[:3] == ["call · escape: back", "{", '"name": { … 1 member, 8 bytes },']
    assert path(item(inner, '"name"')) == "messages[1].calls[0].name"
    assert (page.opened(1), folded(page, "text")[2:5]) == (1, ["▾ text", "{", '"city": "Paris",'])
    assert path(item(page, '"city"')) == "messages[0].content | fromjson | .city"
    assert (item(page, "text").lines, item(page, "text").keys) == (range(2, len(page)), ("b",))


async def test_keys_on_a_page_fold_show_bytes_lead_back_and_copy_what_is_marked() -> None:
    async with at_work(Reading(TextPage("body", TEXT, form="json")), (60, 30)) as (app, pilot):
        view = app.view

        async def shows(words: str, *keys: str) -> int:
            await pilot.press(*keys)
            await until(pilot, lambda: any(words in view.render_line(y).text for y in range(30)))
            return row_of(view, words)[1]

        view.move_cursor(await shows('"messages"'))
        view.move_cursor(await shows("2 elements", "enter"))
        await pilot.press("enter")
        view.move_cursor(await shows('"calls"'))
        assert view.current_source() == ("messages[1].calls", TEXT[TEXT.index('[{"name"') : TEXT.index('}], "数据')])
        assert "".join(view.render_line(y).text[0] for y in range(30)).strip() == ">││││││"
        await drag(pilot, view, row_of(view, '"content"'), row_of(view, '"calls"'))
        assert selected(view).startswith('"content": "one\\n')
        view.move_cursor(await shows('"content"', "escape"))
        await shows("text of 10", "enter")
        x, y = row_of(view, "two 中文")
        await pilot.click(view, offset=(x + 1, y), times=2)
        assert (selected(view), view.current_source()[0]) == ("two", "part of messages[0].content")
        assert await shows('"content"', "escape", "escape") == view.cursor
        view.action_bytes()
        await shows("messages[0].content: 17 bytes · r: in hex · escape: back")
        view.action_bytes()
        await shows("22 6f 6e 65")
        view.action_bytes()
        assert await shows('"content"') == view.cursor


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES, st.text(alphabet='{}[],:" \\\n\tab1'))
def test_lines_break_where_an_indenting_writer_would_break_them_and_nothing_is_lost(value: JSON, text: str) -> None:
    for written, indented in (
        (json.dumps(value), json.dumps(value, indent=2)),
        ('{"n":1.50e+03,"s":"\\u00e9\\/"}', '{\n  "n":1.50e+03,\n  "s":"\\u00e9\\/"\n}'),  # nothing is written anew
    ):
        broken = ("  " * line.depth + written[line.start : line.end] for line in json_lines(written))
        assert "\n".join(broken) == indented
    kept = "".join(text[line.start : line.end] for line in json_lines(text))
    assert ("".join(kept.split()), "".join(piece for piece, _ in highlight(text))) == ("".join(text.split()), text)


@pytest.mark.parametrize("head", ['"a', '{"' + "\\" * 501, "[", "}", '{"a":"' + "x" * 5_000, "," + " " * 5_000])
def test_hostile_text_is_read_once(head: str) -> None:
    assert sum(1 for _ in json_lines(head * 1_000)) >= 1  # quadratic work would meet the test's time limit


async def test_places_are_found_across_pieces_of_a_long_text_and_in_json_without_its_blanks() -> None:
    text = "x" * 65_530 + '"needle":1' + "x" * 70_000 + "NEEDLE"
    first, last = ((65_531,), (65_537,)), ((135_540,), (135_546,))
    async with at_work(Reading(TextPage("text", text)), (60, 20)) as (app, pilot):
        view = app.view
        for words, places in (("needle", [first, last, first]), ('"needle": 1', [((65_530,), (65_540,))])):
            view.search(words)
            for place in places:
                await until(pilot, lambda: view.is_settled)
                assert view.selection == place
                view.to_place(1)
        view.search("pin")
        await until(pilot, lambda: view.search_words == "not on this page: pin")


async def test_a_slash_in_the_details_searches_the_page_and_n_goes_on() -> None:
    async with at_work(Looking(a_session()), (120, 36)) as (app, pilot):
        await until(pilot, lambda: "▸ tools (1)" in app.text)
        await pilot.press("enter")
        detail = app.inspector.details[0]
        await until(pilot, lambda: detail.view.has_focus)
        await pilot.press("slash", *"numbers", "enter")
        await until(pilot, lambda: "1 of 2: numbers" in app.text and detail.view.has_focus)
        await app.reach(pilot, "n", "2 of 2")
        assert "description  from math  Multiply" in app.text  # what hides the place is open
        await app.reach(pilot, "2 slash m a t h enter", "1 of 2: math")
        assert detail.view.current_source()[1] == "math"
        await app.reach(pilot, "N", "2 of 2")
        await app.reach(pilot, "slash n o w h e r e enter", "not on this page: nowhere")
        await app.reach(pilot, "escape", lambda: "nowhere" not in app.text)
        assert detail.view.has_focus
        assert not app.inspector.query(SearchInput)
        assert app.escapes == 0
