"""`tap llm` and `tap http`: a relay before a model's API or an MCP server, until a signal ends it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tui_host.capture.visible import visible
from tui_host.cli import diagnostics, output
from tui_host.settings.urls import is_loopback

if TYPE_CHECKING:
    from tui_host.cli.arguments import Arguments
    from tui_host.tap.recording import Log
    from tui_host.tap.upstream import Upstream

CLOSE_SECONDS = 0.4
"""How long each step of the end may wait for the disk."""
SWITCH_SECONDS = 0.0002
"""How long the thread that writes may keep the interpreter from the one that relays: by itself Python gives it 25 times as long."""
TOLD_LIMIT = 1000
"""Different sentences that are told: a web page could make up any number."""


def tap(arguments: Arguments, environment: Mapping[str, str]) -> int:
    """Relay, and record what passes; returns the exit code. No configuration is read: a mistake in ours is none of another host's.

    Raises:
        TuiHostError: It cannot be started.
    """
    import anyio

    from tui_host.tap import http, llm
    from tui_host.tap.bounded import Bounded
    from tui_host.tap.recording import TapRecording
    from tui_host.tap.serving import Service, serve
    from tui_host.tap.upstream import upstream_of

    upstream = upstream_of(arguments.upstream or "", environment, arguments.ca_file)
    is_mcp = arguments.action == "http"
    name = arguments.words[0] if is_mcp else llm.peer(upstream)
    tell = _telling_once()
    recording = TapRecording(name, tell=tell, log=_log(arguments.log))
    recorder = Bounded(recording.recorder, tell)
    port = arguments.port
    service = Service(
        upstream=upstream,
        port=(http.PORT if is_mcp else llm.PORT) if port is None else port,
        is_mcp=is_mcp,
        allowed=arguments.allow_origin,
        observers=http.Connections(recorder, name) if is_mcp else llm.OneObserver(recorder, name),
        place=recording.place,
        tell=tell,
    )

    def started(own: str) -> None:
        recording.start(arguments.data_dir, environment)
        output.text(llm.base_url(upstream, own))
        _tell_where(upstream, own, is_mcp=is_mcp)

    sys.setswitchinterval(SWITCH_SECONDS)
    gc.enable()
    gc.freeze()  # what has been imported stays: looked through again and again it would hold up what passes
    code = anyio.run(serve, service, started, diagnostics.ENDED_BY)
    if recorder.missed:
        tell(f"{recorder.missed} bytes of what has passed are not kept")
    if not recording.close(CLOSE_SECONDS):
        tell("not all that has passed is recorded")
    return code


def _tell_where(upstream: Upstream, own: str, *, is_mcp: bool) -> None:
    from tui_host.tap import llm

    diagnostics.tell(f"{own} stands for {upstream.origin}: what passes is recorded; ctrl+c ends it")
    if upstream.trust is None and not is_loopback(upstream.url.hostname or ""):
        diagnostics.tell(f"{upstream.origin} is not encrypted: whoever is between can read what passes, keys too")
    if is_mcp:
        diagnostics.tell("give your host the line above as the server's URL")
        return
    diagnostics.tell("give your host the line above as the base URL of the model, and leave its key as it is:")
    for line in llm.instructions(upstream, own):
        diagnostics.write(f"{visible(line)}\n")


def _telling_once() -> Callable[[str], None]:
    told: set[str] = set()

    def tell(words: str) -> None:
        if words not in told and len(told) < TOLD_LIMIT:
            told.add(words)
            diagnostics.tell(words)

    return tell


def _log(typed: str | None) -> Log | None:
    if typed is None:
        return None
    from tui_host.tap.log import JsonLines, PlainLines

    return PlainLines(lambda line: diagnostics.write(f"{line}\n")) if typed == "-" else JsonLines(Path(typed))
