"""`tap llm` and `tap http`: run a relay in front of a model's API or an MCP server until a signal ends the relay."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from tui_host.capture.visible import visible
from tui_host.cli import diagnostics
from tui_host.cli import standard_output as output
from tui_host.errors import SettingsError
from tui_host.settings.urls import is_loopback

if TYPE_CHECKING:
    from tui_host.cli.arguments import Arguments
    from tui_host.tap.http.upstream import Upstream
    from tui_host.tap.recording.exchange_records import ExchangeRecords
    from tui_host.tap.recording.recorder_process import PlainLog, RecorderEnds, RecorderOptions
    from tui_host.tap.recording.tap_session import TapRecording

ROOM = 20 << 20
"""Largest number of bytes waiting in memory to be recorded: the kept part of a long answer may arrive at once."""

DESCRIPTORS = 10_240
"""Number of open files to ask the system for, as far as the user's limit allows."""


def tap(arguments: Arguments, environment: Mapping[str, str], plain_log: PlainLog) -> int:
    """Relay and record the traffic; returns the exit code. Reads no configuration, whose mistakes could stop a host.

    Raises:
        TuiHostError: The relay cannot be started.
    """
    import asyncio

    import anyio

    from tui_host.tap.http import llm_tap as llm
    from tui_host.tap.http.relay_server import Service, serve
    from tui_host.tap.http.upstream import upstream_of
    from tui_host.tap.recording.channel_write import STARTED
    from tui_host.tap.recording.recorder_process import RecorderProcess, told_once

    upstream = upstream_of(arguments.upstream or "", environment, arguments.ca_file)
    is_mcp = arguments.action == "http"
    name = arguments.words[0] if is_mcp else llm.peer(upstream)
    tell = told_once(diagnostics.tell)
    options = _options(arguments, name, plain_log)
    gc.freeze()  # the garbage collector need not scan imported objects, which would delay the traffic
    recorder = RecorderProcess(
        lambda ends: _record(ends, options, is_mcp=is_mcp), diagnostics.tell, options.log_file, room=ROOM
    )
    gc.enable()
    _take_descriptors()

    async def relay() -> int:
        writer = recorder.writer(asyncio.get_running_loop().call_soon)
        service = Service(
            upstream=upstream,
            port=_port(arguments, is_mcp=is_mcp),
            is_mcp=is_mcp,
            allowed_origins=arguments.allow_origin,
            allowed_hosts=arguments.allow_host,
            writer=writer,
            answer_limit=None if is_mcp else llm.ANSWER_LIMIT,
            tell=tell,
        )

        def started(own: str) -> None:
            writer.report(STARTED, b"")
            writer.notify()
            _tell_where(upstream, own, is_mcp=is_mcp)
            url = own + upstream.url.path if is_mcp else llm.base_url(upstream, own)
            output.text(url)  # printed last, so that the URL stays visible on a small screen

        try:
            return await serve(service, started, diagnostics.ENDED_BY)
        finally:
            recorder.end()

    return anyio.run(relay)


def _take_descriptors() -> None:
    """Raise the limit of open files: each connection takes two, and the usual limit is low."""
    import resource

    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if most == resource.RLIM_INFINITY else min(most, DESCRIPTORS)
    if now == resource.RLIM_INFINITY or now >= wanted:
        return
    with suppress(OSError, ValueError):  # the system may have a lower limit of its own
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _options(arguments: Arguments, name: str, plain_log: PlainLog) -> RecorderOptions:
    """Return the options for the recording process.

    Raises:
        SettingsError: The log cannot be written.
    """
    from tui_host.tap.recording.log_file import NoLogError
    from tui_host.tap.recording.recorder_process import RecorderOptions

    folder = arguments.data_dir
    try:
        return RecorderOptions(
            name, data_dir=None if folder is None else str(folder), log=arguments.log, plain_log=plain_log
        )
    except NoLogError as error:
        raise SettingsError(str(error), f"--log {arguments.log}") from error


def _port(arguments: Arguments, *, is_mcp: bool) -> int:
    from tui_host.tap.http import llm_tap as llm
    from tui_host.tap.http import mcp_tap as mcp

    if arguments.port is not None:
        return arguments.port
    return mcp.PORT if is_mcp else llm.PORT


def _record(ends: RecorderEnds, options: RecorderOptions, *, is_mcp: bool) -> None:
    """Record the traffic, in the recording process."""
    from tui_host.tap.recording.recorder_main import record

    def records_of(recording: TapRecording) -> ExchangeRecords:
        from tui_host.tap.http import llm_tap as llm
        from tui_host.tap.http import mcp_tap as mcp
        from tui_host.tap.recording.exchange_records import ExchangeRecords, TimedRecorder

        recorder = TimedRecorder(recording.recorder)
        name = options.title
        observers = (
            mcp.Connections(recorder, name, is_whole=recording.is_whole) if is_mcp else llm.OneObserver(recorder, name)
        )
        return ExchangeRecords(recorder, observers, recording.place, recording.tell_once)

    record(ends, options, records_of, None)


def _tell_where(upstream: Upstream, own: str, *, is_mcp: bool) -> None:
    from tui_host.tap.http import llm_tap as llm

    diagnostics.tell(f"{own} relays to {upstream.origin}; ctrl+c ends it")
    if upstream.trust is None and not is_loopback(upstream.url.hostname or ""):
        diagnostics.tell(f"{upstream.origin} is not encrypted: anyone on the network can read the traffic, keys too")
    if is_mcp:
        diagnostics.tell("enter the line below in your host as the server's URL")
        return
    diagnostics.tell("enter the last line in your host as the base URL, and leave its key as it is:")
    for line in llm.instructions(upstream, own):
        diagnostics.write(f"{visible(line)}\n")
