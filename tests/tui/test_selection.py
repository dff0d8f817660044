"""What is selected in the chat and in the inspector: the source of what is seen, by the mouse."""

from textual import events
from textual.app import App, ComposeResult
from typing_extensions import override

from tests.tui.inspector_wires import Looking, a_session, a_turn
from tests.tui.selecting import ANSWER, a_chat, drag, in_chat, marked, row_of, screen, selected, settled
from tests.tui.waiting import at_work, until
from tui_host.answers.sheet import Sheet, SheetLine
from tui_host.chat.conversation import AnswerItem, Conversation, UserItem
from tui_host.tui.widgets.pages.page_lines import PageLines
from tui_host.tui.widgets.pages.text_page import TextPage
from tui_host.tui.widgets.pages.tree_page import Page, TreePage


async def test_a_drag_selects_what_it_passes_over_whole_blocks_as_markdown() -> None:
    async with in_chat(a_chat()) as (view, pilot):
        x, y = row_of(view, "bold words")
        await drag(pilot, view, (x, y), (x + 3, y))
        assert (selected(view), marked(view)) == ("bold", "bold")
        to_x, to_y = row_of(view, "first item")
        for start, end in (((x + 5, y), (to_x + 4, to_y)), ((to_x + 4, to_y), (x + 5, y))):
            await drag(pilot, view, start, end)
            assert selected(view) == "words and a link (https://e.example/) here.\n\nfirst"
        # Code comes without its fence, and with it where more is selected.
        code, end, last = (row_of(view, words) for words in ("def f", "return x", "The end"))
        await drag(pilot, view, code, (end[0] + 7, end[1]))
        assert selected(view) == "def f(x):\n    return x"
        await drag(pilot, view, row_of(view, "Some"), (last[0] + 2, last[1]))
        assert selected(view) == ANSWER[ANSWER.index("Some") : -5]
        await drag(pilot, view, row_of(view, "what is it"), (last[0] + 9, last[1]))
        assert selected(view).startswith("what is it?\n\nmath.multiply")
        assert selected(view).endswith(ANSWER)
        # Shift and a click extend; a plain click selects nothing, and does what it does.
        await drag(pilot, view, (x, y), (x + 3, y))
        await pilot.click(view, offset=row_of(view, "The end"), shift=True)
        assert selected(view).endswith("| 1 | 中文 |\n\nT")
        assert view.current is None
        await pilot.click(view, offset=row_of(view, "math.multiply"))
        await settled(pilot, view)
        assert (selected(view), view.current) == ("", 1)
        x, y = row_of(view, "words and")
        await pilot.click(view, offset=(x + 1, y), times=2)
        assert (selected(view), marked(view)) == ("words", "words"), "two presses take a word"
        await pilot.press("escape")
        assert selected(view) == ""


async def test_a_selection_stays_on_its_text_while_more_comes_and_the_width_changes() -> None:
    conversation = Conversation()
    conversation.add(UserItem(turn=1, text="q"))
    text = "one two three\n\n- four **five six** seven"
    conversation.add(AnswerItem(turn=1, step=1, text=text, state="streaming"))
    async with in_chat(conversation, (60, 12)) as (view, pilot):
        x, y = row_of(view, "five")
        await drag(pilot, view, row_of(view, "two"), (x + 3, y))
        assert selected(view).split() == ["two", "three", "four", "five"]
        for more in range(30):
            text += f" word{more}\n\nparagraph {more}"
            conversation.put(1, AnswerItem(turn=1, step=1, text=text, state="streaming"))
            view.sync()
        await settled(pilot, view)
        assert selected(view) == "two three\n\nfour five"
        await pilot.resize_terminal(20, 12)
        await settled(pilot, view)
        assert selected(view) == "two three\n\nfour five"
        view.scroll_to(y=0, animate=False)
        await settled(pilot, view)
        assert marked(view) == "two three|four five"


async def test_a_drag_beyond_the_edge_scrolls_and_goes_on() -> None:
    async with in_chat(a_chat("\n\n".join(f"line {number}" for number in range(100))), (40, 12)) as (view, pilot):
        view.scroll_to(y=20, animate=False)
        await settled(pilot, view)
        start = next((1, y) for y, text in enumerate(screen(view)) if "line" in text)

        def pointer(x: int, y: int) -> events.MouseMove:  # it may be outside of the view
            return events.MouseMove(view, x, y, 0, 0, 1, shift=False, meta=False, ctrl=False, screen_x=x, screen_y=y)

        top = view.scroll_offset.y
        await pilot.mouse_down(view, offset=start)
        view.on_mouse_move(pointer(5, 14))
        await until(pilot, lambda: view.scroll_offset.y > top + 12)
        view.on_mouse_move(pointer(39, 8))
        await pilot.mouse_up(view, offset=(39, 8))
        lines = selected(view).split("\n\n")
        assert lines == [f"line {number}" for number in range(int(lines[0][5:]), int(lines[0][5:]) + len(lines))]


