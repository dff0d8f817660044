"""Loads what the app's first frame does not need: modules, the panes, an unsent draft, and offers of local models."""

from __future__ import annotations

import asyncio
import importlib
from contextlib import suppress
from typing import TYPE_CHECKING

from tui_host.errors import TuiHostError
from tui_host.tui.suggestions import offers

if TYPE_CHECKING:
    from tui_host.capture.store.store import Store
    from tui_host.host.host import Host
    from tui_host.tui.screens.main_screen import MainScreen

# Imported in a thread after the first frame, the most urgent first.
LATE = (
    "tui_host.chat.session",
    "tui_host.tui.widgets.transcript.transcript_view",
    "tui_host.tui.widgets.inspector.inspector_pane",
    "tui_host.tui.sources.live",
)
LATER = (
    "tui_host.tui.widgets.prompt.completion",
    "tui_host.tui.questions.approval",
    "tui_host.tui.questions.ask_panels",
    "tui_host.tui.screens.help_screen",
    "tui_host.tui.screens.servers_screen",
    "tui_host.tui.screens.model_screen",
    "tui_host.tui.screens.sessions_screen",
    "tui_host.tui.screens.request_screen",
    "tui_host.tui.sources.tapped",
)
"""Imported after the first key press: an idle app saves their 3 MiB, and 8 of the Markdown parser and the highlighter."""

RECALLED_SESSIONS, RECALLED_TEXTS, RECALLED_CHARACTERS = 200, 1000, 10_000
"""How much of other sessions `up` and `ctrl+r` bring back: sessions, messages, characters of one."""


async def load_the_rest(host: Host, main: MainScreen | None, complete: asyncio.Event, pressed: asyncio.Event) -> None:
    """Import and mount everything that the first frame did not need, and what the host brings once it is open."""
    for module in LATE:
        await asyncio.to_thread(importlib.import_module, module)
    from tui_host.tui.markdown.code_blocks import warm
    from tui_host.tui.markdown.parser import load
    from tui_host.tui.text_width import longest_word

    if main is None or main.submissions.session.turn:  # else nothing is drawn with it before a key is pressed
        await asyncio.to_thread(load)
    await asyncio.to_thread(longest_word, "")  # compiles the patterns that wrap words
    if main is not None:
        await main.complete()
    complete.set()
    with suppress(TuiHostError):  # who runs the app tells it
        await host.ready()
        with suppress(TuiHostError):  # the history alone is missing
            if main is not None and host.store is not None:
                main.prompt.remember_before(await asyncio.to_thread(asked_before, host.store))
        if main is not None and not main.submissions.session.turn:
            await restore_and_offer(host, main)
    await pressed.wait()
    await asyncio.to_thread(load)
    for module in LATER:
        await asyncio.to_thread(importlib.import_module, module)
    await asyncio.to_thread(warm)


def asked_before(store: Store) -> list[str]:
    """Return what was asked in the last changed sessions, oldest first; a branch's shared turns are its parent's."""
    from tui_host.chat.conversation import SAID, UserItem, item_from_text

    asked: list[str] = []
    for info in store.sessions.list()[:RECALLED_SESSIONS]:
        if info.source in {"chat", "ask"} and len(asked) < RECALLED_TEXTS:
            items = map(item_from_text, store.session_items(info.id, beginning=SAID, shared=()))
            texts = (item.text for item in items if isinstance(item, UserItem) and not item.origin)
            asked += reversed([text for text in texts if len(text) <= RECALLED_CHARACTERS])
    return asked[:RECALLED_TEXTS][::-1]


async def restore_and_offer(host: Host, main: MainScreen) -> None:
    """Restore an unsent draft of an earlier run, then offer the model servers that run on this machine."""
    left = await asyncio.to_thread(host.store.sessions.left, has_turn=False) if host.store is not None else ()
    is_begun = bool(main.submissions.session.turn or main.prompt.text.strip())
    if left and host.store is not None and not is_begun:
        main.prompt.put(left[0].draft)
        main.submissions.keep_draft()
        host.store.sessions.forget_draft(left[0].id)
    from tui_host.llm.probe import local_servers

    if servers := await local_servers():
        main.suggested = offers(host.settings, servers)
        main.look()
