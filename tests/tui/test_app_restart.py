"""What a person finds when the program was ended and is started again, and what it leaves behind; the embedded default."""

from __future__ import annotations

import os
from pathlib import Path

from tests.kit.app import SMALL, WIDE, fast, running
from tui_host.chat.conversation import AnswerItem, CallItem
from tui_host.llm.probe import LocalServer
from tui_host.tui.suggestions import ANYWHERE, QUESTIONS, offers

NO_SERVERS = '[servers.off]\nbundled = "math"\nenabled = false\n'


def children() -> set[str]:
    """The command lines of this process's children."""
    found: set[str] = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == os.getpid() and fields[0] != "Z":
                found.add((entry / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


async def test_the_embedded_default_works_without_configuration_and_leaves_no_child(tmp_path: Path) -> None:
    before = children()
    environment = {"DEEPSEEK_API_KEY": "sk-nobody-has-this-one"}
    async with running(tmp_path, size=WIDE, environment=environment) as app:
        await app.until_shown(*list(QUESTIONS.values())[:2], "DEEPSEEK_API_KEY is set", "Choose the model with f4")
        assert "sk-nobody" not in app.text
        await app.until_ready()
        await app.until_shown("demo/openai · native", "● math", "● weather", "● orders")
        await app.press("2")
        await app.until_asked()
        await app.until_shown("Approve 2 calls?", "weather.get_forecast")
        assert children() - before
        # It is left in the middle of a turn.
        await app.press("ctrl+q")
        await app.until(lambda: not app.app.is_running)
    assert children() == before
    assert app.session.questions == []
    async with running(tmp_path, size=SMALL) as again:
        await again.until(lambda: again.host.pool is not None)
        session = again.host.sessions.open("last")
        again.app.show_session(session)
        await again.until_shown("what is the weather in Paris and in Tokyo?", "not decided")
        assert [item.state for item in session.conversation.items if isinstance(item, CallItem)] == ["stopped"] * 2
        await again.until(lambda: again.inspector_source.ladder.rows)
        rows = again.inspector_source.ladder.rows
        await again.until(lambda: [row for row in rows if row.kind == "request" and row.turn == 1])


async def test_drafts_come_back_whether_the_program_was_quit_or_killed(tmp_path: Path, model_url: str) -> None:
    config = fast(model_url) + NO_SERVERS
    async with running(tmp_path, config=config, size=SMALL) as app:
        await app.until(lambda: app.host.pool is not None)
        await app.send("help")
        await app.until_idle()
        first = app.session.id
        app.write("half a thought")
        await app.press("ctrl+n")
        await app.type("quit at once after this")
        await app.press("ctrl+q")
        await app.until(lambda: not app.app.is_running)
    async with running(tmp_path, config=config, size=SMALL) as app:
        await app.until(lambda: app.prompt.text == "quit at once after this")
        app.app.show_session(app.host.sessions.open(first))
        assert app.prompt.text == "half a thought"
        await app.until_shown("I am the demo model")
        store, kept = app.host.store, app.session.id
        assert store is not None
        app.write("never sent, never quit")
        await app.until(lambda: store.sessions.draft(kept) == "never sent, never quit")
    async with running(tmp_path, config=config, size=SMALL) as app:
        await app.until(lambda: app.host.pool is not None)
        await app.until(lambda: app.prompt.text == "quit at once after this")
        assert app.host.sessions.open(kept).draft == "never sent, never quit"


async def test_an_answer_cut_by_the_end_of_the_program_says_so(tmp_path: Path) -> None:
    async with running(tmp_path, config=NO_SERVERS, size=SMALL) as app:
        await app.send("write 3000 words")
        await app.until(lambda: "A host talks" in app.text)
        await app.press("ctrl+q")
        await app.until(lambda: not app.app.is_running)
    async with running(tmp_path, config=NO_SERVERS, size=SMALL) as again:
        await again.until(lambda: again.host.pool is not None)
        session = again.host.sessions.open("last")
        answer = next(item for item in session.conversation.items if isinstance(item, AnswerItem))
        assert answer.state in {"stopped", "cut"}
        assert "A host talks" in answer.text
        again.app.show_session(session)
        await again.until_shown(answer.text.split()[-1])  # more may have come than has room


async def test_a_model_server_on_this_machine_is_offered_once_it_answered(tmp_path: Path) -> None:
    async with running(tmp_path, config=NO_SERVERS, size=SMALL) as app:
        url = "http://127.0.0.1:11434/v1"
        app.main.offer([LocalServer(provider="ollama", base_url=url, models=("llama\x1b[31m3",))])
        await app.until_shown("Found: Ollama runs here with llama")
        assert "\x1b" not in app.text
        settings = app.host.settings
    assert "set OPENAI_API_KEY" in offers(settings).lines[1]
    assert [words for _, words in offers(settings).questions] == list(ANYWHERE)  # no server, no question for one
