"""A conversation longer than the model reads goes on without its oldest turns, where the user says so."""

from __future__ import annotations

import json
from pathlib import Path

from tests.host.test_host import answers, asked, configured, serving, until
from tests.kit.bodies import text
from tests.kit.peer import Answer, head, peer_in_thread
from tui_host.chat.conversation import NoteItem
from tui_host.chat.session import Session, oldest_turns, omit_turns
from tui_host.errors import JSON
from tui_host.settings.model_options import Options

FULL = {"error": {"message": "too much", "code": "context_length_exceeded"}}
REFUSES: Answer = head("400 Bad Request", kind="application/json") + json.dumps(FULL).encode()


async def test_a_full_context_goes_on_without_the_turns_that_the_user_saw(tmp_path: Path) -> None:
    with peer_in_thread(text("one"), text("two"), REFUSES, text("three"), text("four")) as peer:
        settings = configured(tmp_path, peer.url)
        async with serving(settings) as host:
            session = host.sessions.new()
            session.options = Options(seed=7)
            assert oldest_turns(session) == []
            await asked(host, session, "long " * 100)
            await asked(host, session, "second")
            await asked(host, session, "third")
            assert [item.is_full for item in notes(session)] == [True]
            [turn] = oldest_turns(session)
            assert (turn.turn, turn.title[:9]) == (1, "long long")
            assert turn.size_bytes > 500
            assert len(peer.messages(2)) == 5, "nothing is dropped unasked"
            omit_turns(session, [turn])
            host.again(session)
            await until(lambda: not session.busy)
        async with serving(settings) as host:
            again = host.sessions.open("last")
            assert (again.omitted_turns, again.options) == (1, Options(seed=7))
            await asked(host, again, "fourth")
            assert answers(again) == ["one", "two", "three", "four"]
            assert "turn 1 left out" in notes(again)[-1].what
    assert said(peer.messages(3)) == ["second", "two", "third"]
    assert said(peer.messages(4)) == ["second", "two", "third", "three", "fourth"]


def notes(session: Session) -> list[NoteItem]:
    return [item for item in session.conversation.items if isinstance(item, NoteItem)]


def said(messages: list[dict[str, JSON]]) -> list[JSON]:
    return [message["content"] for message in messages]
