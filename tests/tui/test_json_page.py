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
from tui_host.answers.sheet import BodyPlace, SheetLine
from tui_host.errors import JSON
from tui_host.tui.widgets.details.search_input import SearchInput
from tui_host.tui.widgets.lines.json_lines import highlight, json_lines
from tui_host.tui.widgets.pages.detail_page import Below, Match, Page
from tui_host.tui.widgets.pages.json_page import JsonPage, decoded, path_at
from tui_host.tui.widgets.pages.page_search import PageSearch
from tui_host.tui.widgets.pages.text_page import TextPage
from tui_host.tui.widgets.pages.tree_page import TreePage

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
    page.advance(LONG)
    return page


def lines(page: Page) -> list[str]:
    return ["".join(text for text, _ in page.draw(number)) for number in range(len(page))]


def at(page: Page, words: str) -> int:
    return next(number for number, line in enumerate(lines(page)) if words in line)


def folded(page: Page, *words: str) -> Sequence[str]:
    for part in words:
        assert isinstance(page.opened(at(page, part)), int)
    return [line.strip() for line in lines(page)]


def below(page: Page, words: str) -> Page:
    opened = page.opened(at(page, words))
    assert isinstance(opened, Below)
    return made(opened.page)


def bytes_at(page: Page, words: str) -> Page:
    shown = page.bytes_at(at(page, words))
    assert shown is not None
    return made(shown)


def test_containers_fold_to_a_line_that_counts_them_and_unfold_where_they_were() -> None:
    page = made(JsonPage("body", TEXT))
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
    assert page.opened(at(made(JsonPage("", TEXT)), '"model"')) is None


def test_a_string_opens_as_a_page_of_text_or_of_the_json_that_it_holds_and_paths_lead_there() -> None:
    page = made(JsonPage("body", TEXT))
    paths = [page.path(number) for number in range(len(page))]
    assert paths[0] == paths[-1] == "."
    assert page.path(at(page, '"content"')) == "messages[0].content"
    assert page.path(at(page, '"name"')) == "messages[1].calls[0].name"
    assert paths[-5:-2] == ['数据["a b"][2]', '数据["a b"]', "数据.empty"]
    assert page.path(at(page, "4")) == '数据["a b"][2]'
    words = lines(below(page, '"content"'))
    assert words == ["messages[0].content: text of 10 characters · escape: back", "one", "two 中文"]
    inner = below(page, '"arguments"')
    assert [line.strip() for line in lines(inner)][1:4] == ["{", '"city": "Paris",', '"a b": [']
    assert inner.path(at(inner, '"city"')) == f"{CALL} | fromjson | .city"
    assert inner.path(at(inner, '"x"')) == f'{CALL} | fromjson | .["a b"][1].x'
    assert folded(inner, '"a b"')[3] == '"a b": [ … 2 elements, 17 bytes ]'
    body = TEXT.encode()
    assert path_at(body, body.index(b'"one')) == "messages[0].content"
    assert path_at(body, body.index(b'{"k"')) == '数据["a b"][1]'
    assert path_at(b"no JSON", 3) == ""


def test_the_bytes_of_a_value_are_a_page_and_in_hex_the_next() -> None:
    text = '{"a": {"b" :  "\\u4e2d\\n"}\n, "c": "中"}'
    page = made(JsonPage("body", text))
    raw = bytes_at(page, '"a"')
    assert lines(raw) == ["a: 19 bytes · r: in hex · escape: back", '{"b" :  "\\u4e2d\\n"}']
    assert "7b 22 62 22 20 3a 20 20  {" in lines(bytes_at(raw, "19 bytes"))[1]
    folded(page, '"a"')
    assert lines(bytes_at(page, '"a"')) == lines(raw)
    in_hex = bytes_at(bytes_at(page, '"c"'), "5 bytes")
    assert "22 e4 b8 ad 22" in lines(in_hex)[-1]
    assert in_hex.bytes_at(0) is None


def test_folds_survive_another_width_and_a_page_that_has_grown() -> None:
    page = made(JsonPage("body", TEXT))
    shown = folded(page, '"a b"', '"calls"')
    assert [line.strip() for line in lines(made(made(page, 30), 70))] == shown
    assert all(cell_len(line) <= 20 for line in lines(made(page, 20)))
    grown = JsonPage("body", TEXT + "\n{}")
    grown.keep(page)
    assert [line.strip() for line in lines(made(grown))] == [*shown, "{}"]
    another = JsonPage("body", json.dumps([12345, "text", [1]] * 9))
    unfolded = lines(made(another))
    another.keep(grown)
    assert lines(made(another)) == unfolded, "what is folded in one text is open in another"


