"""`tap install` and `tap uninstall`: show a change to another host's configuration, ask, and write or remove taps."""

from __future__ import annotations

import json
import os
import shlex
import sys
import termios
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_host.capture.visible import visible
from tui_host.cli import diagnostics, options, output
from tui_host.cli.answerers import can_ask
from tui_host.errors import JSON, SettingsError
from tui_host.servers.masked_words import hide
from tui_host.settings.hosts import host_files as files
from tui_host.settings.hosts.host_entries import servers_in
from tui_host.settings.hosts.host_files import HostFile
from tui_host.settings.hosts.known_hosts import TAPPED, KnownHost, files_of, known_host
from tui_host.settings.mistakes import nearest
from tui_host.settings.paths import data_dir, whole
from tui_host.settings.table_reader import shown_path
from tui_host.tap.tap_insertion import ChangedServer, SkippedServer, differences, install


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """The planned change of a configuration file: its new content, and the present content without any tap."""

    file: HostFile
    data: bytes
    untapped: bytes
    changes: tuple[ChangedServer, ...]
    skipped: tuple[SkippedServer, ...]
    names: frozenset[str]

    def difference(self) -> str:
        """Return the change in lines, empty if there is none."""
        path = shown_path(self.file.path)
        lines = [f"--- {path}", f"+++ {path}"]
        for change in self.changes:
            lines.append(f"@@ {'.'.join(change.place)} @@")
            for sign, words in (("-", change.before), ("+", change.after)):
                lines.append(f"{sign}  {json.dumps([*hide(words)], ensure_ascii=False)}")
        return "\n".join((*lines, "")) if self.changes else ""

    def to_json(self, copies: Mapping[Path, Path | None]) -> dict[str, JSON]:
        """Return the change and whether it was written, with secrets masked as on screen."""
        copy = copies.get(self.file.path)
        return {
            "path": str(self.file.path),
            "changes": [
                {"server": ".".join(entry.place), "before": list(hide(entry.before)), "after": list(hide(entry.after))}
                for entry in self.changes
            ],
            "left": [
                {"server": ".".join(entry.place), "why": "behind a URL" if entry.url else entry.why}
                for entry in self.skipped
            ],
            "written": self.file.path in copies,
            "copy": None if copy is None else str(copy),
        }


def add(parser: options.CommandParser) -> None:
    """Add the options."""
    action = parser.command.partition(" ")[2]
    words = "Write stdio taps in front of the commands of a host's servers."
    if action == "uninstall":
        words = "Remove the taps from a host's configuration; a file that was not edited since is restored exactly."
    parser.description = (
        f"{words}\nShows the difference, asks, and keeps a copy of the old file beside it.\n"
        f"Hosts: {', '.join(host.name for host in TAPPED)}."
    )
    parser.usage = f"tui-host tap {action} [--file FILE] [--dry-run] [--yes] [--json] HOST [SERVER ...]"
    parser.words("+", "HOST", "a host, then its servers, if not all")
    parser.option("--file", "FILE", "the host's configuration file, if not the usual one", options.path_of)
    parser.flag("--dry-run", "only show the difference")
    parser.flag("--yes", "write without asking")
    parser.flag("--json", options.AS_JSON)


