"""`tap install` and `tap uninstall`: show a change to another host's configuration, ask, and write or remove taps."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_host.capture.visible import visible
from tui_host.cli import diagnostics, options, output
from tui_host.cli.answerers import ask_on_terminal
from tui_host.errors import JSON, SettingsError
from tui_host.settings.hosts import host_files as files
from tui_host.settings.hosts.host_files import HostFile
from tui_host.settings.hosts.host_servers import servers_in
from tui_host.settings.hosts.known_hosts import TAPPED, KnownHost, files_of, known_host
from tui_host.settings.masked_command import hide
from tui_host.settings.mistakes import nearest
from tui_host.settings.paths import data_dir, whole
from tui_host.settings.toml_files import shown_path
from tui_host.tap.tap_insertion import ChangedServer, SkippedServer, differences, install, uninstall

_KEY = re.compile(r"[\w-]+")


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
            lines.append(f"@@ {_place(change.place)} @@")
            for sign, words in (("-", change.before), ("+", change.after)):
                command, *arguments = (json.dumps(word, ensure_ascii=False) for word in hide(words))
                lines.append(f'{sign}  "command": {command}{"," if arguments else ""}')
                if arguments:
                    lines.append(f'{sign}  "args": [{", ".join(arguments)}]')
        return "\n".join((*lines, "")) if self.changes else ""

    def to_json(self, copies: Mapping[Path, Path | None]) -> dict[str, JSON]:
        """Return the change and whether it was written, with secrets masked as on screen."""
        copy = copies.get(self.file.path)
        return {
            "path": str(self.file.path),
            "changes": [
                {"server": _place(entry.place), "before": list(hide(entry.before)), "after": list(hide(entry.after))}
                for entry in self.changes
            ],
            "left": [
                {"server": _place(entry.place), "why": "behind a URL" if entry.url else entry.why}
                for entry in self.skipped
            ],
            "written": self.file.path in copies,
            "copy": None if copy is None else str(copy),
        }


def _place(keys: Sequence[str]) -> str:
    return ".".join(key if _KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False) for key in keys)


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
    options.json_too(parser)


def run(args: Namespace, environment: Mapping[str, str], agreed: Callable[[], bool] | None = None) -> int:
    """Write or remove taps in a host's configuration; returns the exit code. `agreed` replaces asking on the terminal."""
    host, names = known_host(args.words[0]), args.words[1:]
    is_install = args.command == "tap install"
    program = _program(args.data_dir, environment) if is_install else ()  # without a program, taps are removed
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
        _tell_left(left)
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
        copies = {plan.file.path: _write(plan) for plan in changed}
        diagnostics.tell(f"restart {host.title} or its servers to apply the change")
        if is_install:
            _tell_next(host, args.file)
    if args.json:
        output.value({"host": host.name, "files": [plan.to_json(copies) for plan in plans]})
    return code


def _paths(host: KnownHost, typed: Path | None, environment: Mapping[str, str]) -> list[Path]:
    if typed is not None:
        return [whole(typed, "--file")]
    places = files_of(host, environment)
    existing = [path for path in places if path.is_file()]
    own = [path.resolve() for path in existing]
    for name in host.project_files:
        if Path(name).is_file() and Path(name).resolve() not in own:
            diagnostics.tell(
                f"{name} in this folder is left alone, since others may share it: --file {name} chooses it"
            )
    if not existing:
        looked = ", ".join(map(shown_path, places))
        raise SettingsError(f"no configuration of {host.title} found", looked, "give its file with --file FILE")
    return existing


def _program(folder: Path | None, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command by which a host starts a tap. Names the data folder: the host lacks this shell's environment.

    Names the default folder too: programs started by a snap or a Flatpak have a different default.
    """
    own = own_command(Path(sys.argv[0]), Path(sys.executable))
    if "archive-v0" in own[0]:
        diagnostics.tell(f"{own[0]} is in uv's cache and may vanish: run «uv tool install tui-host» first")
    return (*own, "tap", "stdio", "--data-dir", str(data_dir(folder, environment)))


def own_command(started: Path, interpreter: Path) -> tuple[str, ...]:
    """Return the command that starts this program from any folder and with any PATH.

    Symbolic links are kept: a package manager's link follows its newest version.
    """
    for script in (started, interpreter.with_name("tui-host")):
        if script.name == "tui-host" and os.access(script, os.X_OK):
            return (str(script.absolute()),)
    return (str(interpreter.absolute()), "-P", "-m", "tui_host")


def _planned(file: HostFile, host: KnownHost, names: Sequence[str], program: Sequence[str]) -> _Plan:
    """Plan to write taps that `program` starts, or to remove taps without a program."""
    where = shown_path(file.path)
    servers = servers_in(file.text, host, where)
    outcome = install(file.text, servers, names, program) if program else uninstall(file.text, servers, names)
    return _Plan(
        file=file,
        data=outcome.text.encode(),
        untapped=uninstall(file.text, servers, ()).text.encode(),
        changes=differences(servers, servers_in(outcome.text, host, where)),
        skipped=outcome.skipped,
        names=frozenset(entry.place[-1] for entry in servers),
    )


def _tell_left(left: Sequence[SkippedServer]) -> None:
    """Tell which servers stay unchanged, and why."""
    from tui_host.tap.http.mcp_tap import PORT

    port = PORT
    for server in left:
        why = server.why
        if server.url:
            whole_url, mark, _ = server.url.partition("?")
            (url,) = hide([whole_url])
            words = ("tui-host", "tap", "http", server.place[-1], "--upstream", url, "--port", str(port))
            query = "; keep the part from the ? on" if mark else ""
            why = f"a server behind a URL needs a running relay. Start {shlex.join(words)}, and replace this URL by the printed one{query}"
            port += 1
        diagnostics.tell(f"{_place(server.place)} is left unchanged: {why}")


def _asked() -> bool:
    words = ask_on_terminal("Write this? y yes, n no: ")
    if words is None:
        raise SettingsError("nobody can be asked, so nothing was written", "tap", "add --yes to write without asking")
    return words.lower() in {"y", "yes"}


def _write(plan: _Plan) -> Path | None:
    """Write a file; returns its backup, None if the file has its content from before taps again."""
    path = shown_path(plan.file.path)
    has_changed = files.has_changed(plan.file, plan.untapped)
    backup = files.replace_content(plan.file, plan.data, plan.untapped)
    if backup is None:
        diagnostics.tell(f"{path} is restored to the byte")
        return None
    how = "has changed since taps were written: other changes stay" if has_changed else "is written"
    kept = "this change" if has_changed else "taps"
    diagnostics.tell(f"{path} {how}; its content from before {kept} is kept as {shown_path(backup)}, with all its keys")
    return backup


def _tell_next(host: KnownHost, typed: Path | None) -> None:
    if host.note:
        diagnostics.tell(f"{host.title}: {host.note}")
    back = shlex.join(("tui-host", "tap", "uninstall", host.name, *(("--file", str(typed)) if typed else ())))
    diagnostics.tell(f"recordings are under f5 in tui-host; remove the tap with «{visible(back)}»")
