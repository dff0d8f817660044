"""`servers import` and `servers export`: exchange servers with other hosts. What is imported stays off until it is enabled."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui_host.cli import diagnostics
from tui_host.cli import standard_output as output
from tui_host.cli.chosen_servers import chosen_servers
from tui_host.cli.terminal_question import ask_on_terminal
from tui_host.errors import JSON, SettingsError
from tui_host.servers.catalog import describe, identity
from tui_host.settings.credential_places import in_variables, in_words
from tui_host.settings.hosts import host_files as files
from tui_host.settings.hosts.host_entries import HostEntry, host_of, read_host_entries
from tui_host.settings.hosts.host_files import HostFile
from tui_host.settings.hosts.jsonc import BrokenJsonError
from tui_host.settings.hosts.known_hosts import HOSTS, PASTED, KnownHost, files_of
from tui_host.settings.masked_command import hide
from tui_host.settings.paths import whole
from tui_host.settings.schema import REFERENCE, Template
from tui_host.settings.sensitivity import sensitivity
from tui_host.settings.server_entries import add_entry, read_entry
from tui_host.settings.server_tables import server_name
from tui_host.settings.table_reader import is_table
from tui_host.settings.toml_files import shown_path

if TYPE_CHECKING:
    from tui_host.cli.arguments import Arguments
    from tui_host.settings.schema import ServerSpec, Settings


_YES, _ALL, _QUIT = frozenset(("y", "yes")), frozenset(("a", "all")), frozenset(("q", "quit"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A server that could be imported.

    Attributes:
        entry: The server, under a name that is free.
        host: The host's title, empty if unknown.
        file: The file's path for display.
        known_as: A configured or earlier server that does the same, empty if there is none.
    """

    entry: HostEntry
    host: str
    file: str
    known_as: str = ""

    @property
    def why_not(self) -> str:
        """Why the server cannot be added, empty if it can."""
        return self.entry.problem or (f"the same server as {self.known_as}" if self.known_as else "")


def import_servers(arguments: Arguments, settings: Settings) -> int:
    """Show the servers of other hosts, add the chosen ones, and return the exit code.

    Raises:
        SettingsError: A file cannot be read, a name is unknown, or nothing was chosen and nobody can be asked.
    """
    candidates = list(_named_apart(_candidates(arguments.words, settings), settings))
    names = [candidate.entry.name for candidate in candidates]
    for name in arguments.only:
        if name not in names:
            raise SettingsError(f"no server {name} found", "--only", f"choose from {', '.join(names) or 'none'}")
    added = _added(candidates, arguments, settings)
    if added is None:
        remedy = "choose with --only NAME, or add --all"
        raise SettingsError("nobody can be asked, so nothing was added", "servers import", remedy)
    if arguments.json:
        output.value({"servers": [_to_json(candidate, added) for candidate in candidates]})
    if added:
        diagnostics.tell(f"added, switched off: {', '.join(sorted(added))}; tui-host servers enable NAME starts one")
    if not candidates:
        diagnostics.tell("no servers of other hosts found")
    return diagnostics.FAILED if set(arguments.only) - added else diagnostics.DONE


def _added(candidates: Sequence[_Candidate], arguments: Arguments, settings: Settings) -> set[str] | None:
    """Show the servers, add those chosen by the options or on the terminal, and return their names; None if nobody can be asked."""
    asks, takes_all, added = not (arguments.only or arguments.json or arguments.dry_run), arguments.all, set[str]()
    answer: str | None = ""
    for candidate in candidates:
        name = candidate.entry.name
        if not arguments.json:
            _show(candidate)
        if candidate.why_not:
            continue
        if asks and not takes_all and answer is not None:
            answer = ask_on_terminal(f"Add {name}? y yes, n no, a all, q quit: ")
            answer = answer and answer.lower()
            takes_all = answer in _ALL
        if answer in _QUIT:
            break
        if takes_all or name in arguments.only or answer in _YES:
            add_entry(settings, name, candidate.entry.table)
            added.add(name)
    return None if answer is None else added


def _candidates(words: Sequence[str], settings: Settings) -> Iterator[_Candidate]:
    """Yield the servers of the named file, or of all known hosts' own files."""
    environment = settings.environment
    own = {path: host for host in HOSTS for path in files_of(host, environment) if path.is_file()}
    if words == ("-",):
        data = sys.stdin.buffer.read(files.LIMIT) if sys.stdin is not None else b""
        yield from _read(HostFile(path=Path("-"), data=data, mode=0, names=1), PASTED, None)
    elif words:
        path = whole(Path(words[0]), "FILE")
        yield from _read(files.read(path), *host_of(path, own))
    else:
        for path, host in own.items():
            try:
                yield from _read(files.read(path), host, None)
            except SettingsError as error:
                diagnostics.tell(f"{host.title} is skipped: {error}")
        for name in (name for host in HOSTS for name in host.project_files if Path(name).is_file()):
            if Path(name).resolve() not in own:
                diagnostics.tell(f"{name} in this folder is left alone; import it with: tui-host servers import {name}")


def _read(file: HostFile, host: KnownHost, folder: Path | None) -> Iterator[_Candidate]:
    try:
        entries = read_host_entries(file.text, host, folder)
    except BrokenJsonError as error:
        raise file.broken(error) from None
    for entry in entries:
        yield _Candidate(entry=entry, host=host.title, file=shown_path(file.path))


