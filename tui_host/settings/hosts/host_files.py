"""Reads and replaces a host's configuration file. One backup beside it keeps the content from before the last change."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

from tui_host.errors import SettingsError
from tui_host.settings.save import write_private
from tui_host.settings.table_reader import shown_path

BACKUP = ".before-tap"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFile:
    """A host's configuration file, its content when it was read, and its permission bits."""

    path: Path
    data: bytes
    mode: int = 0o600

    @property
    def text(self) -> str:
        """The file's text, including a byte-order mark; raises a `SettingsError` if it is not UTF-8."""
        try:
            return self.data.decode()
        except UnicodeDecodeError as error:
            what = f"not UTF-8: byte 0x{self.data[error.start]:02x}"
            raise SettingsError(what, shown_path(self.path), "save the file as UTF-8") from None


def read(path: Path) -> HostFile:
    """Read a whole configuration file, or raise a `SettingsError`."""
    try:
        return HostFile(path=path, data=path.read_bytes(), mode=stat.S_IMODE(path.stat().st_mode))
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
        raise SettingsError(what, shown_path(path), "check its path and permissions") from error


def replace_content(file: HostFile, data: bytes, untapped: bytes) -> Path | None:
    """Write new content; returns the backup, None if it went because the file has its content again."""
    if read(file.path).data != file.data:
        raise SettingsError("changed while you looked", shown_path(file.path), "try again; nothing was written")
    if not file.mode & stat.S_IWUSR:  # renaming a file over it would succeed for anyone who may write in the folder
        remedy = "edit its source, or make it writable; nothing was written"
        raise SettingsError("read-only", shown_path(file.path), remedy)
    real = file.path.resolve()  # a link often leads to a folder of dotfiles, which is where the file is kept
    backup = real.with_name(f"{real.name}{BACKUP}")
    kept = backup.read_bytes() if backup.is_file() else None
    if kept is None or kept not in (untapped, data):  # an unedited file's backup is the file before all taps
        write_private(backup, file.data)
    write_private(file.path, data, file.mode)
    if kept == data:
        backup.unlink()
        return None
    return backup
