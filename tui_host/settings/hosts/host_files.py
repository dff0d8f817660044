"""Reads and replaces a host's configuration file. Each replacement keeps a copy of the old content.

A copy's name ends in a digest of the content that replaced it. If the file still has this digest, nobody has edited it
since, so it can be restored without any further record.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from io import FileIO
from pathlib import Path

from tui_host.errors import SettingsError
from tui_host.settings.hosts.jsonc import BrokenJsonError
from tui_host.settings.save import write_private
from tui_host.settings.toml_files import shown_path

LIMIT = 64 << 20
"""Largest file to read, in bytes; the longest known, with a host's whole history, has a few million."""
_BEFORE_TAP = ".before-tap-"
_BEFORE_UNTAP = ".before-untap-"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFile:
    """A host's configuration file and its content when it was read.

    Attributes:
        path: The path that the user or the host's table names.
        data: The content.
        mode: The permission bits.
        names: Number of hard links.
    """

    path: Path
    data: bytes
    mode: int
    names: int

    @property
    def text(self) -> str:
        """The file's text, including a byte-order mark.

        Raises:
            SettingsError: The file is not UTF-8.
        """
        try:
            return self.data.decode()
        except UnicodeDecodeError as error:
            raise SettingsError(
                f"not UTF-8: byte 0x{self.data[error.start]:02x}", shown_path(self.path), "save the file as UTF-8"
            ) from None

    def broken(self, error: BrokenJsonError) -> SettingsError:
        """Return the error for a file that is not JSON."""
        where = f"{shown_path(self.path)}: line {error.line}, column {error.column}"
        return SettingsError(f"not JSON: {error}", where, "fix it first; nothing was written")


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A file's content from before taps were written, put together from its copies.

    Attributes:
        data: The content.
        copies: The copies that led to the content; obsolete once it is restored.
        is_whole: Whether all changes by this program are undone: no other copy remains.
    """

    data: bytes
    copies: tuple[Path, ...]
    is_whole: bool


def read(path: Path) -> HostFile:
    """Read a whole configuration file.

    Raises:
        SettingsError: The path is not a file, cannot be read, or is too large.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise SettingsError("not a file", shown_path(path), "give the path of the host's configuration file")
        if status.st_size > LIMIT:
            raise SettingsError(f"longer than {LIMIT >> 20} MiB", shown_path(path), "give the path of the host's file")
        return HostFile(path=path, data=path.read_bytes(), mode=stat.S_IMODE(status.st_mode), names=status.st_nlink)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SettingsError(f"cannot be read: {reason}", shown_path(path), "check its path and permissions") from error


def replace_with_tapped(file: HostFile, data: bytes, now: datetime) -> Path:
    """Replace a file by a version with taps, and keep a copy of the old content beside it; returns the copy's path.

    Raises:
        SettingsError: The file has changed since it was read, is read-only, or cannot be written.
    """
    return _replace(file, data, f"{_BEFORE_TAP}{_stamp(now)}-{_digest(data)}")


def replace_with_untapped(file: HostFile, data: bytes, now: datetime) -> Path:
    """Replace a file by a version without taps, and keep a copy of the old content beside it; returns the copy's path.

    Raises:
        SettingsError: The file has changed since it was read, is read-only, or cannot be written.
    """
    return _replace(file, data, f"{_BEFORE_UNTAP}{_stamp(now)}")


def put_back(file: HostFile, restored: Restored) -> None:
    """Restore a file's content from before taps, and delete the copies used.

    Raises:
        SettingsError: The file has changed since it was read, is read-only, or cannot be written.
    """
    _check_writable(file)
    _write(file, restored.data)
    for copy in restored.copies:
        copy.unlink(missing_ok=True)


def restored(file: HostFile) -> Restored | None:
    """Find a file's content from before taps were written; None if somebody has edited the file since.

    Raises:
        SettingsError: A copy cannot be read.
    """
    candidates = [*copies(file.path, _BEFORE_TAP)]
    data, used = file.data, list[Path]()
    while copy := next((path for path in reversed(candidates) if path.name.endswith(f"-{_digest(data)}")), None):
        candidates.remove(copy)
        used.append(copy)
        data = read(copy).data
    return Restored(data=data, copies=tuple(used), is_whole=not candidates) if used else None


def copies(path: Path, *kinds: str) -> Sequence[Path]:
    """Return the copies beside a file that were kept when taps were written or removed; `kinds` selects some."""
    folder, name = _beside(path)
    beginnings = tuple(f"{name}{kind}" for kind in kinds or (_BEFORE_TAP, _BEFORE_UNTAP))
    return [path for path in sorted(folder.iterdir()) if path.name.startswith(beginnings)]


def is_known(path: Path) -> bool:
    """Whether a copy from before taps exists for a file."""
    return bool(copies(path, _BEFORE_TAP))


def _replace(file: HostFile, data: bytes, ending: str) -> Path:
    folder, name = _beside(file.path)
    copy = folder / f"{name}{ending}"
    _check_writable(file)
    write_private(copy, file.data)
    _write(file, data)
    return copy


def _write(file: HostFile, data: bytes) -> None:
    """Replace the file's content. A file with several hard links is overwritten in place, so that all links keep it."""
    if file.names == 1:
        write_private(file.path, data, file.mode)
        return
    try:
        with file.path.open("r+b", buffering=0) as opened:
            try:
                _overwrite(opened, data)
            except OSError:
                with suppress(OSError):
                    _overwrite(opened, file.data)
                raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
        remedy = "check its permissions and the free space"
        raise SettingsError(f"cannot be written: {reason}", shown_path(file.path), remedy) from error


def _overwrite(opened: FileIO, data: bytes) -> None:
    opened.seek(0)
    rest = memoryview(data)
    while rest:
        rest = rest[opened.write(rest) :]
    opened.truncate()
    os.fsync(opened.fileno())


def _check_writable(file: HostFile) -> None:
    """Refuse to write if the host has changed the file since it was read, or if the file is read-only."""
    if read(file.path).data != file.data:
        raise SettingsError("changed while you looked", shown_path(file.path), "try again; nothing was written")
    if not file.mode & stat.S_IWUSR:  # renaming a file over it would succeed for anyone who may write in the folder
        remedy = "edit its source, or make it writable; nothing was written"
        raise SettingsError("read-only", shown_path(file.path), remedy)


def _beside(path: Path) -> tuple[Path, str]:
    """Return the folder and the name of the real file behind symbolic links."""
    real = path.resolve()
    return real.parent, real.name


def _stamp(now: datetime) -> str:
    return now.strftime("%Y%m%dT%H%M%S%fZ")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
