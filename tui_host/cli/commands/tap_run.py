"""`tap run`: start another host with taps before its model and its servers, for this run alone."""

from __future__ import annotations

import gc
import json
import os
import signal
import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import TYPE_CHECKING, TypeAlias

from tui_host.cli import diagnostics, options
from tui_host.cli.commands.tap_install import own_program, tell_left
from tui_host.errors import SettingsError, TuiHostError
from tui_host.settings.hosts import host_files as files
from tui_host.settings.hosts.host_entries import URLS, servers_in
from tui_host.settings.hosts.host_runs import HostStart, Override, Run, Table, host_in, table_at
from tui_host.settings.hosts.known_hosts import HOSTS, PASTED
from tui_host.settings.paths import DATABASE, data_dir
from tui_host.settings.presets import service_at
from tui_host.settings.save import write_private
from tui_host.settings.table_reader import shown_path
from tui_host.settings.urls import is_loopback, parts_of
from tui_host.tap.tap_insertion import install

if TYPE_CHECKING:
    from tui_host.tap.host_run import RunTap

DESCRIPTION = """\
Start another host in this terminal with taps before its model and its servers, for this run alone: nothing is written
into the host's own files. Input, output, signals and the exit code pass. /sessions in tui-host follows it.
Known: Claude Code, Codex, Gemini CLI, opencode, Cline; Goose and aider without servers."""
STORED_SECONDS = 3.0  # longest wait for what the servers' taps still store: each ends by itself, after its server
_Tap: TypeAlias = "Callable[[str, str, str], RunTap]"
"""Makes a tap: of which wire, before which URL, under which name."""


def add(parser: options.CommandParser) -> None:
    """Add the options."""
    parser.description = DESCRIPTION
    parser.usage = "tui-host tap run [--upstream URL] [--llm-env NAME] [--mcp-config FILE] -- COMMAND..."
    parser.epilog = """\
For example: tui-host tap run -- claude
  tui-host tap run --llm-env OPENAI_BASE_URL --mcp-config mcp.json -- agent --mcp mcp.json"""
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
    place, host = host_in(args.server)
    if host is None and not args.llm_env and not args.mcp_config:
        remedy = "say how it takes its model's address or its servers: --llm-env NAME, --mcp-config FILE"
        raise SettingsError(f"unknown host {args.server[0]}", "tap run", remedy)
    folder, program = data_dir(args.data_dir, environment), own_program(args.data_dir, environment)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    gc.enable()
    taps, said = list[RunTap](), list[str]()
    # Beside the database: Gemini CLI takes no settings from below a folder that others may write into.
    with TemporaryDirectory(prefix="run-", dir=folder) as private, TemporaryFile() as notices:

        def tap(wire: str, url: str, name: str) -> RunTap:
            upstream = Upstream(url if "://" in url else f"http://{url}", environment, args.ca_file)
            name = name or service_at(upstream.url.geturl()) or upstream.name
            taps.append(RunTap(wire, name, upstream, str(folder), said.append, notices.fileno()))
            return taps[-1]

        start = HostStart(
            words=tuple(args.server[place + 1 :]),
            environment=environment,
            private=Path(private),
            llm_env=args.llm_env or "",
            tap_models=partial(_tapped_models, tap=tap, upstream=args.upstream or "", named=args.llm_env or ""),
            tap_servers=partial(_tapped_servers, tap=tap, program=program),
        )
        override = _override(host, start)
        command = [*args.server[: place + 1], *override.words, *start.words]
        if args.mcp_config:
            _tap_file(args.mcp_config, Path(private), program, command)
        try:
            status = anyio.run(run_host, command, {**environment, **override.variables}, taps)
        finally:
            for recorder in filter(None, [tap.recorder for tap in taps]):
                recorder.end()
            notices.seek(0)
            diagnostics.write(notices.read().decode(errors="replace"))
            diagnostics.tell(*dict.fromkeys(said))
    _tell_end(folder / DATABASE, [tap.session for tap in taps if tap.recorder])
    if os.WIFSIGNALED(status):
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        signal.raise_signal(os.WTERMSIG(status))
    return os.waitstatus_to_exitcode(status)


