"""Searching a page of the details: places in texts and trees, gone through one by one."""

from __future__ import annotations

from tests.tui.inspecting import Inspecting, a_session
from tests.tui.waiting import at_work, until
from tui_host.answers.sheet import SheetLine
from tui_host.tui.widgets.details.search_input import SearchInput
from tui_host.tui.widgets.pages.detail_page import Match, Page
from tui_host.tui.widgets.pages.page_search import PageSearch
from tui_host.tui.widgets.pages.text_page import TextPage
from tui_host.tui.widgets.pages.tree_page import TreePage

LONG = 10.0


def _gone_to(text: str, page: Page, *steps: int) -> tuple[list[Match | None], str]:
    """The places gone to, the first and one for each step, and the words at the end."""
    page.fit(60)
    page.advance(LONG)
    search = PageSearch(text, page)
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
