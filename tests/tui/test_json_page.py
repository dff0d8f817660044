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
from tui_host.tui.widgets.pages.detail_page import Match, Page
from tui_host.tui.widgets.pages.json_page import JsonPage
from tui_host.tui.widgets.pages.page_search import PageSearch
from tui_host.tui.widgets.pages.text_page import TextPage
from tui_host.tui.widgets.pages.tree_page import TreePage
from tui_host.tui.widgets.pages.value_pages import decoded, path_at

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


def opened(page: Page, *words: str) -> Sequence[str]:
    for part in words:
        assert page.toggle(at(page, part)) is not None
    return [line.strip() for line in lines(page)]


def test_containers_fold_to_a_line_that_counts_them_and_unfold_where_they_were() -> None:
    page = made(JsonPage("body", TEXT))
    before = lines(page)
    assert opened(page, '"calls"')[9:12] == ['"calls": [ … 1 element, 86 bytes ]', "}", "],"]
    assert opened(page, '"messages"')[2] == '"messages": [ … 2 elements, 168 bytes ],'
    assert opened(page, '"k"', '"a b"')[4] == '"a b": [ … 3 elements, 21 bytes ],'
    assert opened(page, '"a b"')[7] == '"k": [ … 2 elements, 6 bytes ]', "what is inside stays folded"
    assert opened(page, '"k"', '"messages"', '"calls"') == [line.strip() for line in before]
    opened(page, '"messages"', '"a b"')
    line = page.reveal(Match(TEXT.index("one"), TEXT.index("two")))
    assert '"content"' in lines(page)[line], "a search opens what hides its place"
    assert at(page, '"a b": [ … 3 elements'), "and nothing else"
    opened(page, '"a b"')
    assert page.toggle(len(page) - 1) == 0, "the closing mark folds too"
    assert lines(page) == [f"{{ … 3 members, {len(TEXT.encode())} bytes }}"]
    assert page.toggle(at(made(JsonPage("", TEXT)), '"model"')) is None


def test_a_string_opens_as_text_or_as_the_json_that_it_holds() -> None:
    page = made(JsonPage("body", TEXT))
    assert opened(page, '"content"')[5:8] == ['"content": "one\\ntwo 中文"  text of 10 characters', "one", "two 中文"]
    shown = opened(page, '"arguments"')
    place = at(page, '"arguments"')
    assert shown[place].endswith("JSON in a string")
    assert shown[place + 1 : place + 4] == ["{", '"city": "Paris",', '"a b": [']
    assert opened(page, '"a b"')[place + 3] == '"a b": [ … 2 elements, 17 bytes ]'
    assert opened(page, '"city"') == opened(made(JsonPage("body", TEXT)), '"content"'), "a line without more closes it"


def test_every_line_has_its_path_also_inside_of_strings() -> None:
    page = made(JsonPage("body", TEXT))
    opened(page, '"arguments"')
    paths = [page.path(number) for number in range(len(page))]
    assert paths[0] == paths[-1] == "."
    assert page.path(at(page, '"content"')) == "messages[0].content"
    assert page.path(at(page, '"name"')) == "messages[1].calls[0].name"
    assert page.path(at(page, '"city"')) == f"{CALL} | fromjson | .city"
    assert page.path(at(page, '"x"')) == f'{CALL} | fromjson | .["a b"][1].x'
    assert paths[-5:-2] == ['数据["a b"][2]', '数据["a b"]', "数据.empty"]
    assert page.path(at(page, "4")) == '数据["a b"][2]'
    body = TEXT.encode()
    assert path_at(body, body.index(b'"one')) == "messages[0].content"
    assert path_at(body, body.index(b'{"k"')) == '数据["a b"][1]'
    assert path_at(b"no JSON", 3) == ""


def test_the_bytes_of_a_value_stand_below_it_then_in_hex_then_no_longer() -> None:
    text = '{"a": {"b" :  "\\u4e2d\\n"}\n, "c": "中"}'
    page = made(JsonPage("body", text))
    assert page.show_bytes(1) == 1
    assert [line.strip() for line in lines(page)][1:3] == [
        '"a": { … 1 member, 19 bytes, raw }␊,',
        '{"b" :  "\\u4e2d\\n"}',
    ]
    assert (page.show_bytes(2), len(page)) == (1, 7)
    assert lines(page)[2].strip() == '00000000  7b 22 62 22 20 3a 20 20  {"b" :'
    assert (page.show_bytes(1), len(page)) == (1, len(made(JsonPage("body", text))))
    assert page.show_bytes(at(page, '"c"')) is not None
    page.show_bytes(at(page, '"c"'))
    assert "22 e4 b8 ad 22" in lines(page)[-2]