def test_what_is_cut_off_folds_as_far_as_it_goes() -> None:
    page = made(JsonPage("body", '{"a": [1, {"b": 2}, {"c": "text\\nand'))
    assert folded(page, '"a"')[1:] == ['"a": [ … 3 elements, 30 bytes, not closed']
    folded(page, '"a"')
    assert lines(below(page, '"c"'))[-2:] == ["text", "and"]
    assert decoded('"cut in an escape \\ud83d\\ude') == "cut in an escape \ud83d"


@given(
    st.recursive(st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)),
    st.lists(st.integers(0, 60), max_size=8),
    st.integers(8, 60),
)
def test_whatever_is_pressed_lines_fit_and_places_agree(value: object, presses: Sequence[int], width: int) -> None:
    page = made(JsonPage("body", json.dumps(value)), width)
    whole = lines(page)
    for number in presses:
        line = page.opened(number % len(page))
        assert not isinstance(line, int) or 0 <= line < len(page)
        assert all(cell_len(line) <= width for line in lines(page))
        assert all(page.line_at(page.place_of(number)) <= number for number in range(len(page)))
        for line_number in range(len(page)):
            assert page.path(line_number)
            shown = page.bytes_at(line_number)
            assert shown is None or all(cell_len(line) <= width for line in lines(made(shown, width)))
    assert lines(made(JsonPage("body", json.dumps(value)), width)) == whole


def test_a_text_in_a_tree_opens_as_a_page_that_folds_and_leads_paths_through_the_body() -> None:
    place = BodyPlace("messages[1].calls[0]", b'{"name": "f\xff"}', is_decoded=False)
    string = BodyPlace("messages[0].content", json.dumps(ARGUMENTS).encode(), is_decoded=True)
    entries = [
        SheetLine(key="a", label="call", text=lambda: '{"name": {"x": 1}, "b": [2]}', place=lambda: place, opened=True),
        SheetLine(key="b", label="text", text=lambda: ARGUMENTS, place=lambda: string),
    ]
    page = TreePage("parts", entries, flipped=set())
    made(page)
    assert [line.strip() for line in lines(page)][:4] == ["▾ call", "{", '"name": {', '"x": 1']
    assert page.path(2) == "messages[1].calls[0].name"
    inner = below(page, '"name"')
    assert folded(inner, '"name"')[:3] == ["call · escape: back", "{", '"name": { … 1 member, 8 bytes },']
    assert inner.path(2) == "messages[1].calls[0].name"
    assert page.opened(0) == 0
    assert folded(page, "text")[1:4] == ["▾ text", "{", '"city": "Paris",']
    assert page.path(3) == "messages[0].content | fromjson | .city"
    raw = bytes_at(page, "text")
    assert "".join(lines(raw)[1:]) == json.dumps(ARGUMENTS)
    assert lines(bytes_at(raw, "bytes"))[1].startswith("00000000  22 7b 5c")
    assert lines(bytes_at(page, "call"))[1].startswith("00000000  7b 22 6e"), "no text, so hex at once"


async def test_a_page_that_a_line_opens_is_left_by_escape_and_what_is_selected_comes_as_it_stands() -> None:
    async with at_work(Reading(JsonPage("body", TEXT)), (60, 30)) as (app, pilot):
        view = app.view
        await until(pilot, lambda: "empty" in "".join(view.render_line(y).text for y in range(30)))
        for words in ('"messages"', '"messages"', '"calls"'):
            view.move_cursor(row_of(view, words)[1])
            await pilot.press("enter")
        assert view.cursor == row_of(view, '"calls"')[1]
        await drag(pilot, view, row_of(view, '"content"'), row_of(view, '"calls"'))
        assert selected(view).startswith('"content": "one\\n')
        await pilot.press("escape")
        assert view.current_source == ("body", TEXT)
        view.move_cursor(row_of(view, '"content"')[1])
        await pilot.press("enter")
        await until(pilot, lambda: "text of 10" in view.render_line(0).text)
        x, y = row_of(view, "two 中文")
        await pilot.click(view, offset=(x + 1, y), times=2)
        assert (selected(view), view.current_source[0]) == ("two", "part of messages[0].content")
        await pilot.press("escape", "escape")
        assert view.current_source == ("body", TEXT)
        assert view.cursor == row_of(view, '"content"')[1]
        assert "1 element" in view.render_line(row_of(view, '"calls"')[1]).text


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
marks = st.text(alphabet='{}[],:" \\\n\tab1')


