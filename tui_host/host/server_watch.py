"""Watches files: restarts servers whose `watch` files change, says what their catalogs gained and lost, notices new settings."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import anyio
from anyio import to_thread

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON, SettingsError, TuiHostError
from tui_host.servers.catalog_changes import Offers, changes_between, offers_of
from tui_host.settings.environment_references import secret_headers, secrets_of
from tui_host.settings.load import Overrides, load
from tui_host.settings.paths import CONFIG_FILE, ensure_private_dir
from tui_host.settings.save import STATE_FILE, write_private
from tui_host.settings.tables import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_host.capture.redact.redaction import Redactor
    from tui_host.servers.catalog import ServerStatus
    from tui_host.servers.pool import Pool
    from tui_host.settings.schema import ServerSpec, Settings

Marks: TypeAlias = dict[str, tuple[int, int]]
"""Time of change and size of files, by path."""
SECONDS = 1.0
SETTLED_NS = 2_000_000_000
"""A server's catalog is compared once it has been ready for this long: some servers add tools just after they are ready."""
MOST_FILES = 5_000
LARGEST = 2_000_000
SKIPPED = frozenset((".git", "node_modules", "__pycache__", ".venv", "dist"))
CATALOGS = "catalogs"
"""Folder beside the database with what each server offered when it was last connected."""


@dataclass(slots=True, eq=False)
class ServerWatch:
    """Watches the files of servers and of the configuration. Run `run` in a task.

    Args:
        _pool: The servers.
        _settings: Returns the configuration, as it was read last.
        _redact: Removes secrets from JSON.
        _notices: Receives what changed, in words.
        _is_kept: Whether catalogs are stored.
    """

    _pool: Pool
    _settings: Callable[[], Settings]
    _redact: Callable[[str], str]
    _notices: list[str]
    _is_kept: bool
    _watched: dict[str, Marks] = field(default_factory=dict[str, Marks])
    _configured: Marks | None = None
    _told: object = None  # the servers and switches of the last notice
    _offers: dict[str, Offers] = field(default_factory=dict[str, Offers])
    _compared: dict[str, str] = field(default_factory=dict[str, str])  # whose first catalog was compared

    async def run(self) -> None:
        """Look at all files every second, and at all catalogs that have changed."""
        while True:
            for spec in self._settings().servers.values():
                if not spec.watch:
                    continue
                marks = await to_thread.run_sync(_marks, watched_files(spec, self._settings().environment))
                before = self._watched.get(spec.name, marks)
                self._watched[spec.name] = marks
                changed = sorted(path for path in {*marks, *before} if marks.get(path) != before.get(path))
                server = self._pool.server(spec.name)
                if changed and server.is_wanted:
                    more = f" and {len(changed) - 1:,} more" if len(changed) > 1 else ""
                    self._notices.append(f"{spec.name} restarts: {Path(changed[0]).name}{more} changed")
                    server.reconnect()
            await self._look_at_settings(self._settings())
            for status in self._pool.statuses():
                if status.state == "ready" and self._pool.server(status.name).is_listed:
                    await self._look_at_catalog(status)
            await anyio.sleep(SECONDS)

    async def _look_at_settings(self, settings: Settings) -> None:
        folder = settings.config_dir
        files = (settings.config_file or folder / CONFIG_FILE, folder / STATE_FILE)
        marks = await to_thread.run_sync(lambda: _marks((*files, *(folder / FOLDER).glob("*.toml"))))
        before, self._configured = self._configured, marks
        if before is None or marks == before or not _is_from_files(settings):
            return
        try:
            fresh = await to_thread.run_sync(_fresh, settings)
        except SettingsError as error:
            self._notices.append(f"the configuration has changed, and has a mistake: {error}")
            return
        words = ", ".join(_changes(settings, fresh, self._pool))
        told = self._told or (settings.servers, settings.switches)
        if (fresh.servers, fresh.switches) != told and words:
            self._notices.append(f"the configuration of servers has changed ({words}): /reload applies it")
        self._told = (fresh.servers, fresh.switches)

    async def _look_at_catalog(self, status: ServerStatus) -> None:
        """Compare a ready server's catalog with the one before, unless it is unchanged."""
        is_new = self._compared.get(status.name) != status.connection
        if is_new and time.monotonic_ns() - status.since_mono_ns < SETTLED_NS:
            return
        self._compared[status.name] = status.connection
        offers, before = offers_of(status), self._offers.get(status.name)
        if offers == before:
            return
        self._offers[status.name] = offers
        path = self._settings().data_dir / CATALOGS / f"{status.name}.json"
        if is_new:
            stored = before if before is not None or not self._is_kept else await to_thread.run_sync(_stored, path)
            changes = changes_between(stored, offers) if stored is not None else ()
            lines = [str(change) for change in changes]
            gone = [change.name for change in changes if change.kind == "tool" and change.sign != "+"]
            void = [f"session rules for {', '.join(gone)} are void"] if gone else []
            if changes:
                self._pool.server(status.name).tell_changes((*lines, *void))
                shown = [*lines[:5], *([f"{len(lines) - 5} more"] if len(lines) > 5 else []), *void]
                told = f"{status.name} has changed since it was last connected"
                self._notices.append(f"{told}: {' · '.join(shown)} (/mcp)")
        if self._is_kept:
            try:
                await to_thread.run_sync(_store, path, self._redact(json.dumps(offers)))
            except SettingsError as error:
                self._is_kept = False
                self._notices.append(f"what servers offer is not kept for the next start: {error}")