def test_folds_survive_another_width_and_a_page_that_has_grown() -> None:
    page = made(JsonPage("body", TEXT))
    opened(page, '"a b"', '"arguments"', '"city"', '"arguments"', '"x"')
    shown = [line.strip() for line in lines(page)]
    assert [line.strip() for line in lines(made(made(page, 30), 70))] == shown
    assert all(cell_len(line) <= 20 for line in lines(made(page, 20)))
    grown = JsonPage("body", TEXT + "\n{}")
    grown.keep(page)
    assert [line.strip() for line in lines(made(grown))] == [*shown, "{}"]
    another = JsonPage("body", json.dumps([12345, "text", [1]] * 9))
    unfolded = lines(made(another))
    another.keep(grown)
    assert lines(made(another)) == unfolded, "what is open in one text is closed in another"


def test_what_is_cut_off_folds_as_far_as_it_goes() -> None:
    page = made(JsonPage("body", '{"a": [1, {"b": 2}, {"c": "text\\nand'))
    assert opened(page, '"a"')[1:] == ['"a": [ … 3 elements, 30 bytes, not closed']
    assert opened(page, '"a"', '"c"')[-2:] == ["text", "and"]
    assert decoded('"cut in an escape \\ud83d\\ude') == "cut in an escape \ud83d"


@given(
    st.recursive(st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)),
    st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=8),
    st.integers(8, 60),
)
def test_whatever_is_pressed_lines_fit_and_places_agree(
    value: object, presses: Sequence[tuple[int, bool]], width: int
) -> None:
    page = made(JsonPage("body", json.dumps(value)), width)
    whole = lines(page)
    for number, folds in presses:
        line = page.toggle(number % len(page)) if folds else page.show_bytes(number % len(page))
        assert line is None or 0 <= line < len(page)
        assert all(cell_len(line) <= width for line in lines(page))
        assert all(page.line_at(page.place_of(number)) <= number for number in range(len(page)))
        assert [page.path(number) for number in range(len(page))]
    again = JsonPage("body", json.dumps(value))
    assert lines(made(again, width)) == whole


def test_a_tree_folds_its_texts_and_leads_paths_through_the_body() -> None:
    place = BodyPlace("messages[1].calls[0]", b'{"name": "f\xff"}', is_decoded=False)
    string = BodyPlace("messages[0].content", json.dumps(ARGUMENTS).encode(), is_decoded=True)
    entries = [
        SheetLine(key="a", label="call", text=lambda: '{"name": {"x": 1}, "b": [2]}', place=lambda: place, opened=True),
        SheetLine(key="b", label="text", text=lambda: ARGUMENTS, place=lambda: string),
    ]
    page = TreePage("parts", entries, flipped=set())
    made(page)
    assert [line.strip() for line in opened(page, '"name"')] == [
        "▾ call",
        "{",
        '"name": { … 1 member, 8 bytes },',
        '"b": [',
        "2",
        "]",
        "}",
        "▸ text",
    ]
    assert page.path(2) == "messages[1].calls[0].name"
    again = TreePage("parts", entries, flipped=set())
    again.keep(page)
    made(again, 60)
    assert [line.strip() for line in lines(again)][2] == '"name": { … 1 member, 8 bytes },'
    assert page.toggle(4) == 0, "a number does not fold: its entry closes"
    assert opened(page, "text")[1:4] == ["▾ text", "{", '"city": "Paris",']
    assert page.path(3) == "messages[0].content | fromjson | .city"
    assert (page.show_bytes(1), lines(page)[2].strip()) == (1, json.dumps(ARGUMENTS))
    assert page.show_bytes(1) == 1
    assert lines(page)[2].strip().startswith("00000000  22 7b 5c")
    assert (page.show_bytes(2), len(page)) == (1, 2)
    assert page.show_bytes(0) == 0
    assert lines(page)[1].strip().startswith("00000000  7b 22 6e"), "no text, so hex at once"


async def test_what_is_selected_comes_as_it_stands_whatever_is_folded() -> None:
    async with at_work(Reading(JsonPage("body", TEXT)), (60, 30)) as (app, pilot):
        view = app.view
        await until(pilot, lambda: "empty" in "".join(view.render_line(y).text for y in range(30)))
        for words in ('"messages"', '"messages"', '"content"', '"calls"'):
            view.move_cursor(row_of(view, words)[1])
            await pilot.press("enter")
        await until(pilot, lambda: "text of" in view.render_line(5).text)
        assert view.cursor == row_of(view, '"calls"')[1]
        x, y = row_of(view, "  two 中文")
        await pilot.click(view, offset=(x + 3, y), times=2)
        assert (selected(view), view.current_source[0]) == ("two", "part of body")
        await drag(pilot, view, row_of(view, '"content"'), row_of(view, '"calls"'))
        assert selected(view).startswith('"content": "one\\n')
        await pilot.press("escape")
        assert view.current_source == ("body", TEXT)


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
