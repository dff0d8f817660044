"""Branches: sessions that share the first turns of another."""

from pathlib import Path
from secrets import token_hex

import pytest

from tests.cases import some
from tests.host.test_host import answers, asked, configured, serving
from tests.kit.bodies import text
from tests.kit.peer import Peer, peer_in_thread
from tui_host.answers.session_exports import SESSION_EXPORTS
from tui_host.capture.store.deletion import used_bytes
from tui_host.chat.conversation import CallItem, NoteItem, UserItem
from tui_host.chat.session import Session
from tui_host.cli.recorded import ListedSession
from tui_host.errors import TuiHostError
from tui_host.host.host import Host
from tui_host.llm.messages import Message, Text
from tui_host.tui.sources.live import SessionSource


def notes(session: Session) -> list[str]:
    return [item.what for item in session.conversation if isinstance(item, NoteItem)]


def sent(peer: Peer) -> list[object]:
    """What the last request told the model, without the system's words."""
    return [message["content"] for message in peer.messages(-1) if message["role"] != "system"]


def rows(host: Host, session: Session) -> list[int]:
    some(host.recorder).flush()
    source = SessionSource(host, session)
    while not source.is_settled:
        source.look()
    return [row.turn for row in source.ladder.rows if row.lane == "llm"]


def turns_on_disk(host: Host, session: Session) -> set[int | None]:
    return {record.place.turn for record, _ in some(host.store).session_records(session.id)} - {None}


@pytest.mark.parametrize("record", [True, False])
async def test_a_branch_goes_on_behind_a_turn_and_its_parent_stays_as_it_is(tmp_path: Path, *, record: bool) -> None:
    with peer_in_thread(*map(text, ("one", "two", "three", "other", "four"))) as peer:
        async with serving(configured(tmp_path, peer.url), record=record) as host:
            session = host.sessions.new()
            for words in ("first", "second", "third"):
                await asked(host, session, words)
            branch = host.sessions.branch(session, 1)
            assert (branch.title, branch.turn, answers(branch)) == ("first", 1, ["one"])
            assert notes(branch) == ["branch of «first» behind turn 1"]
            await asked(host, branch, "instead")
            assert sent(peer) == ["first", "one", "instead"]
            await asked(host, session, "fourth")
            assert sent(peer) == ["first", "one", "second", "two", "third", "three", "fourth"]
            assert (answers(session), answers(branch)) == (["one", "two", "three", "four"], ["one", "other"])
            assert not notes(session)
            beginning = host.sessions.branch(branch, 0)  # the turn is the first session's own
            assert beginning.parent is not None
            assert (beginning.parent.parent, beginning.parent.parent_turn) == (session.id, 0)
            assert (list(beginning.messages), beginning.title) == ([], "")
            host.leave(beginning)
            assert beginning.id not in host.sessions
            assert rows(host, branch) == [1, 1, 2, 2]
            if host.store is not None:
                host.leave(branch)
                again = host.sessions.open(branch.id)
                assert list(again.messages) == list(branch.messages)
                assert list(again.conversation) == list(branch.conversation)
                assert (again.parent, rows(host, again)) == (branch.parent, [1, 1, 2, 2])
                assert (turns_on_disk(host, session), turns_on_disk(host, branch)) == ({1, 2, 3, 4}, {1, 2})
                info = host.store.sessions.find(branch.id)
                listed = ListedSession(info=info).to_json()
                assert (listed["parent"], listed["parent_turn"]) == (session.id, 1)
                shown = "".join(piece.decode() for piece in SESSION_EXPORTS["markdown"].export(host.store, info))
                assert f"branch of «first» at turn 1 · {session.id}" in shown
                assert ("> one" in shown, "> two" in shown, "> other" in shown) == (True, False, True)
            session.conversation.add(CallItem(turn=4, step=1, call="4.1", server="s", tool="t", asked="", state="done"))
            words = "branch of «first» behind turn 3; tool calls that ran there are not undone"
            assert notes(host.sessions.branch(session, 3)) == [words]
            session.wait_for("model")
            with pytest.raises(TuiHostError, match="this turn still runs"):
                host.sessions.branch(session, 4)


async def test_a_branch_of_two_thousand_messages_takes_little_on_the_disk_also_once_it_is_asked(tmp_path: Path) -> None:
    with peer_in_thread(always=text("fine")) as peer:
        settings = configured(tmp_path, peer.url)
        async with serving(settings) as host:
            session = host.sessions.new()
            await asked(host, session, "first")
            for turn in range(2, 999):
                session.turn = turn
                for role in ("user", "assistant"):
                    said = f"{turn} {token_hex(50)}"
                    session.conversation.add(UserItem(turn=turn, text=said))
                    session.say(Message(role=role, parts=(Text(text=said),), turn=turn))
            await asked(host, session, "last but one")
            await asked(host, session, "last")
        async with serving(settings) as host:  # another process does not remember the bodies before
            assert host.store is not None
            branch = host.sessions.branch(host.sessions.open("last"), 999)
            before = used_bytes(host.store)
            await asked(host, branch, "instead")
            assert some(host.recorder).flush()
            assert used_bytes(host.store) - before < 50_000 < len(peer.bodies[-1])
            bodies = [record.data for record, _ in host.store.session_records(branch.id) if record.kind == "request"]
            assert bodies == [peer.bodies[0], peer.bodies[1], peer.bodies[3]]
