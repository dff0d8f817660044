"""Turns in the main view, at every size and after a restart: the real app, the demo model over a real socket, a bundled server."""

import json
import os
from dataclasses import replace
from pathlib import Path

import anyio
from textual import events

from tests.kit.app import MATH, NARROW, SMALL, USUAL, WIDE, Running, fast, running
from tests.system.terminal import Family
from tui_host.answers.bodies import body_of
from tui_host.chat.conversation import AnswerItem, CallItem, NoteItem
from tui_host.llm.probe import LocalServer
from tui_host.settings.schema import ModelRef
from tui_host.tui.screens.page_screen import HELD_SECONDS
from tui_host.tui.suggestions import ANYWHERE, QUESTIONS, offers
from tui_host.tui.widgets.placeholders import EmptyChat

SUM = "what is (6 × 5 + 7) / 2? use the tools"


def calls(app: Running) -> list[CallItem]:
    return app.items(CallItem)


def answer(app: Running) -> AnswerItem:
    return (app.items(AnswerItem) or [AnswerItem(turn=0, step=0)])[-1]


async def test_one_key_asks_and_one_key_approves_and_every_byte_is_the_same_everywhere(app: Running) -> None:
    await app.until(lambda: app.lines[2].startswith(f" 1  {SUM}"))
    await app.reach("1", app.asks)
    assert "Approve 1 call?" in app.text
    assert "math.multiply" in app.text
    assert app.main.query_one("#talk").disabled
    await app.answer(*"yyy")
    await app.until_shown("18.5", "3 calls", "approved once, by you")
    assert app.focused is app.prompt
    # What was decided is what was sent, what is kept, and what the inspector shows.
    source = app.inspector_source
    await app.until(lambda: sum(row.kind == "response" and row.turn > 0 for row in source.ladder.rows) == 4)
    assert len(app.bodies("llm", "out")) >= 4  # and all of it is on the disk
    kept = {record.key: record.data for record, _ in app.store.session_records(app.session.id)}
    sent = [row for row in source.ladder.rows if row.method == "tools/call" and row.outward]
    decided = [json.loads(body_of(source, row).wire) for row in source.ladder.rows if row.kind == "decision"]
    assert len(sent) == len(decided) == 3
    for row, decision in zip(sent, decided, strict=True):
        assert body_of(source, row).wire == kept[row.capture, row.seq]
        assert json.loads(body_of(source, row).wire)["params"]["arguments"] == decision["sent"] == decision["asked"]
        assert (decision["decision"], decision["by"]) == ("approved", "person")
    requests = [row for row in source.ladder.rows if row.kind == "request" and row.turn]
    assert [body_of(source, row).wire for row in requests] == [kept[row.capture, row.seq] for row in requests]
    assert len(requests) == 4


async def test_what_is_typed_before_the_question_or_too_early_decides_nothing(app: Running) -> None:
    await app.send(SUM)
    await app.type("yes, why not", lambda: app.approval is not None)
    await app.until_asked()
    await app.press("enter", "space", "enter", "f9")
    assert calls(app)[0].state == "waiting"
    await app.press_at_once("b", "y", "Y", "p", "y", "left", "y")
    assert calls(app)[0].state == "waiting"  # what is no decision, moving keys too, begins a new quiet period
    await app.until_asked()
    draft = app.prompt.text
    assert draft == "yes, why not"[: len(draft)]
    # Elsewhere the keys that decide are keys like any other.
    await app.press("tab")
    assert app.focused is app.inspector.ladder
    await app.until_shown("tab goes back to decide")
    await app.press("y", "Y", "n")
    assert calls(app)[0].state == "waiting"
    await app.press_at_once("escape", "y")
    assert calls(app)[0].state == "waiting"  # coming back is a new look
    assert app.focused is app.approval
    # Another screen in between, with letters typed there.
    await app.reach("ctrl+p", lambda: app.app.screen is not app.main)
    await app.press("y", "y")
    await app.press_at_once("y", "escape", "escape", "y")
    await app.until(lambda: app.app.screen is app.main)
    assert calls(app)[0].state == "waiting"
    await app.decide("n")
    await app.until(lambda: calls(app)[0].state == "rejected")
    await app.until_idle()
    assert (app.prompt.text, app.focused) == (draft, app.prompt)


