"""`tap install` and `tap uninstall`: taps in another host's configuration; the difference first, then the question."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tui_host.capture.visible import visible
from tui_host.cli import diagnostics
from tui_host.cli import standard_output as output
from tui_host.cli.masked_command import hide
from tui_host.errors import JSON, SettingsError
from tui_host.settings.hosts import host_files as files
from tui_host.settings.hosts.host_files import HostFile, Restored
from tui_host.settings.hosts.host_servers import Entry, servers_in
from tui_host.settings.hosts.jsonc import BrokenJsonError
from tui_host.settings.hosts.known_hosts import FLATPAKS, KnownHost, files_of, known_host
from tui_host.settings.mistakes import nearest
from tui_host.settings.paths import data_dir, whole
from tui_host.settings.toml_files import shown_path
from tui_host.tap.installation import Change, Left, Outcome, differences, install, uninstall

if TYPE_CHECKING:
    from tui_host.cli.arguments import Arguments

_HAS_CHANGED = "has changed since taps were put in: they alone are taken out, and what else is in it stays as it is now"
_KEY = re.compile(r"[\w-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What is to become of one file.

    Attributes:
        file: As it is.
        data: As it is to be.
        restored: Where that comes from, if a copy says what the file was.
        has_changed: It is not what it was when taps were put in.
        changes: In words.
        left: What was asked for and is not changed.
        names: All servers in it.
    """

    file: HostFile
    data: bytes
    restored: Restored | None
    has_changed: bool
    changes: tuple[Change, ...]
    left: tuple[Left, ...]
    names: frozenset[str]


def tap_install(arguments: Arguments, environment: Mapping[str, str], agreed: Callable[[], bool] | None = None) -> int:
    """Write taps into a host's configuration, or take them out; returns the exit code.

    Args:
        arguments: What was typed: the host, then servers.
        environment: The process's.
        agreed: Asks the person; without it the terminal is asked.

    Raises:
        SettingsError: The host, a server or a file is not there, or a file cannot be read or written.
    """
    host, names = known_host(arguments.words[0]), arguments.words[1:]
    is_install = arguments.action == "install"
    program = _program(arguments, environment) if is_install else ()
    read = [files.read(path) for path in _paths(host, arguments.file, environment)]
    plans = [_installed(file, host, names, program) if is_install else _uninstalled(file, host, names) for file in read]
    _check_names(names, plans, host)
    is_asked = not (arguments.dry_run or arguments.yes)
    for plan in plans:
        _show(plan, output.text if not arguments.json else _aside if is_asked else None)
    could_all = _tell_left(plans, is_told=is_install or bool(names))
    code = diagnostics.DONE if could_all or not names else diagnostics.FAILED
    changed = [plan for plan in plans if plan.data != plan.file.data]
    copies: dict[Path, Path | None] = {}
    if not changed:
        _tell_unchanged(plans, host)
    elif is_asked and not (agreed or _asked)():
        diagnostics.tell("nothing has been written")
        code = diagnostics.REFUSED
    elif not arguments.dry_run:
        copies = {plan.file.path: _write(plan, is_install=is_install) for plan in changed}
        _tell_next(host, arguments.file, is_install=is_install)
    if arguments.json:
        output.value({"host": host.name, "files": [_to_json(plan, copies) for plan in plans]})
    return code


def _to_json(plan: _Plan, copies: Mapping[Path, Path | None]) -> dict[str, JSON]:
    """What was to become of a file, and whether it did; without secrets, as it is shown."""
    copy = copies.get(plan.file.path)
    return {
        "path": str(plan.file.path),
        "changes": [
            {"server": _place(each.place), "before": list(hide(each.before)), "after": list(hide(each.after))}
            for each in plan.changes
        ],
        "left": [{"server": _place(each.place), "why": "behind a URL" if each.url else each.why} for each in plan.left],
        "written": plan.file.path in copies,
        "copy": None if copy is None else str(copy),
    }


