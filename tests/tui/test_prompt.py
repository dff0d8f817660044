"""The prompt: what sends, what never does, what is kept."""

from __future__ import annotations

import time

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.widgets import Static
from typing_extensions import override

from tui_host.tui.widgets.prompt import Prompt
from tui_host.tui.widgets.prompt_completion import Completion

COMMANDS = (("help", "every key"), ("model", "choose the model"), ("models", "list them"), ("new", "a new session"))


class Writing(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.prompt = Prompt(commands=COMMANDS, history=["first", "second\nof two lines"])
        self.sent: list[str] = []
        self.commands: list[tuple[str, str]] = []

    @override
    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static("above")
            yield self.prompt
            yield Static("below", id="below")

    def on_mount(self) -> None:
        self.prompt.focus()

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        self.sent.append(message.text)

    def on_prompt_command(self, message: Prompt.Command) -> None:
        self.commands.append((message.name, message.arguments))


async def test_enter_sends_and_an_empty_prompt_sends_nothing() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await pilot.press("enter", "h", "i", "enter", "space", "enter")
        await pilot.pause()
        assert app.sent == ["hi"]


@pytest.mark.parametrize("key", ["ctrl+j", "shift+enter", "shift+\r"])
async def test_new_lines_send_nothing(key: str) -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await pilot.press("a")
        app.prompt.post_message(events.Key(key, None))
        await pilot.press("b", "enter")
        await pilot.pause()
        assert app.sent == ["a\nb"]


async def test_it_grows_from_one_line_to_eight() -> None:
    app = Writing()
    async with app.run_test(size=(40, 24)) as pilot:
        await pilot.pause()
        assert app.prompt.outer_size.height == 3
        await pilot.press(*["ctrl+j"] * 3)
        await pilot.pause()
        assert app.prompt.outer_size.height == 6
        await pilot.press(*["ctrl+j"] * 20)
        await pilot.pause()
        assert app.prompt.outer_size.height == 10


async def test_a_paste_of_200_lines_is_one_message_and_sends_nothing() -> None:
    app = Writing()
    lines = "\r\n".join(f"line {number}" for number in range(200))
    async with app.run_test() as pilot:
        app.prompt.post_message(events.Paste(lines + "\n"))
        await pilot.pause()
        assert app.sent == []
        await pilot.press("enter")
        await pilot.pause()
        assert app.sent == ["\n".join(f"line {number}" for number in range(200))]


async def test_a_huge_paste_is_folded_until_it_is_sent() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        begun = time.perf_counter()
        app.prompt.post_message(events.Paste("x" * 2_000_000))
        await pilot.pause()
        assert app.prompt.text == "[pasted 2,000,000 characters, 1]"
        await pilot.press("!", "enter")
        await pilot.pause()
        assert app.sent == ["x" * 2_000_000 + "!"]
        assert time.perf_counter() - begun < 5


async def test_what_is_pasted_cannot_act_on_the_terminal() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        app.prompt.post_message(events.Paste("a\x1b[2J\x9b2J\u202e"))
        await pilot.pause()
        assert app.prompt.text == "a␛[2J⟨9b⟩2J⟨202e⟩"


async def test_up_and_down_walk_through_the_history_and_the_draft_is_kept() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await pilot.press("d", "r", "a", "f", "t", "up")
        assert app.prompt.text == "second\nof two lines"
        await pilot.press("up")
        assert app.prompt.text == "first"
        await pilot.press("up", "down")
        assert app.prompt.text == "second\nof two lines"
        await pilot.press("down")
        assert app.prompt.text == "draft"
        await pilot.press("enter", "up")
        await pilot.pause()
        assert app.prompt.text == "draft"


async def test_up_within_several_lines_only_moves() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await pilot.press("a", "ctrl+j", "b", "up")
        assert (app.prompt.text, app.prompt.cursor_location[0]) == ("a\nb", 0)


async def test_commands_complete_and_carry_what_stands_after_them() -> None:
    app = Writing()
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("/", "m")
        await pilot.pause()
        completion = app.query_one(Completion)
        assert [completion.render_line(y).text.split()[:2] for y in range(2)] == [[">", "/model"], ["/models", "list"]]
        await pilot.press("down", "tab", "x", "enter")
        await pilot.pause()
        assert not completion.is_open
        await pilot.press("/", "n", "enter", "enter")
        await pilot.pause()
        assert app.commands == [("models", "x"), ("new", "")]
        assert app.sent == []
        assert app.prompt.text == ""


async def test_escape_closes_the_list_and_a_name_typed_whole_needs_no_second_enter() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await pilot.press("/", "m")
        await pilot.pause()
        await pilot.press("escape")
        assert not app.query_one(Completion).is_open
        assert app.prompt.text == "/m"
        await pilot.press("o", "d", "e", "l", "enter")
        await pilot.pause()
        assert app.commands == [("model", "")]


async def test_a_path_is_no_command_and_a_mistyped_one_stays_to_be_corrected() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        app.prompt.text = "/usr/bin is a folder"
        await pilot.press("enter")
        app.prompt.text = "/nope"
        await pilot.press("enter")
        await pilot.pause()
        assert app.sent == ["/usr/bin is a folder"]
        assert app.commands == [("nope", "")]
        assert app.prompt.text == "/nope"


async def test_one_key_sends_a_question_while_the_prompt_is_empty() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        app.prompt.quick = {"1": "what is 6 × 5?"}
        await pilot.press("1", "a", "1", "enter")
        await pilot.pause()
        assert app.sent == ["what is 6 × 5?", "a1"]


async def test_a_question_mark_in_an_empty_prompt_is_help() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await pilot.press("?", "a", "?", "enter")
        await pilot.pause()
        assert app.commands == [("help", "")]
        assert app.sent == ["a?"]


async def test_tab_leaves_and_the_draft_stays_when_it_is_disabled() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await pilot.press("d")
        app.prompt.disabled = True
        await pilot.pause()
        await pilot.press("x")
        app.prompt.disabled = False
        app.prompt.focus()
        await pilot.press("!")
        assert app.prompt.text == "d!"


async def test_the_terminals_cursor_stands_at_the_caret() -> None:
    app = Writing()
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.press("中", "a")
        await pilot.pause()
        assert app.cursor_position == app.prompt.cursor_screen_offset
        assert app.cursor_position.x == app.prompt.content_region.x + 3


async def test_the_placeholder_is_shown_while_it_is_empty() -> None:
    app = Writing()
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        assert "Ask anything.  / commands" in app.prompt.render_line(0).text
        await pilot.press("a")
        await pilot.pause()
        assert "Ask anything" not in app.prompt.render_line(0).text