async def test_a_rule_for_the_session_is_shown_in_words_marked_and_taken_back(app: Running) -> None:
    await app.send('call math.add {"a": 1, "b": 1}', app.asks)
    await app.reach("A", "Press A again")
    assert calls(app)[0].state == "waiting"
    await app.until_asked()
    await app.reach("A", told="/rules ends it")
    await app.until_idle()
    await app.send('call math.add {"a": 2, "b": 2}', "session rule")
    await app.until_idle()
    assert calls(app)[1].by == "rule"
    await app.send('call math.subtract {"a": 2, "b": 2}')
    await app.answer("n")  # another tool asks
    app.session.policy.grants.append(other := replace(app.session.policy.grants[0], tool="subtract"))
    await app.send("/rules", "> allow math.add", "allow math.subtract", "delete, twice take back")
    await app.reach("delete", "delete again: take this rule back")
    await app.press("escape")
    assert app.session.policy.grants[1:] == [other]
    await app.reach("delete", "delete again: take this rule back")
    await anyio.sleep(HELD_SECONDS)
    await app.reach("delete", lambda: app.session.policy.grants == [other])
    await app.reach("escape", lambda: app.app.screen is app.main)
    await app.send('call math.add {"a": 3, "b": 3}')
    await app.answer("n")


async def test_at_the_limit_of_steps_the_chat_asks_whether_the_turn_goes_on(tmp_path: Path, model_url: str) -> None:
    config = fast(model_url) + MATH.replace("[limits]", "[limits]\nsteps = 1")
    async with running(tmp_path, config=config, size=SMALL) as app:
        await app.until_ready()
        for key, last in (("1", "math__add answered 2"), ("2", "stopped after 1 step"), ("escape", "")):
            await app.send('call math.add {"a": 1, "b": 1}')
            await app.decide("y")
            await app.until_shown("1 step so far:  1 continue 1 more  2 stop", "1 continues, 2 stops.")
            await app.press(key)
            await app.until_idle()
            await app.until_shown(last)
            assert app.session.step_limit is None
        assert "continued after 1 step, by you" in app.text


async def test_where_the_context_is_full_one_key_shows_what_can_be_left_out_and_goes_on_without(app: Running) -> None:
    for words in ("say first", "say second", "say third"):
        await app.ask(words)
    app.session.conversation.add(NoteItem(turn=3, kind="error", what="too long", again=True, is_full=True))
    await app.until_shown("press ctrl+r to go on without the")
    await app.reach("ctrl+r", "longer than the model reads", "turn 1  say first", "> leave them out")
    assert "second" in str(list(app.session.messages)[2])
    assert not app.session.omitted_turns
    await app.reach("enter", lambda: app.session.omitted_turns)
    await app.until_idle()
    contents = [str(message["content"]) for message in app.messages]
    assert "say first" not in contents
    assert "say third" in contents


async def test_while_the_model_proposes_answers_the_prompt_says_which_keys_give_them(app: Running) -> None:
    assert "Ask anything." in app.text
    asked = AnswerItem(turn=1, step=1, text="Which city?", state="done", options="Paris\nTokyo")
    app.session.conversation.add(asked)
    await app.until_shown("1 to 2 answers, or write your own.")
    assert "Ask anything." not in app.text
    app.session.conversation.put(0, replace(asked, options=""))
    await app.until_shown("Ask anything.")


async def resize(app: Running, size: tuple[int, int]) -> None:
    await app.pilot.resize_terminal(*size)
    await app.until(lambda: app.main.size.width == size[0])
    await app.pilot.pause()


async def test_under_a_hundred_columns_chat_and_inspector_take_turns_and_a_question_is_told(app: Running) -> None:
    await resize(app, USUAL)
    assert app.main.arrangement == "chat"
    await app.press("f2")
    assert (app.main.arrangement, app.prompt.region.width) == ("inspector", 0)
    await app.press("z")
    assert app.main.arrangement == "chat"
    app.host.send(app.session, 'call math.add {"a": 1, "b": 2}')
    await app.reach("f2", "1 call to decide (f2)")
    assert app.approval is not None
    await app.press_at_once("y")
    assert app.session.open_questions()
    await app.reach("escape", lambda: app.main.arrangement == "chat")  # back to what lies on top, wherever one was
    await app.until_asked()
    assert app.focused is app.approval
    await resize(app, NARROW)
    await app.until_shown("Approve 1 call?", '"b": 2', "all shown", "y/a once", "esc esc stop")
    await app.answer("y")
    assert app.focused is app.prompt
    await app.until_shown("approved once · you")
    await resize(app, WIDE)
    await app.until(lambda: app.main.arrangement == "both")
    assert app.inspector.region.width > app.transcript.region.width
    # What is read in a narrow terminal is still there in a wide one.
    app.inspector.ladder.focus()
    await resize(app, USUAL)
    assert app.main.arrangement == "inspector"
    await resize(app, SMALL)
    await app.press("f2")  # the inspector alone
    await resize(app, USUAL)
    await app.press("f2")
    assert app.main.arrangement == "chat"
    await resize(app, SMALL)
    assert app.main.arrangement == "both"


NO_SERVERS = '[servers.off]\nbundled = "math"\nenabled = false\n'


def children() -> set[str]:
    return {words for words in Family(os.getpid()).look().values() if "zygote.py" not in words}