def _named_apart(candidates: Iterator[_Candidate], settings: Settings) -> Iterator[_Candidate]:
    """Give each server a name of its own, and mark those that are configured already."""
    specs = {} if settings.default_servers else dict(settings.servers)
    for candidate in candidates:
        entry = candidate.entry
        if entry.problem:
            yield candidate
            continue
        spec, _ = read_entry(entry.name, entry.table)
        same = next((name for name, known in specs.items() if _does_same(known, spec)), "")
        name, number = entry.name, 2
        if not same and name in specs:
            name = server_name(f"{entry.name[:25]}-{candidate.host}".lower())
            while name in specs:
                name, number = f"{name[:37]}-{number}", number + 1
        if not same:
            specs[name] = spec
        yield replace(candidate, entry=replace(entry, name=name), known_as=same)


def _does_same(one: ServerSpec, two: ServerSpec) -> bool:
    first, second = ((identity(spec), dict(spec.env), dict(spec.headers), spec.cwd) for spec in (one, two))
    return first == second


def _show(candidate: _Candidate) -> None:
    entry = candidate.entry
    place = " ".join(word for word in (candidate.host, candidate.file) if word)
    project = entry.place[1] if entry.place[:1] == ("projects",) else ""
    output.text(f"{entry.name}  ({place}{f', project {project}' if project else ''})")
    for line in _details(candidate):
        output.text(f"  {line}")


def _details(candidate: _Candidate) -> Iterator[str]:
    table = candidate.entry.table
    yield _described(candidate) or "(nothing to run)"
    for key in ("env", "headers"):
        values = table.get(key)
        if is_table(values):
            yield f"{key}: {' '.join(hide(f'{name}={value}' for name, value in values.items()))}"
    if "cwd" in table:
        yield f"cwd: {table['cwd']}"
    if candidate.why_not:
        yield f"not added: {candidate.why_not}"
    yield from (f"note: {note}" for note in candidate.entry.notes)


def _described(candidate: _Candidate) -> str:
    if candidate.entry.problem:
        return " ".join(hide(str(candidate.entry.table.get(key, "")) for key in ("command", "url"))).strip()
    return describe(read_entry(candidate.entry.name, candidate.entry.table)[0])


def _to_json(candidate: _Candidate, added: set[str]) -> JSON:
    return {
        "name": candidate.entry.name,
        "host": candidate.host,
        "file": candidate.file,
        "address": _described(candidate),
        "notes": list(candidate.entry.notes),
        "why_not": candidate.why_not or None,
        "added": candidate.entry.name in added and not candidate.why_not,
    }


def export_servers(arguments: Arguments, settings: Settings) -> int:
    """Print servers in the form that most hosts read, and return the exit code. Written-out secrets become references.

    Raises:
        SettingsError: A server is not configured.
    """
    names = chosen_servers(settings.servers, arguments.words or tuple(settings.servers))
    written: dict[str, JSON] = {}
    for spec in (settings.servers[name] for name in names):
        if spec.bundled is None:
            written[spec.name] = _common_form(spec)
        else:
            diagnostics.tell(f"{spec.name} is left out: other hosts do not have bundled servers")
    output.value({"mcpServers": written})
    return diagnostics.DONE


def _common_form(spec: ServerSpec) -> dict[str, JSON]:
    form: dict[str, JSON] = {}
    if spec.command is not None:
        form = {"command": spec.command.text, "args": list(_without_secrets(spec, [word.text for word in spec.args]))}
        if spec.env:
            form["env"] = {name: _without_secret(spec, "env", name, value) for name, value in spec.env.items()}
        if spec.cwd is not None:
            form["cwd"] = spec.cwd.text
    elif spec.url is not None:
        (url,) = _without_secrets(spec, [spec.url.text])
        form = {"type": spec.transport, "url": url}
        if spec.headers:
            headers = {name: _without_secret(spec, "headers", name, value) for name, value in spec.headers.items()}
            form["headers"] = headers
    return form if spec.enabled else {**form, "disabled": True}


def _without_secrets(spec: ServerSpec, words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command or a URL, with a reference in place of each secret that is written out."""
    secrets = {value: name for name, value in in_words(words) if not REFERENCE.search(value)}
    for text in words:
        for value, name in secrets.items():
            if value in text:
                text = text.replace(value, _reference_for(spec, name))  # noqa: PLW2901 - replaced step by step
        yield text


def _without_secret(spec: ServerSpec, key: str, name: str, value: Template) -> str:
    """Return a variable or header, as a reference if it is a secret that is written out."""
    is_secret = any(in_variables({name: value.text})) if key == "env" else sensitivity(name) == "remove"
    is_written_out = is_secret and not REFERENCE.search(value.text)
    return _reference_for(spec, name, is_variable=key == "env") if is_written_out else value.text


def _reference_for(spec: ServerSpec, name: str, *, is_variable: bool = False) -> str:
    variable = name if is_variable else re.sub(r"\W+", "_", f"{spec.name}_{name.strip('-')}", flags=re.ASCII).upper()
    diagnostics.tell(f"servers.{spec.name} holds a secret itself ({name}); it is exported as ${{{variable}}}")
    return f"${{{variable}}}"
