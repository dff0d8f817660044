"""The mouse selects in the chat: drags, several presses, the edges."""

from __future__ import annotations

from textual import events

from tests.tui.selecting import a_chat, drag, in_chat, marked, row_of, selected, settled
from tests.tui.waiting import until
from tui_host.chat.conversation import AnswerItem, Conversation
from tui_host.tui.widgets.lines.line_selection import SelectingView


async def test_a_plain_click_selects_nothing_and_does_what_it_did() -> None:
    async with in_chat(a_chat()) as (view, pilot):
        await drag(pilot, view, row_of(view, "bold"), row_of(view, "first"))
        assert selected(view)
        await pilot.click(view, offset=row_of(view, "math.add"))
        await settled(pilot, view)
        assert (selected(view), view.current) == ("", 1)
        assert "arguments" in "".join(view.render_line(y).text for y in range(view.view_height))


async def test_two_presses_take_a_word_and_three_a_paragraph() -> None:
    async with in_chat(a_chat()) as (view, pilot):
        x, y = row_of(view, "words and")
        await pilot.click(view, offset=(x + 1, y), times=2)
        assert (selected(view), marked(view)) == ("words", "words")
        await pilot.click(view, offset=row_of(view, "link"), times=2)
        assert selected(view) == "[link](https://e.example/)"
        await pilot.click(view, offset=row_of(view, "sum of"), times=3)
        assert (selected(view), marked(view)) == ("## The *sum* of it", "The sum of it")
        x, y = row_of(view, "return x")
        await pilot.click(view, offset=(x, y), times=3)
        assert selected(view) == "    return x", "a line of code"


async def test_shift_and_a_click_extends() -> None:
    async with in_chat(a_chat()) as (view, pilot):
        x, y = row_of(view, "Some bold")
        await drag(pilot, view, (x, y), (x + 3, y))
        x, y = row_of(view, "second")
        await pilot.click(view, offset=(x + 5, y), shift=True)
        assert selected(view).startswith("Some **bold")
        assert selected(view).endswith("\n- second")
        assert view.current is None


async def test_a_drag_beyond_the_edge_scrolls_and_goes_on() -> None:
    async with in_chat(a_chat("\n\n".join(f"line {number}" for number in range(100))), (40, 12)) as (view, pilot):
        view.scroll_to(y=20, animate=False)
        await settled(pilot, view)
        start = next((1, y) for y in range(12) if "line" in view.render_line(y).text)
        top = view.top
        await pilot.mouse_down(view, offset=start)
        view.on_mouse_move(moved(view, 5, 14))
        await until(pilot, lambda: view.top > top + 12)
        view.on_mouse_move(moved(view, 39, 8))
        await pilot.mouse_up(view, offset=(39, 8))
        lines = selected(view).split("\n\n")
        assert len(lines) > 8
        assert lines == [f"line {number}" for number in range(int(lines[0][5:]), int(lines[0][5:]) + len(lines))]
        stopped = view.top
        await settled(pilot, view)
        assert view.top == stopped, "it scrolls no longer"


def moved(view: SelectingView, x: int, y: int) -> events.MouseMove:
    """A move of the pointer that may be outside of the view."""
    return events.MouseMove(view, x, y, 0, 0, 1, shift=False, meta=False, ctrl=False, screen_x=x, screen_y=y)


async def test_nothing_moves_under_the_pointer_while_it_selects() -> None:
    text = "\n\n".join(f"line {number}" for number in range(30))
    conversation = Conversation()
    conversation.add(AnswerItem(turn=1, step=1, text=text, state="streaming"))
    async with in_chat(conversation, (40, 12)) as (view, pilot):
        x, y = row_of(view, "line 28")
        await pilot.mouse_down(view, offset=(x, y))
        await pilot.hover(view, offset=(x + 3, y))
        before = [view.render_line(each).text for each in range(12)]
        conversation.put(0, AnswerItem(turn=1, step=1, text=text + "\n\nmore\n\nand more", state="streaming"))
        await settled(pilot, view)
        assert [view.render_line(each).text for each in range(11)] == before[:11]
        await pilot.mouse_up(view, offset=(x + 3, y))
        assert selected(view) == "line"