async def test_the_embedded_default_works_without_configuration_and_leaves_no_child(tmp_path: Path) -> None:
    before = children()
    environment = {"DEEPSEEK_API_KEY": "sk-nobody-has-this-one", "OPENAI_API_KEY": " "}
    async with running(tmp_path, size=WIDE, environment=environment) as app:
        await app.until_shown(*[*QUESTIONS.values()][:2], "Found: DEEPSEEK_API_KEY is set", "Choose the model with f4")
        assert "sk-nobody" not in app.text
        await app.until_ready()
        await app.until_shown("demo/openai · native", "● math", "● weather", "● orders")
        await app.reach("2", app.asks, "Approve 2 calls?", "weather.get_forecast")
        assert children() - before
        # It is left in the middle of a turn.
        await app.reach("ctrl+q", lambda: not app.app.is_running)
    assert children() == before
    assert app.session.questions == []
    async with running(tmp_path, size=SMALL) as again:
        await again.until(lambda: again.host.pool is not None)
        await again.type("Tokyo")
        await again.reach("ctrl+r", "what is the weather", "found: Tokyo")
        await again.reach("escape ctrl+u up", "what is the weather")
        again.write("")
        again.main.show_session(again.host.sessions.open("last"))
        await again.until_shown("what is the weather in Paris and in Tokyo?", "not decided")
        assert [item.state for item in calls(again)] == ["stopped"] * 2
        rows = again.inspector_source.ladder.rows
        await again.until(lambda: [row for row in rows if row.kind == "request" and row.turn == 1])
        # It is as it was recorded until somebody goes on with it, and a key that was meant for the list does not.
        await again.until_ready()
        await again.until(lambda: again.inspector_source.is_settled)
        assert again.host.recorder is not None
        today = again.host.recorder.capture
        assert today not in {row.capture for row in rows}
        await again.send("n")
        await again.until_told("«n» would go to the model, in this earlier session.")
        assert (again.session.turn, again.prompt.text) == (1, "n")
        await again.reach("enter", lambda: again.session.turn == 2)
        await again.until(lambda: {row.peer for row in rows if row.capture == today} >= {"math", "orders"})


async def test_drafts_and_half_an_answer_come_back_after_a_quit_or_a_kill(tmp_path: Path, model_url: str) -> None:
    config = fast(model_url) + NO_SERVERS
    async with running(tmp_path, config=config, size=SMALL) as app:
        await app.until(lambda: app.host.pool is not None)
        await app.ask("help")
        first = app.session.id
        app.app.post_message(events.Paste("\n".join(f"line {number} \x1b[31m" for number in range(3_000))))
        await app.until_shown("[pasted: 3,000 lines, 52.9 kB]")
        pasted = app.prompt.marks.whole(app.prompt.text)
        await app.press("ctrl+n")
        assert app.prompt.text == ""
        await app.type("quit at once after this")
        await app.reach("ctrl+q", lambda: not app.app.is_running)
    async with running(tmp_path, config=config, size=SMALL) as app:
        await app.until(lambda: app.prompt.text == "quit at once after this")
        app.main.show_session(app.host.sessions.open(first))
        assert ("[pasted" in app.prompt.text, app.prompt.marks.whole(app.prompt.text)) == (True, pasted)
        await app.until_shown("I am the demo model")
        kept = app.session.id
        app.write("never sent, never quit")
        await app.until(lambda: getattr(app.store.sessions.get(kept), "draft", "") == "never sent, never quit")
        await app.press("ctrl+n")
        app.session.model = ModelRef(provider="demo", model="openai")  # the embedded one takes its time
        await app.send("write 3000 words", lambda: "A host talks" in app.text)
        await app.reach("ctrl+q", lambda: not app.app.is_running)
    async with running(tmp_path, config=config, size=SMALL) as app:
        await app.until(lambda: app.host.pool is not None)
        assert app.host.sessions.open(kept).draft == "never sent, never quit"
        app.main.show_session(app.host.sessions.open("last"))
        assert answer(app).state in {"stopped", "cut"}
        assert "A host talks" in answer(app).text
        await app.until_shown(answer(app).text.split()[-1])  # more may have come than has room


async def test_a_model_server_on_this_machine_is_offered_once_it_answered(tmp_path: Path) -> None:
    async with running(tmp_path, config=NO_SERVERS, size=SMALL) as app:
        local = LocalServer(provider="ollama", base_url="http://127.0.0.1:11434/v1", models={"llama\x1b[31m3": None})
        app.main.suggested = offers(app.host.settings, [local])
        app.main.look()
        await app.until_shown("Found: Ollama runs here with llama")
        assert "\x1b" not in app.text
        settings = app.host.settings
        await app.pilot.click(EmptyChat, offset=(12, 2))
        await app.until_shown(f"▌{ANYWHERE[1]}")
    assert "set OPENAI_API_KEY" in offers(settings).lines[1]
    assert [words for _, words in offers(settings).questions] == list(ANYWHERE)  # no server, no question for one
