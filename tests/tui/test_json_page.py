"""JSON that folds: where lines break, containers, strings as what they hold, bytes, paths; and searching a page."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.tui.inspector_wires import LONG, Inspecting, a_session
from tests.tui.selecting import drag, row_of, selected
from tests.tui.test_selection import Reading
from tests.tui.waiting import at_work, until
from tui_host.answers.sheet import BodyPlace, Sheet, SheetLine
from tui_host.errors import JSON
from tui_host.tui.widgets.details.detail_panel import SearchInput
from tui_host.tui.widgets.lines.json_lines import highlight, json_lines
from tui_host.tui.widgets.pages.json_values import path_at
from tui_host.tui.widgets.pages.text_page import Below, LineItem, Match, TextPage
from tui_host.tui.widgets.pages.tree_page import Page, TreePage

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


def json_page(text: str, width: int = 70) -> TextPage:
    page = TextPage("body", text, form="json")
    made(page, width)
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
    assert isinstance(opened, Below)
    return made(opened.page)


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
    standing = [page.item(number) for number in range(len(page))]
    paths = ["" if value is None else path(value) for value in standing]
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


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES, st.lists(st.integers(0, 60), max_size=8), st.integers(8, 60))
def test_whatever_is_pressed_lines_fit_and_places_agree(value: object, presses: Sequence[int], width: int) -> None:
    text = json.dumps(value)
    page = json_page(text, width)
    for number in presses:
        line = page.opened(number % len(page))
        assert not isinstance(line, int) or 0 <= line < len(page)
        assert all(cell_len(line) <= width for line in lines(page))
    for line_number in range(len(page)):
        assert page.line_of(page.key(line_number)) <= line_number
        standing = page.item(line_number)
        assert standing is not None
        assert line_number in standing.lines
        assert standing.place is None or standing.place().data.decode() in text


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
    assert page.opened(1) == 1
    assert folded(page, "text")[2:5] == ["▾ text", "{", '"city": "Paris",']
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
        marks = "".join(view.render_line(y).text[0] for y in range(30))
        assert marks.strip() == ">││││││"
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


@given(VALUES, st.text(alphabet='{}[],:" \\\n\tab1'))
def test_lines_break_where_an_indenting_writer_would_break_them_and_nothing_is_lost(value: JSON, text: str) -> None:
    for written, indented in (
        (json.dumps(value), json.dumps(value, indent=2)),
        ('{"n":1.50e+03,"s":"\\u00e9\\/"}', '{\n  "n":1.50e+03,\n  "s":"\\u00e9\\/"\n}'),  # nothing is written anew
    ):
        broken = ("  " * line.depth + written[line.start : line.end] for line in json_lines(written))
        assert "\n".join(broken) == indented
    kept = "".join(text[line.start : line.end] for line in json_lines(text))
    assert "".join(kept.split()) == "".join(text.split())
    assert "".join(piece for piece, _ in highlight(text)) == text


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
                assert view.selected_stretch == place
                view.to_place(1)
        view.search("pin")
        await until(pilot, lambda: view.search_words == "not on this page: pin")


async def test_a_slash_in_the_details_searches_the_page_and_n_goes_on() -> None:
    async with at_work(Inspecting(a_session()), (120, 36)) as (app, pilot):
        await until(pilot, lambda: "▸ tools (1)" in app.text)
        await pilot.press("enter")
        detail = app.inspector.details[0]
        await until(pilot, lambda: detail.view.has_focus)
        await pilot.press("slash", *"numbers", "enter")
        await until(pilot, lambda: "1 of 2: numbers" in app.text and detail.view.has_focus)
        await pilot.press("n")
        await until(pilot, lambda: "2 of 2" in app.text)
        assert "description  from math  Multiply" in app.text  # what hides the place is open
        await pilot.press("2", "slash", *"math", "enter")
        await until(pilot, lambda: "1 of 2: math" in app.text)
        assert detail.view.current_source()[1] == "math"
        await pilot.press("N")
        await until(pilot, lambda: "2 of 2" in app.text)
        await pilot.press("slash", *"nowhere", "enter")
        await until(pilot, lambda: "not on this page: nowhere" in app.text)
        await pilot.press("escape")
        await until(pilot, lambda: "nowhere" not in app.text)
        assert detail.view.has_focus
        assert not app.inspector.query(SearchInput)
        assert app.escapes == 0