def indented(text: str) -> str:
    return "\n".join("  " * line.depth + text[line.start : line.end] for line in json_lines(text))


@given(values)
def test_lines_break_where_an_indenting_writer_would_break_them(value: JSON) -> None:
    assert indented(json.dumps(value)) == json.dumps(value, indent=2)


@given(marks)
def test_nothing_is_lost_whatever_the_text_is(text: str) -> None:
    kept = "".join(text[line.start : line.end] for line in json_lines(text))
    assert [*"".join(kept.split())] == [*"".join(text.split())]


def test_numbers_escapes_and_doubled_keys_stay_as_they_are_written() -> None:
    text = '{"n":1.50e+03,"n":-0,"s":"\\u00e9\\/"}'
    assert indented(text) == '{\n  "n":1.50e+03,\n  "n":-0,\n  "s":"\\u00e9\\/"\n}'


@pytest.mark.parametrize("head", ['"a', '{"' + "\\" * 501, "[", "}", '{"a":"' + "x" * 5_000, "," + " " * 5_000])
def test_hostile_text_is_read_once(head: str) -> None:
    assert sum(1 for _ in json_lines(head * 1_000)) >= 1  # quadratic work would meet the test's time limit


def test_pieces_of_a_line_are_told_apart() -> None:
    pieces = [(text, name) for text, name in highlight('  "a": "b\\"", 1.5e3 true {') if name]
    assert [text for text, _ in pieces] == ['"a"', ":", '"b\\""', ",", "1.5e3", "true", "{"]
    assert [name for _, name in pieces] == ["key", "mark", "string", "mark", "number", "word", "mark"]


@given(marks)
def test_highlighting_changes_no_character(text: str) -> None:
    assert "".join(piece for piece, _ in highlight(text)) == text


def _gone_to(text: str, page: Page, *steps: int) -> tuple[list[Match | None], str]:
    search = PageSearch(text, made(page, 60))
    places = [search.look(LONG)]
    for step in steps:
        search.step(step)
        places.append(search.look(LONG))
    return places, search.words


def test_places_are_found_across_pieces_of_a_long_text_and_in_json_without_its_blanks() -> None:
    text = "x" * 65_530 + '"needle":1' + "x" * 70_000 + "NEEDLE"
    assert _gone_to("needle", TextPage("text", text), 1, 1, -1) == (
        [Match(65_531, 65_537), Match(135_540, 135_546), Match(65_531, 65_537), Match(135_540, 135_546)],
        "2 of 2",
    )
    assert _gone_to('"needle": 1', TextPage("text", text))[0] == [Match(65_530, 65_540)]
    assert _gone_to("pin", TextPage("text", text)) == ([None], "not on this page")


def test_a_place_in_a_tree_opens_its_entries_and_a_label_opens_none() -> None:
    deep = SheetLine(key="deep", label="deep", text=lambda: "one\n" * 200 + "needle\nend")
    named = SheetLine(key="named", label="the needle", text=lambda: "nothing here")
    page = TreePage("tree", [SheetLine(key="a/b", label="above", children=(deep,)), named], flipped=set())
    (first, second), words = _gone_to("needle", page, 1)
    assert words == "2 of 2"
    assert first is not None
    assert second is not None
    assert (first.path, second.path) == (("/a/b", "/a/b/deep"), ("/named",))
    line = page.reveal(first)
    assert "".join(text for text, _ in page.draw(line)).strip() == "needle"
    assert page.reveal(first) == line
    assert "the needle" in "".join(text for text, _ in page.draw(page.reveal(second)))
    assert len(page) == 3 + 202


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
        assert "description  Multiply two numbers." in app.text  # what hides the place is open
        await pilot.press("2", "slash", "up", *["backspace"] * 7, *"math", "enter")
        await until(pilot, lambda: "1 of 2: math" in app.text)
        assert detail.current_source[1] == "math"
        await pilot.press("N")
        await until(pilot, lambda: "2 of 2" in app.text)
        await pilot.press("n")
        await until(pilot, lambda: "1 of 2" in app.text)
        await pilot.press("slash", *"nowhere", "enter")
        await until(pilot, lambda: "not on this page: nowhere" in app.text)
        await pilot.press("escape")
        await until(pilot, lambda: "nowhere" not in app.text)
        assert detail.view.has_focus
        assert not app.inspector.query(SearchInput)
        assert app.escapes == 0