def _override(host: Run | None, start: HostStart) -> Override:
    """Make the taps before models and servers behind URLs, and return how the host is sent to all taps."""
    named, environment = start.llm_env, start.environment
    variables = dict(start.tap_models({named: start.address(named)} if named else {}))
    override = Override() if host is None else host(start)
    if override.left:
        diagnostics.tell(f"left without a tap: {override.left}")
    variables |= override.variables
    if any(name.lower().endswith("_proxy") for name in environment):  # the taps go through it, the host not to them
        exempt = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
        variables |= dict.fromkeys(("no_proxy", "NO_PROXY"), ",".join(filter(None, (exempt, "127.0.0.1"))))
    return Override(words=override.words, variables=variables)


def _tapped_models(models: Mapping[str, str], *, tap: _Tap, upstream: str, named: str) -> Mapping[str, str]:
    """Return the addresses of taps before models; of the one variable that is named, and before one upstream, if so."""
    upstreams = {key: upstream or url for key, url in models.items() if key == (named or key)}
    if missing := [key for key, url in upstreams.items() if not url]:
        raise SettingsError(f"{missing[0]} is not set", "tap run", "name the model's API with --upstream URL")
    # One tap for each address. The first one's session begins with the run.
    tapped = {url: tap("llm", url, "").url for url in dict.fromkeys(upstreams.values())}
    return {key: tapped[url] for key, url in upstreams.items()}


def _tapped_servers(servers: Table, *, tap: _Tap, program: Sequence[str]) -> Table:
    """Return the servers with taps before them, without those that stay as they are."""
    text, host = json.dumps({"mcpServers": servers}), HOSTS[0]
    outcome = install(text, servers_in(text, host, ""), (), program)
    later = table_at(json.loads(outcome.text), "mcpServers")
    tapped = {name: later[name] for name in servers if later[name] != servers[name]}
    left = [server for server in outcome.skipped if not server.url]
    for server in outcome.skipped:
        name, table = server.place[-1], table_at(servers, server.place[-1])
        key = next((key for key in URLS if table.get(key) == server.url), "")
        plain, mark, query = server.url.partition("?")
        is_plain = key and set(plain).isdisjoint("@${#")  # not one that only the host can complete
        # A login belongs to the URL for which it was made; a header goes to any.
        if is_plain and (table_at(table, "headers") or is_loopback(parts_of(plain).hostname or "")):
            tapped[name] = {**table, key: tap("http", plain, name).url + mark + query}
        elif server.url:
            left.append(server)
    tell_left(left)
    return tapped


def _tap_file(name: str, folder: Path, program: Sequence[str], command: list[str]) -> None:
    """Put a copy with taps in place of a file of servers in a command: as a word, or behind `=` in one."""
    path = Path(name)
    text = files.read(path).text
    outcome = install(text, servers_in(text, PASTED, shown_path(path)), (), program)
    tell_left(outcome.skipped)
    copy = folder / path.name
    write_private(copy, outcome.text.encode())
    places = [at for at, word in enumerate(command) if word == name or word.endswith(f"={name}")]
    if not places:
        remedy = f"write {name} in the command where the host takes it"
        raise SettingsError("the command does not name this file", f"--mcp-config {name}", remedy)
    for at in places:
        command[at] = command[at].removesuffix(name) + str(copy)


def _tell_end(database: Path, taps: Sequence[str]) -> None:
    """Say what was recorded, in one line."""
    from tui_host.answers.request_weights import calls_of, requests_of, total_counted, weigh
    from tui_host.answers.wires import RecordedWires, Section
    from tui_host.capture.store.store import Store
    from tui_host.cli.recorded import counted
    from tui_host.infer.story_reader import exported_session

    if not taps:
        diagnostics.tell("nothing was asked through the taps before a model")
        return
    head, _, letters = min(taps).rpartition("-")
    until = time.monotonic() + STORED_SECONDS
    try:
        with closing(Store.open_to_read(database)) as store:
            while (ended := exported_session(store, f"{head}-s{letters}"))[0].live and time.monotonic() < until:
                time.sleep(0.02)
            info, source = ended
            wires = RecordedWires((record for record, _ in source.session_records(info.id)), user="the user")
    except TuiHostError as error:
        diagnostics.tell(f"what was recorded cannot be read: {error}")
        return
    whole = Section(is_session=True)
    usage = total_counted(weigh(wires, requests_of(wires, whole)))[0].usage
    tokens = f"{usage.input_total or 0:,} → {usage.output_total or 0:,} tokens"
    diagnostics.tell(f"{counted(calls_of(wires, whole).total(), 'call')} · {tokens} · tui-host sessions show {info.id}")
