"""Loads what the app's first frame does not need: modules, the panes, an unsent draft, and offers of local models."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
"""Imported after the first key press: an idle app saves their 3 MiB, and the highlighter's 4."""


async def _import(modules: Sequence[str]) -> None:
    for module in modules:
        await asyncio.to_thread(importlib.import_module, module)


async def load_the_rest(main: MainScreen | None, complete: asyncio.Event, pressed: asyncio.Event) -> None:
    """Import and mount everything that the first frame did not need."""
    await _import(LATE)
    from tui_host.tui.markdown.code_blocks import warm
    from tui_host.tui.markdown.parser import load
    from tui_host.tui.text_width import longest_word

    await asyncio.to_thread(load)  # before the chat draws Markdown with it
    await asyncio.to_thread(longest_word, "")  # compiles the patterns that wrap words
    if main is not None:
        await main.complete()
    complete.set()
    await pressed.wait()
    await _import(LATER)
    await asyncio.to_thread(warm)


async def restore_and_offer(host: Host, main: MainScreen) -> None:
    """Restore an unsent draft of an earlier run, then offer the model servers that run on this machine."""
    store = host.store
    left = await asyncio.to_thread(store.sessions.left_draft) if store is not None else None
    if left is not None and store is not None and main.submissions.put_draft(left.draft):
        store.sessions.forget_draft(left.id)
    from tui_host.llm.probe import local_servers

    servers = await local_servers()
    if servers:
        main.offer(servers)