class Reading(App[None]):
    def __init__(self, page: Page) -> None:
        super().__init__()
        self.view = PageLines()
        self.page = page

    @override
    def compose(self) -> ComposeResult:
        yield self.view

    def on_mount(self) -> None:
        self.view.focus()
        self.call_after_refresh(self.view.show, self.page)
        self.set_interval(0.05, self.view.advance)  # what found no time at once, as the inspector does


JSON_TEXT = '{"name": "multiply","arguments":{"a":6,"text":"a long text that has no room on one line"},"n":1.50}'


async def test_from_a_detail_comes_the_text_as_it_is_whatever_the_lines_are_and_a_tree_by_lines() -> None:
    async with at_work(Reading(TextPage("request body", JSON_TEXT, form="json")), (40, 20)) as (app, pilot):
        view = app.view
        await until(pilot, lambda: "arguments" in "".join(screen(view)))
        end, last = row_of(view, '"n"')
        await drag(pilot, view, row_of(view, '"arguments"'), (end + 7, last))
        part = JSON_TEXT[JSON_TEXT.index('"arg') : -2]
        assert view.current_source() == ("part of request body", part)
        assert marked(view).startswith('"arguments": {|"a": 6,|"text": "a long')
        assert marked(view).endswith('|},|"n": 1.5')
        await pilot.resize_terminal(24, 20)
        await until(pilot, lambda: view.size.width <= 24)
        assert selected(view) == part
        await pilot.click(view, offset=row_of(view, "multiply"), times=2)
        assert selected(view) == "multiply"
        await pilot.press("escape")
        assert view.current_source() == ("name", '"multiply"'), "the value that is current"
        await pilot.resize_terminal(40, 20)
        view.show(TextPage("body", "event: x\ndata: 中文\x1b[2J and \u202emore\n\ndata: end"))
        await until(pilot, lambda: "data: 中文" in "".join(screen(view)) and view.size.width > 24)
        _, y = row_of(view, "data: 中文")
        await drag(pilot, view, (8, y), (14, y))
        assert (selected(view), marked(view)) == ("文\x1b[2J ", "文␛[2J ")
        entries = [
            SheetLine(key="a", label="model", figures=("8",)),
            SheetLine(key="b", label="tools", text=lambda: '{"x":1,"y":[2]}', opened=True),
            SheetLine(key="c", label="end"),
        ]
        view.show(TreePage(Sheet(what="parts", lines=entries), set()))
        await until(pilot, lambda: "tools" in "".join(screen(view)))
        await drag(pilot, view, row_of(view, "model"), row_of(view, "end"))
        assert view.current_source() == ("part of parts", 'model  8\ntools\n{"x":1,"y":[2]}\nend')
        await drag(pilot, view, row_of(view, '"x"'), row_of(view, '"y"'))
        assert selected(view) == '"x":1,"y":['
        view.move_cursor(row_of(view, "end")[1])
        entries.insert(0, SheetLine(key="new", label="above"))
        view.show(TreePage(Sheet(what="parts", lines=entries), set()), hold=True)
        assert view.cursor is not None
        assert "end" in view.draw(view.cursor).text
        view.move_cursor(row_of(view, '"x"')[1])
        await pilot.press("enter")  # the text has all of the view, while its tree grows behind it
        await until(pilot, lambda: "escape: back" in screen(view)[0])
        entries.insert(0, SheetLine(key="newer", label="above that"))
        view.show(TreePage(Sheet(what="parts", lines=entries), set()), hold=True)
        await pilot.press("escape")
        await until(pilot, lambda: "above that" in "".join(screen(view)))
        assert '"x"' in view.draw(view.cursor).text


async def test_rows_of_the_list_are_copied_as_lines_and_stay_selected() -> None:
    async with at_work(Looking(a_session()), (100, 34)) as (app, pilot):
        ladder = app.inspector.ladder
        await until(pilot, lambda: "follows new rows" in app.text)
        before = ladder.selected_number
        await drag(pilot, ladder, row_of(ladder, "#4 tools/call"), row_of(ladder, "#4 result"))
        what, text = app.inspector.current_source()
        assert (what, ladder.selected_number) == ("2 lines of the list", before)
        assert "#4 tools/call" in text.split("\n")[0]
        assert "#4 result" in text.split("\n")[1]
        a_turn(app.wires, 10.0)
        await until(pilot, lambda: "6 new rows below" in app.text)
        assert app.inspector.current_source()[1] == text
        await pilot.press("escape")
        assert ladder.selected_source() is None
