"""What is selected in the chat: the source of what is seen, by keys too, and it stays on its text."""

from __future__ import annotations

from tests.tui.selecting import ANSWER, Chat, a_chat, drag, in_chat, marked, row_of, selected, settled
from tests.tui.waiting import at_work
from tui_host.chat.conversation import AnswerItem, Conversation, UserItem


async def test_a_drag_selects_the_source_of_what_it_passes_over() -> None:
    async with in_chat(a_chat(), (60, 30)) as (view, pilot):
        x, y = row_of(view, "bold words")
        await drag(pilot, view, (x, y), (x + 3, y))
        assert (selected(view), marked(view)) == ("bold", "bold")
        await drag(pilot, view, (x, y), (x + 9, y))
        assert selected(view) == "**bold words**"
        await drag(pilot, view, (x + 5, y), (x + 14, y))
        assert selected(view) == "**words** and "
        to_x, to_y = row_of(view, "first item")
        await drag(pilot, view, (x + 5, y), (to_x + 4, to_y))
        assert selected(view) == "**words** and a [link](https://e.example/) here.\n\n- first"
        await drag(pilot, view, (to_x + 4, to_y), (x + 5, y))
        assert selected(view) == "**words** and a [link](https://e.example/) here.\n\n- first"


async def test_code_comes_without_its_fence_and_with_it_where_more_is_selected() -> None:
    async with in_chat(a_chat()) as (view, pilot):
        code, end = row_of(view, "def f"), row_of(view, "return x")
        await drag(pilot, view, code, (end[0] + 7, end[1]))
        assert selected(view) == "def f(x):\n    return x"
        last = row_of(view, "The end")
        await drag(pilot, view, end, (last[0] + 6, last[1]))
        assert selected(view).startswith("```python\nreturn x\n```\n\n| a | b |")
        await drag(pilot, view, row_of(view, "Some"), (code[0] + 2, code[1]))
        assert selected(view).endswith("```python\ndef\n```")


async def test_a_cell_is_copied_alone_and_several_as_rows() -> None:
    async with in_chat(a_chat()) as (view, pilot):
        x, y = row_of(view, "中文")
        await drag(pilot, view, (x, y), (x + 3, y))
        assert (selected(view), marked(view)) == ("中文", "中文")
        await drag(pilot, view, (x, y), (1, y))
        assert selected(view) == "| 1 | 中文 |"
        await drag(pilot, view, row_of(view, "a │ b"), (x + 3, y))
        assert selected(view) == "| a | b |\n|---|---|\n| 1 | 中文 |"


async def test_items_are_copied_with_an_empty_line_between() -> None:
    async with in_chat(a_chat()) as (view, pilot):
        x, y = row_of(view, "what is it")
        end, last = row_of(view, "sum")
        await drag(pilot, view, (x + 5, y), (end + 2, last))
        assert selected(view) == 'is it?\n\nmath.add {"a":1}\n30\n\n## The *sum*'


async def test_a_selection_stays_on_its_text_while_more_comes_and_the_width_changes() -> None:
    conversation = Conversation()
    conversation.add(UserItem(turn=1, text="q"))
    text = "one two three\n\n- four **five six** seven"
    conversation.add(AnswerItem(turn=1, step=1, text=text, state="streaming"))
    async with in_chat(conversation, (60, 12)) as (view, pilot):
        x, y = row_of(view, "five")
        await drag(pilot, view, row_of(view, "two"), (x + 3, y))
        before = selected(view)
        assert before == "two three\n\n- four **five**"
        for more in range(30):
            text += f" word{more}\n\nparagraph {more}"
            conversation.put(1, AnswerItem(turn=1, step=1, text=text, state="streaming"))
            view.sync()
        await settled(pilot, view)
        assert selected(view) == before
        await pilot.resize_terminal(20, 12)
        await settled(pilot, view)
        assert selected(view) == before
        view.scroll_to(y=0, animate=False)
        await settled(pilot, view)
        assert marked(view) == "two three|four five"


async def test_keys_select_from_the_current_item_on() -> None:
    async with at_work(Chat(a_chat()), (60, 40)) as (app, pilot):
        view = app.view
        view.focus()
        await settled(pilot, view)
        view.current = 2
        for _ in range(5):
            await pilot.press("shift+right")
        assert (selected(view), marked(view)) == ("The *s*", "The s")
        await pilot.press("shift+down")
        assert selected(view) == "## The *sum* of it\n\nSome "
        await pilot.press("shift+left", "shift+left")
        assert selected(view) == "## The *sum* of it\n\nSom"
        await pilot.press("shift+end")
        assert selected(view) == ANSWER
        await pilot.press("shift+up")
        assert selected(view) == ANSWER.removesuffix("\n\nThe end.")
        await pilot.press("shift+home")
        assert selected(view).startswith("what is it?\n\nmath.add")
        await pilot.press("escape")
        assert selected(view) == ""
        assert view.current == 2


async def test_c_copies_the_blocks_of_code_one_after_the_other() -> None:
    async with at_work(
        Chat(a_chat("One\n\n```sh\nls\n```\n\n- in a list\n\n  ```\n  a\n    b\n  ```\n")), (60, 40)
    ) as (app, pilot):
        app.view.focus()
        await settled(pilot, app.view)
        await pilot.press("c", "c", "c")
        first = ("code 1 of 2 (sh)", "ls")
        assert app.copied == [first, ("code 2 of 2", "a\n  b"), first]
        assert "c copies" not in app.view.render_line(row_of(app.view, "sh")[1]).text
        app.view.current = 2
        assert "c copies" in app.view.render_line(row_of(app.view, "sh")[1]).text
        app.view.current = 0
        await pilot.press("c")
        assert len(app.copied) == 3, "the current item has no code"


async def test_o_moves_the_other_end() -> None:
    async with at_work(Chat(a_chat()), (60, 40)) as (app, pilot):
        view = app.view
        view.focus()
        await settled(pilot, view)
        view.current = 2
        await pilot.press("o")
        assert selected(view) == ""
        await pilot.press("shift+down", *["shift+right"] * 4, "o", *["shift+right"] * 4)
        assert (selected(view), marked(view)) == ("*sum* of it\n\nSome", "sum of it|Some")
