"""A process that is killed in the middle of an answer: all that came is in the chat, is found, and is told to the model."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import pytest

from tests.host.test_host import asked, configured, serving, until
from tests.kit.bodies import calls, chunk, fragment, text
from tests.kit.peer import Exchange, hangs, head, peer, peer_in_thread
from tui_host.capture.store.search import search
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import AnswerItem, CallItem, NoteItem
from tui_host.errors import StoreError

FIRST, REST = "The first words", " and all of the rest, 也有中文"
HALF_A_CALL = "<tool_use>\n  <name>math__add</name>\n  <argu"


def kept(folder: Path) -> tuple[str, bytes]:
    """The chat and the answer's bytes on the disk by now."""
    try:
        store = Store.open_to_read(folder / "data" / "tui-host.db")
    except StoreError:  # there is none yet
        return "", b""
    try:
        (session,) = store.sessions.list() or (None,)
        if session is None:
            return "", b""
        records = (record for record, _ in store.session_records(session.id))
        chunks = (record.draft.data for record in records if record.draft.kind == "chunk")
        return "".join(store.sessions.item_texts(session.id)), b"".join(chunks)
    finally:
        store.close()


async def killed(folder: Path, rest: bytes, *options: str) -> None:
    """Run `ask`, let the first words come, then the rest, and kill the program once all of it is on the disk."""
    more = anyio.Event()

    async def script(exchange: Exchange) -> None:
        await exchange.send(head(), chunk({"reasoning_content": "hm"}), chunk({"content": FIRST}))
        await more.wait()
        await hangs(rest)(exchange)

    async with peer(script) as there:
        settings = configured(folder, there.url)
        words = ("--config", str(settings.config_file), "--data-dir", str(settings.data_dir), *options)
        command = [sys.executable, "-m", "tui_host", "ask", *words, "say much"]
        process = await anyio.open_process(command, env=dict(settings.environment))
        try:
            await until(lambda: FIRST in kept(folder)[0])
            more.set()
            await until(lambda: rest in kept(folder)[1])
        finally:
            more.set()
            process.kill()
            await process.aclose()


@pytest.mark.parametrize(
    ("protocol", "rest", "called"),
    [
        ("native", chunk({"content": REST}), ""),
        (
            "native",
            chunk({"content": REST}) + calls(fragment(wire_id="c1", name="math__add", arguments='{"a":')),
            '{"a":',
        ),
        ("cherry", chunk({"content": f"{REST}\n{HALF_A_CALL}"}), ""),
    ],
    ids=["text", "a call", "a call in words"],
)
async def test_an_answer_whose_process_was_killed_comes_back_whole(
    tmp_path: Path, protocol: str, rest: bytes, called: str
) -> None:
    await killed(tmp_path, rest, "--protocol", protocol)
    with peer_in_thread(text("going on")) as peer:
        async with serving(configured(tmp_path, peer.url)) as host:
            store = host.store
            assert store is not None
            (info,) = store.sessions.list()
            await until(lambda: [match.session.id for match in search(store.sessions, "也有中文")] == [info.id])
            session = await anyio.to_thread.run_sync(host.sessions.open, "last")
            (answer,) = [item for item in session.conversation.items if isinstance(item, AnswerItem)]
            assert (answer.text.rstrip(), answer.thinking, answer.state) == (FIRST + REST, "hm", "cut")
            assert [item.asked for item in session.conversation.items if isinstance(item, CallItem)] == [called] * bool(
                called
            )
            notes = [item.what for item in session.conversation.items if isinstance(item, NoteItem)]
            assert [HALF_A_CALL in note for note in notes] == [True] * (protocol == "cherry")
            await asked(host, session, "go on")
        told = [(message["role"], message["content"]) for message in peer.messages(0) if message["role"] != "system"]
    assert told[0] == ("user", "say much")
    assert (told[1][0], str(told[1][1]).rstrip()) == ("assistant", FIRST + REST)
    assert told[2] == ("user", "[The host ended here; the previous answer is not complete.]\n\ngo on")
