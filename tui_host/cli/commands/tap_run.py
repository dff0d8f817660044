"""`tap run`: start another host with taps before its model and its servers, for this run alone."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from tui_host.cli import diagnostics, options
from tui_host.cli.commands.tap_install import own_program, tell_left
from tui_host.errors import SettingsError, TuiHostError
from tui_host.settings.hosts import host_files as files
from tui_host.settings.hosts.host_entries import servers_in
from tui_host.settings.hosts.known_hosts import PASTED
from tui_host.settings.paths import DATABASE, data_dir
from tui_host.settings.presets import service_at
from tui_host.settings.save import write_private
from tui_host.settings.table_reader import shown_path
from tui_host.tap.tap_insertion import install

DESCRIPTION = """\
Start another host in this terminal with taps before its model and its stdio servers, for this run alone: nothing
is written into the host's own files. Input, output, signals and the exit code pass. f5 in tui-host follows it."""
_ADDRESSES = {
    "ANTHROPIC_BASE_URL": "https://api.anthropic.com",
    "GOOGLE_GEMINI_BASE_URL": "https://generativelanguage.googleapis.com",
    "OLLAMA_HOST": "http://127.0.0.1:11434",
    "OPENAI_API_BASE": "https://api.openai.com/v1",
    "OPENAI_BASE_URL": "https://api.openai.com/v1",
}
"""Where hosts go if a variable is not set."""


def add(parser: options.CommandParser) -> None:
    """Add the options."""
    parser.description = DESCRIPTION
    parser.usage = "tui-host tap run [--upstream URL] [--llm-env NAME] [--mcp-config FILE] -- COMMAND..."
    parser.epilog = (
        "For example: tui-host tap run --llm-env OPENAI_BASE_URL --mcp-config mcp.json -- agent --mcp mcp.json"
    )
    parser.option("--upstream", "URL", "the model's API, if not the one that the host would use", options.name_of)
    words = "the variable from which the host takes the base URL of its model"
    parser.option("--llm-env", "NAME", words, options.name_of)
    words = "a file of servers that the command names: it is given a copy with taps"
    parser.option("--mcp-config", "FILE", words, options.name_of)
    parser.option("--ca-file", "FILE", "certificates to trust instead of the system's", options.path_of)


def run(args: Namespace, environment: Mapping[str, str]) -> int:
    """Run the command behind taps; returns its exit code, or ends by the signal that ended it."""
    import anyio

    from tui_host.tap.host_run import RunTap, run_host
    from tui_host.tap.http.upstream import Upstream

    if args.no_record:
        raise SettingsError("the purpose of a tap is to record", "--no-record", "--data-dir DIR records elsewhere")
    if not args.server:
        raise SettingsError("no command after --", "tap run", "write tui-host tap run -- COMMAND ARGUMENTS…")
    if not args.llm_env and not args.mcp_config:
        remedy = "say how it takes its model's address or its servers: --llm-env NAME, --mcp-config FILE"
        raise SettingsError(f"unknown host {args.server[0]}", "tap run", remedy)
    command, variables, said = list(args.server), dict(environment), list[str]()
    folder = data_dir(args.data_dir, environment)
    gc.enable()
    with tempfile.TemporaryDirectory(prefix="tui-host-") as temporary, tempfile.TemporaryFile() as notices:
        if args.mcp_config:
            program = own_program(args.data_dir, environment)
            _replace(args.mcp_config, _tapped_copy(Path(args.mcp_config), Path(temporary), program), command)
        taps = list[RunTap]()
        if args.llm_env:
            upstream = Upstream(_upstream(args, environment), environment, args.ca_file)
            name = service_at(upstream.url.geturl()) or upstream.name
            taps.append(RunTap("llm", name, upstream, str(folder), said.append, notices.fileno()))
            variables[args.llm_env] = taps[0].url
        try:
            status = anyio.run(run_host, command, variables, taps)
        finally:
            for tap in taps:
                tap.end()
            notices.seek(0)
            diagnostics.write(notices.read().decode(errors="replace"))
            diagnostics.tell(*dict.fromkeys(said))
    if taps:
        _tell_end(folder / DATABASE, taps[0].session)
    if os.WIFSIGNALED(status):
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        signal.raise_signal(os.WTERMSIG(status))
    return os.waitstatus_to_exitcode(status)


def _upstream(args: Namespace, environment: Mapping[str, str]) -> str:
    upstream = args.upstream or environment.get(args.llm_env) or _ADDRESSES.get(args.llm_env)
    if upstream is None:
        raise SettingsError(f"{args.llm_env} is not set", "--llm-env", "name the model's API with --upstream URL")
    return str(upstream)


def _tapped_copy(path: Path, folder: Path, program: Sequence[str]) -> Path:
    text = files.read(path).text
    outcome = install(text, servers_in(text, PASTED, shown_path(path)), (), program)
    tell_left(outcome.skipped)
    copy = folder / path.name
    write_private(copy, outcome.text.encode())
    return copy


def _replace(name: str, copy: Path, command: list[str]) -> None:
    """Put the copy's path in place of the file's name in a command: as a word, or behind `=` in one."""
    places = [at for at, word in enumerate(command) if word == name or word.endswith(f"={name}")]
    if not places:
        remedy = f"write {name} in the command where the host takes it"
        raise SettingsError("the command does not name this file", f"--mcp-config {name}", remedy)
    for at in places:
        command[at] = command[at].removesuffix(name) + str(copy)


def _tell_end(database: Path, tap: str) -> None:
    """Say what was recorded, in one line."""
    from contextlib import closing

    from tui_host.answers.request_weights import calls_of, requests_of, total_counted, weigh
    from tui_host.answers.wires import RecordedWires, Section
    from tui_host.capture.store.store import Store
    from tui_host.cli.recorded import counted
    from tui_host.infer.story_reader import exported_session

    head, _, letters = tap.rpartition("-")
    session = f"{head}-s{letters}"
    try:
        with closing(Store.open_to_read(database)) as store:
            info, source = exported_session(store, session)
            wires = RecordedWires((record for record, _ in source.session_records(info.id)), user="the user")
    except TuiHostError as error:
        diagnostics.tell(f"what was recorded cannot be read: {error}")
        return
    whole = Section(is_session=True)
    usage = total_counted(weigh(wires, requests_of(wires, whole)))[0].usage
    tokens = f"{usage.input_total or 0:,} → {usage.output_total or 0:,} tokens"
    diagnostics.tell(f"{counted(calls_of(wires, whole).total(), 'call')} · {tokens} · tui-host sessions show {info.id}")
