"""What began a turn: the person's words with their files, or a server's prompt, without what joined a step of the turn."""

from dataclasses import replace
from pathlib import Path

from tests.chat.test_results import PICTURE
from tui_host.chat.attachments import attached_by_marks, linked_resource, read_attached
from tui_host.chat.conversation import AnswerItem, Conversation, NoteItem, UserItem
from tui_host.chat.opening import filled_prompt, last_asked, opening_of
from tui_host.chat.session import message_parts
from tui_host.llm.messages import Message, Text
from tui_host.servers.catalog import ContentBlock, PromptMessage


def test_files_are_found_again_by_their_marks_and_a_mark_that_was_typed_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PICTURE)
    (tmp_path / "b.txt").write_text("words of b")
    files = [read_attached(str(tmp_path / "a.png")), read_attached(str(tmp_path / "b.txt"))]
    files.append(linked_resource("docs", "docs://c"))
    marks = [f"[{file.words}]" for file in files]
    text = f"{marks[0]} and {marks[0]} [typed.txt: text, 3 B] {marks[1][:-1]}, 2] {marks[2]}"
    found = [*attached_by_marks(text, message_parts(text, files)[1:]).values()]
    assert [file.part for file in found] == [file.part for file in files]
    assert (found[-1].name, found[-1].kind, found[-1].server) == ("docs://c of docs", "address only", "docs")


def test_a_servers_prompt_is_asked_again_whole_and_what_joined_a_step_is_not_part_of_it() -> None:
    blocks = {role: ContentBlock(kind="text", text=f"words of {role}") for role in ("user", "assistant")}
    messages = tuple(PromptMessage(role=role, content=blocks[role]) for role in ("user", "assistant", "user"))
    filled = filled_prompt("docs", "review", messages)
    answer, joined = AnswerItem(turn=2, step=1, text="yes", state="done"), UserItem(turn=2, text="and this")
    note = NoteItem(turn=1, kind="note", what="another model")
    shown = [replace(item, turn=2) for item in filled.opened]
    given = [replace(message, turn=2) for message in filled.given]
    conversation = Conversation([UserItem(turn=1, text="hi"), note, *shown, answer, joined])
    history = [
        Message(role="user", parts=(Text(text="hi"),), turn=1),
        *given,
        Message(role="assistant", parts=(Text(text="yes"),), turn=2),
        Message(role="user", parts=(Text(text="and this"),), turn=2),
    ]
    opening = opening_of(conversation, history, 2)
    assert opening is not None
    assert (opening.opened, opening.given, opening.title) == (shown, given, "words of user")
    first = opening_of(conversation, history, 1)
    assert first is not None
    assert (first.title, [item.text for item in first.opened]) == ("hi", ["hi"])
    assert (opening_of(conversation, history, 3), last_asked(conversation)) == (None, 2)