def _tell_unchanged(plans: Sequence[_Plan], host: KnownHost) -> None:
    paths = ", ".join(shown_path(plan.file.path) for plan in plans)
    has_servers = any(plan.names for plan in plans)
    diagnostics.tell(f"nothing to change in {paths}" if has_servers else f"no server of {host.title} stands in {paths}")


def _paths(host: KnownHost, typed: Path | None, environment: Mapping[str, str]) -> list[Path]:
    if typed is not None:
        return [whole(typed, "--file")]
    places = files_of(host, environment)
    found = [path for path in places if path.is_file()]
    own = [path.resolve() for path in found]
    shared = [name for name in host.project_files if Path(name).is_file() and Path(name).resolve() not in own]
    if shared:
        diagnostics.tell(f"{', '.join(shared)} of this folder is left alone, others may share it (--file {shared[0]})")
    if not found:
        looked = ", ".join(map(shown_path, places))
        raise SettingsError(f"no configuration of {host.title} is there", looked, "name it with --file FILE")
    return found


def _program(arguments: Arguments, environment: Mapping[str, str]) -> tuple[str, ...]:
    """What a host starts: the data goes where this command's own would, for a host has not this shell's environment.

    Named even where it is the usual place: what a snap or a Flatpak starts has a data folder of its own.
    """
    own = own_command(Path(sys.argv[0]), Path(sys.executable))
    if "archive-v0" in own[0]:
        diagnostics.tell(f"{own[0]} is in uv's cache and may vanish: better «uv tool install tui-host» first")
    return (*own, "tap", "stdio", "--data-dir", str(data_dir(arguments.data_dir, environment)))


def own_command(started: Path, interpreter: Path) -> tuple[str, ...]:
    """This program for one that knows neither this folder nor this PATH.

    Links stay links: what a package manager points at the newest version is to be followed then.

    Args:
        started: What was started, as Python has it.
        interpreter: What runs it.
    """
    for script in (started, interpreter.with_name("tui-host")):
        if script.name == "tui-host" and os.access(script, os.X_OK):
            return (str(script.absolute()),)
    return (str(interpreter.absolute()), "-P", "-m", "tui_host")


def _installed(file: HostFile, host: KnownHost, names: Sequence[str], program: Sequence[str]) -> _Plan:
    servers = _servers(file, file.text, host)
    return _plan(file, host, servers, install(file.text, servers, names, program))


def _uninstalled(file: HostFile, host: KnownHost, names: Sequence[str]) -> _Plan:
    """As it was where nobody has changed it since; else what is there now, without our words."""
    servers = _servers(file, file.text, host)
    before = files.restored(file)
    if before is None or names:
        outcome = uninstall(file.text, servers, names)
    else:
        text = before.data.decode()
        earlier = () if before.is_whole else _servers(file, text, host)
        outcome = uninstall(text, earlier, ())
    return _plan(file, host, servers, outcome, before)


def _plan(
    file: HostFile, host: KnownHost, servers: tuple[Entry, ...], outcome: Outcome, before: Restored | None = None
) -> _Plan:
    data = outcome.text.encode()
    return _Plan(
        file=file,
        data=data,
        restored=before if before is not None and before.data == data else None,
        has_changed=(before is None or not before.is_whole) and files.is_known(file.path),
        changes=differences(servers, _servers(file, outcome.text, host)),
        left=outcome.left,
        names=frozenset(entry.name for entry in servers),
    )


def _servers(file: HostFile, text: str, host: KnownHost) -> tuple[Entry, ...]:
    try:
        return servers_in(text, host)
    except BrokenJsonError as error:
        raise file.broken(error) from None


def _check_names(names: Sequence[str], plans: Sequence[_Plan], host: KnownHost) -> None:
    known = sorted({name for plan in plans for name in plan.names})
    for name in names:
        if name not in known:
            raise SettingsError(f"{host.title} has no server {name}", "SERVER", nearest(name, known))