def run(args: Namespace, environment: Mapping[str, str], agreed: Callable[[], bool] | None = None) -> int:
    """Write or remove taps in a host's configuration; returns the exit code. `agreed` replaces asking on the terminal."""
    host, names = known_host(args.words[0]), args.words[1:]
    is_install = args.command == "tap install"
    program = own_program(args.data_dir, environment) if is_install else ()  # without a program, taps are removed
    paths = _paths(host, args.file, environment)
    plans = [_planned(files.read(path), host, names, program) for path in paths]
    configured = sorted({name for plan in plans for name in plan.names})
    for name in names:
        if name not in configured:
            raise SettingsError(f"{host.title} has no server {name}", "SERVER", nearest(name, configured))
    is_asked = not (args.dry_run or args.yes)
    for plan in plans:
        if not args.json:
            output.text(plan.difference(), end="")
        elif is_asked:
            diagnostics.write(visible(plan.difference()))
    left = [server for plan in plans for server in plan.skipped]
    if is_install or names:
        tell_left(left)
    code = diagnostics.FAILED if names and not all(server.is_done for server in left) else diagnostics.DONE
    changed = [plan for plan in plans if plan.data != plan.file.data]
    copies: dict[Path, Path | None] = {}
    if not changed:
        what = "nothing to change in" if configured else f"no server of {host.title} found in"
        diagnostics.tell(f"{what} {', '.join(map(shown_path, paths))}")
    elif is_asked and not (agreed or _asked)():
        diagnostics.tell("nothing was written")
        code = diagnostics.REFUSED
    elif not args.dry_run:
        for plan in changed:
            path = shown_path(plan.file.path)
            backup = copies[plan.file.path] = files.replace_content(plan.file, plan.data, plan.untapped)
            if backup is None:  # the file has its content from before taps again
                diagnostics.tell(f"{path} is restored to the byte")
            else:
                kept = f"its former content is kept as {shown_path(backup)}, with all its keys"
                diagnostics.tell(f"{path} is written; {kept}")
        diagnostics.tell(f"restart {host.title} or its servers to apply the change")
        if is_install:
            file = ("--file", str(args.file)) if args.file else ()
            back = shlex.join(("tui-host", "tap", "uninstall", host.name, *file))
            diagnostics.tell(f"recordings are under /sessions in tui-host; remove the tap with «{visible(back)}»")
    if args.json:
        output.value({"host": host.name, "files": [plan.to_json(copies) for plan in plans]})
    return code


def _paths(host: KnownHost, typed: Path | None, environment: Mapping[str, str]) -> list[Path]:
    if typed is not None:
        return [whole(typed, "--file")]
    places = files_of(host, environment)
    existing = [path for path in places if path.is_file()]
    name = host.project_file
    if Path(name).is_file() and Path(name).resolve() not in [path.resolve() for path in existing]:
        diagnostics.tell(f"{name} in this folder is left alone, since others may share it: --file {name} chooses it")
    if not existing:
        looked = ", ".join(map(shown_path, places))
        raise SettingsError(f"no configuration of {host.title} found", looked, "give its file with --file FILE")
    return existing


def own_program(folder: Path | None, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command by which a host starts a tap from any folder, with any PATH; it names the data folder, which may be another there."""
    interpreter = Path(sys.executable)
    own = (str(interpreter.absolute()), "-P", "-m", "tui_host")
    for script in (interpreter.with_name("tui-host"), Path(sys.argv[0])):  # the last one counts
        if script.name == "tui-host" and os.access(script, os.X_OK):
            own = (str(script.absolute()),)  # not resolved: a package manager's link follows its newest version
    if "archive-v0" in own[0]:
        diagnostics.tell(f"{own[0]} is in uv's cache and may vanish: run «uv tool install tui-host» first")
    return (*own, "tap", "stdio", "--data-dir", str(data_dir(folder, environment)))


def _planned(file: HostFile, host: KnownHost, names: Sequence[str], program: Sequence[str]) -> _Plan:
    where = shown_path(file.path)
    servers = servers_in(file.text, host, where)
    outcome = install(file.text, servers, names, program)
    return _Plan(
        file=file,
        data=outcome.text.encode(),
        untapped=install(file.text, servers, (), ()).text.encode(),
        changes=differences(servers, servers_in(outcome.text, host, where)),
        skipped=outcome.skipped,
        names=frozenset(entry.place[-1] for entry in servers),
    )


def tell_left(left: Sequence[SkippedServer]) -> None:
    """Say which servers are left unchanged, and why."""
    port = 8322
    for server in left:
        why = server.why
        if server.url:
            (url,) = hide([server.url.partition("?")[0]])
            words = shlex.join(("tui-host", "tap", "http", server.place[-1], "--upstream", url, "--port", str(port)))
            why = f"it is behind a URL. Start {words}, and write the printed URL in place of this one, up to its ?"
            port += 1  # each tap needs one of its own
        diagnostics.tell(f"{'.'.join(server.place)} is left unchanged: {why}")


def _asked() -> bool:
    if not can_ask():
        raise SettingsError("nobody can be asked, so nothing was written", "tap", "add --yes to write without asking")
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)  # keys typed before the question do not count as its answer
    diagnostics.write("Write this? y yes, n no: ")
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
