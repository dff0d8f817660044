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
from tui_host.settings.hosts.host_servers import Entry, servers_in
from tui_host.settings.hosts.jsonc import BrokenJsonError
from tui_host.settings.hosts.known_hosts import FLATPAKS, TAPPED, KnownHost, files_of, known_host
from tui_host.settings.masked_command import hide
from tui_host.settings.mistakes import nearest
from tui_host.settings.paths import data_dir, whole
from tui_host.settings.toml_files import shown_path
from tui_host.tap.tap_insertion import ChangedServer, SkippedServer, differences, install, uninstall

_HAS_CHANGED = "has changed since taps were written: only the taps are removed, and all other changes stay"
_KEY = re.compile(r"[\w-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """The planned change of a configuration file.

    Attributes:
        data: The new content of the file.
        untapped: The present content of the file without any tap.
        has_changed: Whether the file was edited since taps were written.
        skipped: The servers that were asked for but stay unchanged.
        names: Names of all servers in the file.
    """

    file: HostFile
    data: bytes
    untapped: bytes
    has_changed: bool
    changes: tuple[ChangedServer, ...]
    skipped: tuple[SkippedServer, ...]
    names: frozenset[str]


def add(parser: options.CommandParser) -> None:
    """Add the options."""
    action = parser.command.partition(" ")[2]
    if action == "install":
        words = "Write stdio taps in front of the commands of a host's servers."
    else:
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
            output.text(_difference(plan), end="")
        elif is_asked:
            diagnostics.write(visible(_difference(plan)))
    could_all = _tell_left(plans, is_told=is_install or bool(names))
    code = diagnostics.DONE if could_all or not names else diagnostics.FAILED
    changed = [plan for plan in plans if plan.data != plan.file.data]
    copies: dict[Path, Path | None] = {}
    if not changed:
        what = "nothing to change in" if configured else f"no server of {host.title} found in"
        diagnostics.tell(f"{what} {', '.join(map(shown_path, paths))}")
    elif is_asked and not (agreed or _asked)():
        diagnostics.tell("nothing was written")
        code = diagnostics.REFUSED
    elif not args.dry_run:
        copies = {plan.file.path: _write(plan, is_install=is_install) for plan in changed}
        _tell_next(host, args.file, is_install=is_install)
    if args.json:
        output.value({"host": host.name, "files": [_to_json(plan, copies) for plan in plans]})
    return code


def _to_json(plan: _Plan, copies: Mapping[Path, Path | None]) -> dict[str, JSON]:
    """Return a file's planned change and whether it was written, with secrets masked as on screen."""
    copy = copies.get(plan.file.path)
    return {
        "path": str(plan.file.path),
        "changes": [
            {"server": _place(entry.place), "before": list(hide(entry.before)), "after": list(hide(entry.after))}
            for entry in plan.changes
        ],
        "left": [
            {"server": _place(entry.place), "why": "behind a URL" if entry.url else entry.why} for entry in plan.skipped
        ],
        "written": plan.file.path in copies,
        "copy": None if copy is None else str(copy),
    }


def _paths(host: KnownHost, typed: Path | None, environment: Mapping[str, str]) -> list[Path]:
    if typed is not None:
        return [whole(typed, "--file")]
    places = files_of(host, environment)
    existing = [path for path in places if path.is_file()]
    own = [path.resolve() for path in existing]
    shared = [name for name in host.project_files if Path(name).is_file() and Path(name).resolve() not in own]
    if shared:
        diagnostics.tell(
            f"{', '.join(shared)} in this folder is left alone, because others may share it (choose it with --file {shared[0]})"
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
    servers = _servers(file, file.text, host)
    outcome = install(file.text, servers, names, program) if program else uninstall(file.text, servers, names)
    untapped = uninstall(file.text, servers, ()).text.encode()
    return _Plan(
        file=file,
        data=outcome.text.encode(),
        untapped=untapped,
        has_changed=files.has_changed(file, untapped),
        changes=differences(servers, _servers(file, outcome.text, host)),
        skipped=outcome.skipped,
        names=frozenset(entry.name for entry in servers),
    )


def _servers(file: HostFile, text: str, host: KnownHost) -> tuple[Entry, ...]:
    try:
        return servers_in(text, host)
    except BrokenJsonError as error:
        raise file.broken(error) from None


def _difference(plan: _Plan) -> str:
    """Return the change in lines, empty if there is none."""
    if not plan.changes:
        return ""
    path = shown_path(plan.file.path)
    lines = [f"--- {path}", f"+++ {path}"]
    for change in plan.changes:
        lines.append(f"@@ {_place(change.place)} @@")
        sides = (("-", change.before, change.no_arguments_before), ("+", change.after, change.no_arguments_after))
        for sign, words, none in sides:
            shown = [json.dumps(word, ensure_ascii=False) for word in hide(words)]
            arguments = f"[{', '.join(shown[1:])}]" if shown[1:] else none
            lines.append(f'{sign}  "command": {shown[0]}{"," if arguments else ""}')
            if arguments:
                lines.append(f'{sign}  "args": {arguments}')
    return "\n".join((*lines, ""))


def _place(keys: Sequence[str]) -> str:
    return ".".join(key if _KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False) for key in keys)


def _tell_left(plans: Sequence[_Plan], *, is_told: bool) -> bool:
    """Print which servers stay unchanged, and why; returns whether each of them already is as requested."""
    from tui_host.tap.http.mcp_tap import PORT

    left = [server for plan in plans for server in plan.skipped]
    behind = [server for server in left if server.url]
    for server in left if is_told else ():
        if not server.url:
            diagnostics.tell(f"{_place(server.place)} is left unchanged: {server.why}")
            continue
        whole, mark, _ = server.url.partition("?")
        (url,) = hide([whole])
        port = str(PORT + behind.index(server))
        words = ("tui-host", "tap", "http", server.place[-1], "--upstream", url, "--port", port)
        query = "; keep the part from the ? on" if mark else ""
        diagnostics.tell(
            f"{_place(server.place)} is left unchanged: a server behind a URL needs a running relay."
            f" Start {shlex.join(words)}, and replace this URL by the printed one{query}"
        )
    return all(server.is_done for server in left)


def _asked() -> bool:
    words = ask_on_terminal("Write this? y yes, n no: ")
    if words is None:
        raise SettingsError("nobody can be asked, so nothing was written", "tap", "add --yes to write without asking")
    return words.lower() in {"y", "yes"}


def _write(plan: _Plan, *, is_install: bool) -> Path | None:
    """Write a file; returns its backup, None if the file has its content from before taps again."""
    path = shown_path(plan.file.path)
    backup = files.replace_content(plan.file, plan.data, plan.untapped)
    if backup is None:
        diagnostics.tell(f"{path} is restored to the byte")
        return None
    if is_install and FLATPAKS in str(plan.file.path):
        advice = "«uv tool install --managed-python tui-host» makes that possible"
        diagnostics.tell(f"{path} belongs to a Flatpak with its own /usr, where tui-host must start too; {advice}")
    how = "is written" if is_install or not plan.has_changed else _HAS_CHANGED
    kept = "its content from before taps" if not plan.has_changed else "its content from before this change"
    diagnostics.tell(f"{path} {how}; {kept} is kept as {shown_path(backup)}, with all keys of the file")
    return backup


def _tell_next(host: KnownHost, typed: Path | None, *, is_install: bool) -> None:
    diagnostics.tell(f"restart {host.title} or its servers to apply the change")
    if is_install:
        if host.note:
            diagnostics.tell(f"{host.title}: {host.note}")
        back = shlex.join(("tui-host", "tap", "uninstall", host.name, *(("--file", str(typed)) if typed else ())))
        diagnostics.tell(f"recordings are under f5 in tui-host; remove the tap with «{visible(back)}»")