def _show(plan: _Plan, show: Callable[[str], None] | None) -> None:
    if not plan.changes or show is None:
        return
    path = shown_path(plan.file.path)
    lines = [f"--- {path}", f"+++ {path}"]
    for change in plan.changes:
        lines.append(f"@@ {_place(change.place)} @@")
        sides = (("-", change.before, change.none_before), ("+", change.after, change.none_after))
        for sign, words, none in sides:
            shown = [json.dumps(word, ensure_ascii=False) for word in hide(words)]
            arguments = f"[{', '.join(shown[1:])}]" if shown[1:] else none
            lines.append(f'{sign}  "command": {shown[0]}{"," if arguments else ""}')
            if arguments:
                lines.append(f'{sign}  "args": {arguments}')
    show("\n".join(lines))


def _aside(text: str) -> None:
    diagnostics.write(f"{visible(text)}\n")


def _place(keys: Sequence[str]) -> str:
    return ".".join(key if _KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False) for key in keys)


def _tell_left(plans: Sequence[_Plan], *, is_told: bool) -> bool:
    """Say what stays as it is, and why; returns whether that is all that was asked for."""
    from tui_host.tap.http.mcp_tap import PORT

    left = [each for plan in plans for each in plan.left]
    behind = [each for each in left if each.url]
    for each in left if is_told else ():
        if not each.url:
            diagnostics.tell(f"{_place(each.place)} is left as it is: {each.why}")
            continue
        whole, mark, _ = each.url.partition("?")
        (url,) = hide([whole])
        words = ("tui-host", "tap", "http", each.place[-1], "--upstream", url, "--port", str(PORT + behind.index(each)))
        query = "; what stands in it from the ? on stays" if mark else ""
        diagnostics.tell(
            f"{_place(each.place)} is left as it is: a server behind a URL needs a relay that runs."
            f" Start {shlex.join(words)}, and put the URL that it prints in place of this one{query}"
        )
    return all(each.is_done for each in left)


def _asked() -> bool:
    """Ask on the terminal.

    Raises:
        SettingsError: Nobody sits there.
    """
    import termios

    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        raise SettingsError("nobody can be asked, nothing has been written", "tap", "add --yes to write it")
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)  # what was typed before the question does not answer it
    diagnostics.write("Write this? y yes, n no: ")
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _write(plan: _Plan, *, is_install: bool) -> Path | None:
    """Write a file; returns where it is kept as it was, None where it is again what it was."""
    path = shown_path(plan.file.path)
    if plan.restored is not None:
        files.put_back(plan.file, plan.restored)
        diagnostics.tell(f"{path} is again what it was, to the byte")
        return None
    replace = files.replace_with_tapped if is_install else files.replace_with_untapped
    copy = replace(plan.file, plan.data, datetime.now(UTC))
    if is_install and FLATPAKS in str(plan.file.path):
        told = "«uv tool install --managed-python tui-host» makes one that does"
        diagnostics.tell(
            f"{path} is a Flatpak's, which has a /usr of its own: tui-host must start in there too; {told}"
        )
    how = "is written" if is_install or not plan.has_changed else _HAS_CHANGED
    diagnostics.tell(f"{path} {how}; as it was it is kept as {shown_path(copy)}")
    if not is_install:
        kept = ", ".join(map(shown_path, files.copies(plan.file.path)))
        diagnostics.tell(
            f"these copies stay, with all keys that stood in the file: {kept}; remove what you do not need"
        )
    return copy


def _tell_next(host: KnownHost, typed: Path | None, *, is_install: bool) -> None:
    diagnostics.tell(f"start {host.title}, or its servers, again: they are read at the start")
    if is_install:
        if host.note:
            diagnostics.tell(f"{host.title}: {host.note}")
        back = shlex.join(("tui-host", "tap", "uninstall", host.name, *(("--file", str(typed)) if typed else ())))
        diagnostics.tell(f"what passes is under f5 in tui-host; «{visible(back)}» takes it out again")
