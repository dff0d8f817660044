"""Branches in the chat: edit and ask from there, fork, ask again, go from branch to branch."""

from pathlib import Path

from tests.kit.app import Running
from tests.tui.test_app_keys import said
from tui_host.chat.attachments import read_attached
from tui_host.chat.conversation import UserItem


async def to_chat(app: Running, text: str) -> None:
    app.transcript.focus()
    items = list(app.session.conversation)
    app.transcript.current = next(at for at, item in enumerate(items) if getattr(item, "text", "").startswith(text))
    await app.pilot.pause()


async def test_enter_on_a_message_edits_it_and_asks_from_there_in_a_branch(app: Running, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("data of the note", encoding="utf-8")
    await app.ask("say one")
    file = read_attached(str(tmp_path / "note.txt"))
    app.host.send(app.session, f"say two [{file.words}]", (file,))
    await app.until_idle()
    await app.ask("say three")
    first = app.session
    app.write("a draft")
    await to_chat(app, "say two")
    await app.reach("enter", "editing turn 2", "1 attached")
    assert app.focused is app.prompt
    await app.type(" twice")
    await app.press("escape")
    assert app.prompt.text == "a draft"
    assert "editing" not in app.text
    await to_chat(app, "say two")
    await app.press("enter")
    assert app.prompt.text.startswith("say two [note.txt: text, ")
    await app.type("and two and a half")
    sessions = len(app.host.sessions)
    await app.reach("ctrl+o", "What would be sent", "messages (3)")  # without what is left behind
    await app.press("escape")
    assert len(app.host.sessions) == sessions
    await app.reach("enter", "branch 2 of 2", "branch of «say one» behind turn 1")
    await app.until_idle()
    assert first.draft == "a draft"
    assert [item.text for item in first.conversation if isinstance(item, UserItem)][2] == "say three"
    assert said(app)[0] == "say one"
    assert said(app)[1].endswith("and two and a half")
    sent = str(app.messages)
    assert "data of the note" in sent
    assert "say three" not in sent
    assert app.session.turn == 2


async def test_f_forks_before_a_message_and_behind_an_answer_and_an_unasked_branch_leaves_nothing(app: Running) -> None:
    await app.ask("say one")
    await app.ask("say two")
    first = app.session
    await to_chat(app, "say two")
    await app.press("f")
    assert app.session is not first
    assert (app.session.turn, app.prompt.text, app.focused) == (1, "say two", app.prompt)
    before = app.session
    await to_chat(app, "I follow rules")
    await app.press("f")  # behind the answer of turn 1, which is the first session's
    assert (app.session.turn, app.prompt.text) == (1, "")
    await app.until_shown("branch 3 of 3")
    behind, app.transcript.current = app.session, None
    app.transcript.focus()
    await app.reach("right_square_bracket", "branch 1 of 2")
    assert app.session is first or app.session.id == first.id
    assert behind.id not in app.host.sessions
    assert before.id in app.host.sessions  # it has a draft
    await app.reach("left_square_bracket", "branch 2 of 2")
    assert (app.prompt.text, app.focused) == ("say two", app.transcript)
    app.main.show_session(app.host.sessions.new())
    await app.press("ctrl+n")
    await app.send("/branch")
    await app.until_told("This session has no branches")


async def test_ctrl_r_asks_the_last_question_again_in_a_branch_and_only_with_an_empty_prompt(app: Running) -> None:
    await app.ask("say one")
    first = app.session
    app.write("a draft")
    await app.reach("ctrl+r", told="No earlier message contains «a draft»")
    assert app.session is first
    app.write("")
    await app.reach("ctrl+r", "branch 2 of 2", "behind turn 0")
    await app.until_idle()
    assert (said(app), len(app.messages)) == (["say one"], 1)
    app.write("/edit")
    await app.reach("enter", "editing turn 1")
    assert app.prompt.text == "say one"
    await app.press("escape")