def reload_servers(before: Settings, pool: Pool, redactor: Redactor) -> tuple[Settings, str]:
    """Return the settings with the servers of the configuration as it is now, which are applied, and what changed, in words.

    Raises SettingsError, with nothing applied, if the configuration has a mistake.
    """
    if not _is_from_files(before):
        return before, "no server comes from the configuration"
    fresh = _fresh(before)
    redactor.add(*((secret.name, secret.reveal()) for secret in secrets_of(fresh)), headers=secret_headers(fresh))
    words = ", ".join(_changes(before, fresh, pool))
    pool.take(fresh.servers, fresh.switches)
    settings = replace(before, servers=fresh.servers, switches=fresh.switches, fixed=fresh.fixed, rules=fresh.rules)
    return settings, words or "nothing changed"


def _fresh(settings: Settings) -> Settings:
    overrides = Overrides(config=settings.config_file, data_dir=settings.data_dir, needs_model=False)
    return load(overrides, settings.environment)


def _is_from_files(settings: Settings) -> bool:
    """Whether the servers come from files, or are the bundled ones: a server that was typed stays alone."""
    return all(spec.file or spec.bundled is not None for spec in settings.servers.values())


def _changes(before: Settings, fresh: Settings, pool: Pool) -> Iterator[str]:
    """Yield the servers and tools that differ; a switch that was used in the app itself makes no difference."""
    for name in {**before.servers, **fresh.servers}:
        was, now = before.servers.get(name), fresh.servers.get(name)
        if was is None or now is None:
            yield f"{'+' if was is None else '-'} {name}"
        elif was != now and (replace(was, enabled=now.enabled) != now or pool.server(name).is_wanted != now.enabled):
            yield f"~ {name}"
    for name, is_on in fresh.switches.items():
        server, dot, tool = name.partition(".")
        if dot and server in pool.servers and (tool in pool.servers[server].tools_off) == is_on:
            yield f"~ {name}"


def watched_files(spec: ServerSpec, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the files that a server watches, at most `MOST_FILES`. In a pattern, `*` also matches slashes."""
    from tui_host.servers.server_endpoint import resolve_endpoint

    try:
        command = resolve_endpoint(spec, environment).command
    except TuiHostError:
        return  # the connection says why
    folder = command.cwd if command is not None and command.cwd is not None else Path(spec.file or ".").parent
    count = 0
    for watched in spec.watch:
        pattern = f"{watched}/**" if os.path.isdir(folder / watched) else watched.replace("**/", "*")  # noqa: PTH112 - as below
        if os.path.isfile(folder / pattern):  # noqa: PTH113 - the path's own method raises where a folder is closed
            yield folder / pattern
            continue
        for inner, folders, files in os.walk(folder / pattern.partition("*")[0].rpartition("/")[0]):
            folders[:] = sorted(name for name in folders if name not in SKIPPED)
            for path in (Path(inner, name) for name in sorted(files)):
                count += 1
                if count > MOST_FILES:
                    return
                if fnmatchcase(str(path), str(folder / pattern)):
                    yield path


def _marks(paths: Iterable[Path]) -> Marks:
    marks: Marks = {}
    for path in paths:
        with suppress(OSError):  # the file has gone, which is a change
            status = path.stat()
            marks[str(path)] = status.st_mtime_ns, status.st_size
    return marks


def _stored(path: Path) -> Mapping[str, JSON] | None:
    try:
        value: JSON = json.loads(path.read_bytes()[:LARGEST])
    except (OSError, ValueError):  # never connected before, or the file was damaged
        return None
    return mapping(value) or None


def _store(path: Path, text: str) -> None:
    ensure_private_dir(path.parent)
    if len(text) <= LARGEST:
        write_private(path, text.encode(errors="replace"))
