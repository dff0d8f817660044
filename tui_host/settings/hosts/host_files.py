"""Another host's file on the disk: read whole, replaced whole, and never without a copy of what it was.

A copy's name ends in a digest of what was written in its stead. So it is known which state it is to be put back into, without any
record elsewhere: where the file still has that digest, nobody has changed it since.
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
"""Bytes that are read; the longest of such files, with a host's whole history in it, has a few millions."""
_BEFORE_TAP = ".before-tap-"
_BEFORE_UNTAP = ".before-untap-"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFile:
    """A file as it was read.

    Attributes:
        path: As it was named.
        data: All that is in it.
        mode: Who may do what with it.
        names: How many it has: hard links.
    """

    path: Path
    data: bytes
    mode: int
    names: int

    @property
    def text(self) -> str:
        """Its text, with a byte-order mark if there is one.

        Raises:
            SettingsError: It is not UTF-8.
        """
        try:
            return self.data.decode()
        except UnicodeDecodeError as error:
            raise SettingsError(
                f"not UTF-8: byte 0x{self.data[error.start]:02x}", shown_path(self.path), "save the file as UTF-8"
            ) from None

    def broken(self, error: BrokenJsonError) -> SettingsError:
        """What a person is told of a file that is no JSON."""
        where = f"{shown_path(self.path)}: line {error.line}, column {error.column}"
        return SettingsError(f"not JSON: {error}", where, "mend it first; nothing has been written")


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a file was before.

    Attributes:
        data: What is to be in it.
        copies: Where that comes from, not needed once it is in place.
        is_whole: No other change of ours is known that would have to be undone.
    """

    data: bytes
    copies: tuple[Path, ...]
    is_whole: bool


def read(path: Path) -> HostFile:
    """Read a file whole.

    Raises:
        SettingsError: It is no file, cannot be read, or is far too long.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise SettingsError("not a file", shown_path(path), "name the file of the host's configuration")
        if found.st_size > LIMIT:
            raise SettingsError(f"longer than {LIMIT >> 20} MiB", shown_path(path), "name the host's file")
        return HostFile(path=path, data=path.read_bytes(), mode=stat.S_IMODE(found.st_mode), names=found.st_nlink)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SettingsError(
            f"cannot be read: {reason}", shown_path(path), "look at its place and permissions"
        ) from error


def replace_with_tapped(file: HostFile, data: bytes, now: datetime) -> Path:
    """Write a file with taps in it, and keep it as it was beside it; returns where.

    Raises:
        SettingsError: It has changed since it was read, is read-only, or cannot be written.
    """
    return _replace(file, data, f"{_BEFORE_TAP}{_stamp(now)}-{_digest(data)}")


def replace_with_untapped(file: HostFile, data: bytes, now: datetime) -> Path:
    """Write a file from which taps were taken out, and keep it as it was beside it; returns where.

    Raises:
        SettingsError: It has changed since it was read, is read-only, or cannot be written.
    """
    return _replace(file, data, f"{_BEFORE_UNTAP}{_stamp(now)}")


def put_back(file: HostFile, restored: Restored) -> None:
    """Write what a file was, and remove the copies that said so.

    Raises:
        SettingsError: It has changed since it was read, is read-only, or cannot be written.
    """
    _check_writable(file)
    _write(file, restored.data)
    for copy in restored.copies:
        copy.unlink(missing_ok=True)


def restored(file: HostFile) -> Restored | None:
    """What a file was before taps were written into it; None where somebody has changed it since.

    Raises:
        SettingsError: A copy cannot be read.
    """
    known = [*copies(file.path, _BEFORE_TAP)]
    data, used = file.data, list[Path]()
    while copy := next((path for path in reversed(known) if path.name.endswith(f"-{_digest(data)}")), None):
        known.remove(copy)
        used.append(copy)
        data = read(copy).data
    return Restored(data=data, copies=tuple(used), is_whole=not known) if used else None


def copies(path: Path, *kinds: str) -> Sequence[Path]:
    """The copies that are beside a file, of what it was before taps were put in or taken out; those of some kinds alone, if any are named."""
    folder, name = _beside(path)
    beginnings = tuple(f"{name}{kind}" for kind in kinds or (_BEFORE_TAP, _BEFORE_UNTAP))
    return [each for each in sorted(folder.iterdir()) if each.name.startswith(beginnings)]


def is_known(path: Path) -> bool:
    """Whether a copy is there from which it could be told what a file was before taps."""
    return bool(copies(path, _BEFORE_TAP))


def _replace(file: HostFile, data: bytes, ending: str) -> Path:
    folder, name = _beside(file.path)
    copy = folder / f"{name}{ending}"
    _check_writable(file)
    write_private(copy, file.data)
    _write(file, data)
    return copy


def _write(file: HostFile, data: bytes) -> None:
    """Replace it whole; but one that has other names is written where it is, so that they all name it still."""
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
        remedy = "look at its permissions and the free space"
        raise SettingsError(f"cannot be written: {reason}", shown_path(file.path), remedy) from error


def _overwrite(opened: FileIO, data: bytes) -> None:
    opened.seek(0)
    rest = memoryview(data)
    while rest:
        rest = rest[opened.write(rest) :]
    opened.truncate()
    os.fsync(opened.fileno())


def _check_writable(file: HostFile) -> None:
    """A running host may have written its file while a person looked at the difference, and some are not to be written at all."""
    if read(file.path).data != file.data:
        raise SettingsError("changed while you looked", shown_path(file.path), "do it again; nothing has been written")
    if not file.mode & stat.S_IWUSR:  # it would be replaced all the same, by whoever may write in its folder
        remedy = "change what it is made from, or make it writable; nothing has been written"
        raise SettingsError("read-only", shown_path(file.path), remedy)


def _beside(path: Path) -> tuple[Path, str]:
    """The folder of the file that a path leads to, and that file's name."""
    real = path.resolve()
    return real.parent, real.name


def _stamp(now: datetime) -> str:
    return now.strftime("%Y%m%dT%H%M%S%fZ")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
