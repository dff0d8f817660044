"""`servers import`: takes servers over from other hosts. What is imported stays off until it is enabled."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui_host.cli import diagnostics, options, output
from tui_host.errors import JSON, SettingsError
from tui_host.servers.catalog import describe, identity
from tui_host.servers.masked_words import hide
from tui_host.settings.hosts import host_files as files
from tui_host.settings.hosts.host_entries import HostEntry, host_of, read_host_entries
from tui_host.settings.hosts.host_files import HostFile
from tui_host.settings.hosts.known_hosts import HOSTS, PASTED, files_of
from tui_host.settings.paths import whole
from tui_host.settings.table_reader import is_table, shown_path
from tui_host.settings.tables import add_entry, read_entry, server_name

if TYPE_CHECKING:
    from tui_host.settings.schema import ServerSpec, Settings

IMPORT = """\
Show the servers in the configuration of Claude Desktop, Claude Code, Cursor, VS Code, Cline, Windsurf, Gemini CLI,
LM Studio and Codex, or in a file, or in text pasted to standard input, and add the chosen ones, switched off."""


def add(parser: options.CommandParser) -> None:
    """Add the options."""
    parser.description = IMPORT
    parser.flag("--json", options.AS_JSON)
    parser.words("*", "FILE", "read this file; - reads standard input")
    parser.flag("--all", "add all")
    parser.option("--only", "NAME", "add this server", repeats=True)
    parser.flag("--dry-run", "only show the servers")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A server that could be imported, under a name that is free; `why_not` says why it cannot, empty if it can."""

    entry: HostEntry
    host: str
    file: str
    address: str  # its command or URL, without secrets
    why_not: str

    def lines(self) -> Iterator[str]:
        """Describe the server in full: what it would run, and with what."""
        entry = self.entry
        project = f"project {entry.place[1]}" if entry.place[:1] == ("projects",) else ""
        yield f"{entry.name}  ({', '.join(filter(None, (f'{self.host} {self.file}'.strip(), project)))})"
        yield self.address or "(nothing to run)"
        for key in ("env", "headers"):
            values = entry.table.get(key)
            if is_table(values):
                yield f"{key}: {' '.join(hide(f'{name}={value}' for name, value in values.items()))}"
        if "cwd" in entry.table:
            yield f"cwd: {entry.table['cwd']}"
        if self.why_not:
            yield f"not added: {self.why_not}"
        yield from (f"note: {note}" for note in entry.notes)

    def to_json(self, added: Collection[str]) -> JSON:
        """Return the entry of `--json`."""
        return {
            "name": self.entry.name,
            "host": self.host,
            "file": self.file,
            "address": self.address,
            "notes": [*self.entry.notes],
            "why_not": self.why_not or None,
            "added": self.entry.name in added and not self.why_not,
        }


def run(args: Namespace, settings: Settings) -> int:
    """Show the servers of other hosts, add the chosen ones, and return the exit code."""
    candidates = list(_named_apart(_candidates(args.words, settings), settings))
    names = [candidate.entry.name for candidate in candidates]
    for name in args.only:
        if name not in names:
            raise SettingsError(f"no server {name} found", "--only", f"choose from {', '.join(names) or 'none'}")
    if not args.json:
        for candidate in candidates:
            output.text("\n  ".join(candidate.lines()))
    free = {candidate.entry.name: candidate.entry for candidate in candidates if not candidate.why_not}
    added = [name for name in free if (args.all or name in args.only) and not args.dry_run]
    for name in added:
        add_entry(settings, name, free[name].table)
    if args.json:
        output.value({"servers": [candidate.to_json(added) for candidate in candidates]})
    if added:
        diagnostics.tell(f"added, switched off: {', '.join(sorted(added))}; tui-host servers enable NAME starts one")
    if not candidates:
        diagnostics.tell("no servers of other hosts found")
    if free and not (args.all or args.only or args.json or args.dry_run):
        raise SettingsError("nothing was added", "servers import", "choose with --only NAME, or add --all")
    return diagnostics.DONE if args.dry_run or {*args.only} <= {*added} else diagnostics.FAILED


def _candidates(words: Sequence[str], settings: Settings) -> Iterator[_Candidate]:
    """Yield the servers of the named file, or of all known hosts' own files."""
    own = {path: host for host in HOSTS for path in files_of(host, settings.environment) if path.is_file()}
    hosts, is_pasted = own, words == ["-"]
    if is_pasted:
        hosts = {Path("-"): PASTED}
    elif words:
        path = whole(Path(words[0]), "FILE")
        hosts = {path: host_of(path, own)}
    for path, host in hosts.items():
        where, data = shown_path(path), b""
        if is_pasted and sys.stdin is not None:
            data = sys.stdin.buffer.read()
        try:
            file = HostFile(path=path, data=data) if is_pasted else files.read(path)
            entries = read_host_entries(file.text, host, where=where)
        except SettingsError as error:
            if words:
                raise
            diagnostics.tell(f"{host.title} is skipped: {error}")
            continue
        for entry in entries:
            address = " ".join(hide(str(entry.table.get(key, "")) for key in ("command", "url"))).strip()
            if not entry.problem:
                address = describe(read_entry(entry.name, entry.table)[0])
            yield _Candidate(entry=entry, host=host.title, file=where, address=address, why_not=entry.problem)
    for name in (host.project_file for host in HOSTS if not words):
        if Path(name).is_file() and Path(name).resolve() not in own:
            diagnostics.tell(f"{name} in this folder is left alone; import it with: tui-host servers import {name}")


def _named_apart(candidates: Iterator[_Candidate], settings: Settings) -> Iterator[_Candidate]:
    """Give each server a name of its own, and mark those that are configured already."""
    specs = {} if settings.default_servers else dict(settings.servers)
    for candidate in candidates:
        entry = candidate.entry
        if entry.problem:
            yield candidate
            continue
        spec, _ = read_entry(entry.name, entry.table)
        same = next((name for name, known in specs.items() if _actions(known) == _actions(spec)), "")
        name, number = entry.name, 2
        if not same and name in specs:
            # Two hosts often call different servers alike.
            name = server_name(f"{entry.name[:25]}-{candidate.host}".lower())
            while name in specs:
                name, number = f"{name[:37]}-{number}", number + 1
        if not same:
            specs[name] = spec
        why_not = f"the same server as {same}" if same else ""
        yield replace(candidate, entry=replace(entry, name=name), why_not=why_not)


def _actions(spec: ServerSpec) -> tuple[object, ...]:
    return identity(spec), dict(spec.env), dict(spec.headers), spec.cwd
