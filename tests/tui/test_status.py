"""The status line, always there: what the program does, the context used of the model's window, tokens, money, tokens a second."""

import re
from pathlib import Path

import pytest

from tests.kit.app import NARROW, OFF, USUAL, WIDE, fast, running
from tests.kit.bodies import Answer, Usage, says
from tests.kit.peer import peer_in_thread
from tui_host.chat.conversation import AnswerItem
from tui_host.llm.dialects.table import dialect
from tui_host.settings.schema import ModelRef
from tui_host.tui.widgets import status_lines as status

FIRST, SECOND = Usage(input=11_000, output=1_000), Usage(input=14_500, output=100)


async def test_context_tokens_and_money_stay_on_the_status_line_and_come_back_with_the_session(tmp_path: Path) -> None:
    with peer_in_thread(*[says("openai", Answer("hi", usage=usage)) for usage in (FIRST, SECOND)]) as there:
        config = f"""model = "mine/big"
[providers.mine]
base_url = "{there.url}"
context = {{ big = 16000 }}
prices = {{ big = {{ input = 2, output = 8 }} }}
{OFF}"""
        async with running(tmp_path, config=config) as app:
            assert "idle" in app.lines[-2]
            await app.ask("hello")
            await app.until(lambda: re.fullmatch(r" idle +context 12k of 16k · 11k→1.0k tok · 0.03 *", app.lines[-2]))
            await app.ask("again")
            await app.until_shown("idle", "context 15k of 16k · 26k→1.1k tok · 0.0598")
        async with running(tmp_path, config=config, size=USUAL) as app:
            assert "tok" not in app.lines[-2]
            await app.reach("f5", "hello")
            await app.reach("enter", "again", "idle")
            await app.until(lambda: app.lines[-2].rstrip().endswith("15k of 16k · 26k→1.1k tok · 0.0598"))
            app.session.model = ModelRef(provider="mine", model="unknown")
            await app.pilot.resize_terminal(*NARROW)
            await app.until(lambda: app.lines[-2].rstrip().endswith("context 15k · 26k→1.1k tok · 0.0598"))
            app.session.wait_for("model", "a name of a model that is much longer than the line has room for")
            await app.until(lambda: re.search(r"waiting for a .*…  context 15k · ", app.lines[-2]))
            app.session.wait_for("")


async def test_an_answer_tells_its_tokens_a_second_while_it_is_written(tmp_path: Path) -> None:
    async with running(tmp_path, config=OFF, size=WIDE) as app:
        now = app.session.clock()
        app.session.clock = lambda: now + 2
        app.session.conversation.add(AnswerItem(turn=1, step=1, text="four" * 60, thinking="hm, " * 20))
        app.session.activity = type(app.session.activity)(waits="answer", since=now)
        assert status.waiting(app.host, app.session).plain == "receiving the answer 2 s, ~40 tok/s   escape stops"
        app.session.wait_for("")


@pytest.mark.parametrize(
    ("spoken", "entry", "window"),
    [
        ("openai", '{"id":"m"}', None),
        ("openai", '{"id":"m","max_model_len":8192}', 8192),
        ("openai", '{"id":"m","max_context_length":131072,"loaded_context_length":4096}', 4096),
        ("openai", '{"id":"m","context_length":"many"}', None),
        ("anthropic", '{"id":"m","max_input_tokens":200000}', 200_000),
        ("gemini", '{"name":"models/m","inputTokenLimit":1048576}', 1_048_576),
    ],
)
def test_a_list_of_models_says_what_their_contexts_hold(spoken: str, entry: str, window: int | None) -> None:
    assert dialect(spoken).models(f'{{"data":[{entry}]}}'.encode()) == {"m": window}


async def test_thinking_is_open_from_the_start_if_the_settings_say_so(tmp_path: Path) -> None:
    with peer_in_thread(says("openai", Answer("hi", thinking="first this"))) as there:
        async with running(tmp_path, config=fast(there.url) + OFF + '[ui]\nthinking = "open"\nmouse = false\n') as app:
            assert not app.host.settings.ui.mouse
            await app.ask("hello")
            await app.until_shown(" │ first this", "enter closes", " hi")
            await app.reach("tab up up enter", "enter opens")
            assert " │ first this" not in app.text
            app.transcript.show(app.session.conversation)
            await app.until_shown(" │ first this")
