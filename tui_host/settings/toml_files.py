"""TOML files as they lie on the disk: read whole, bounded, with each failure one mistake."""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tui_host.settings.mistakes import Report, shown

LARGEST = 1_000_000
"""Bytes of a configuration file; more is a mistake, such as a wrong path."""

_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")


def read_document(path: Path, report: Report, *, needed: bool) -> dict[str, object] | None:
    """The tables of a file. Blocks on the disk.

    Args:
        path: The file.
        report: Where mistakes go.
        needed: It is a mistake if there is no such file.

    Returns:
        None where there is no file, or, with the mistake kept, where it cannot be read.
    """
    name = shown_path(path)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        if not needed:
            return None
        report.mistake("no such file", name, "write it, or name another one")
    except IsADirectoryError:
        report.mistake("found a folder, expected a file", name, f"name the file in it, such as {name}/config.toml")
    except OSError as error:
        report.mistake(f"cannot be read: {error.strerror or type(error).__name__}", name, "look at its permissions")
    else:
        if len(data) <= LARGEST:
            return _parsed(data, name, report)
        report.mistake(f"more than {LARGEST:,} bytes", name, "name a configuration file")
    return None


def files_of(folder: Path, report: Report) -> Iterator[tuple[str, Path]]:
    """Name and path of each `NAME.toml` in a folder, sorted; none where there is no folder.

    Other files are left alone: editors and our own saving leave some there.
    """
    try:
        paths = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        reason = error.strerror or type(error).__name__
        report.mistake(f"the folder cannot be read: {reason}", shown_path(folder), "look at its permissions")
        return
    for path in paths:
        if path.suffix == ".toml" and not path.name.startswith(".") and _may_be_read(path):
            yield path.stem, path


def shown_path(path: Path) -> str:
    """A path in one line: a file's name may hold anything but a slash."""
    return shown(str(path), longest=400)


def _may_be_read(path: Path) -> bool:
    """Whether reading does not wait for somebody; what cannot be looked at is read, so that the reason is told."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return True


def _parsed(data: bytes, name: str, report: Report) -> dict[str, object] | None:
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        report.mistake(f"not UTF-8: byte 0x{data[error.start]:02x}", f"{name}: line {line}", "save the file as UTF-8")
    except RecursionError:
        report.mistake("too many tables or arrays in each other", name, "write them flat")
    except ValueError as error:
        what, place = str(error), _PLACE.search(str(error))
        where = name
        if place is not None:
            what = what[: place.start()] + (f", at column {place.group(2)}" if place.group(2) else ", at the end")
            last_line = data.rstrip().count(b"\n") + 1
            where = f"{name}: line {place.group(1) or last_line}"
        report.mistake(f"not TOML: {shown(what)}", where, "mend it; the format is described at https://toml.io")
    return None
