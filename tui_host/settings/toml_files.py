"""Reads TOML files whole, up to a size limit. Each failure is reported as a mistake."""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tui_host.settings.mistakes import Report, shown

LARGEST = 1_000_000
"""Largest configuration file, in bytes. A larger file is a mistake, such as a wrong path."""

_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")


def read_document(path: Path, report: Report, *, needed: bool) -> dict[str, object] | None:
    """Read a TOML file. Returns None if the file does not exist or cannot be read. Blocks on the disk.

    Args:
        path: The path to read.
        report: Receives mistakes.
        needed: Whether a missing file is a mistake.
    """
    name = shown_path(path)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        if not needed:
            return None
        report.mistake("no such file", name, "create it, or give another path")
    except IsADirectoryError:
        report.mistake(
            "found a folder, expected a file", name, f"give the path of the file, such as {name}/config.toml"
        )
    except OSError as error:
        report.mistake(f"cannot be read: {error.strerror or type(error).__name__}", name, "check its permissions")
    else:
        if len(data) <= LARGEST:
            return _parsed(data, name, report)
        report.mistake(f"more than {LARGEST:,} bytes", name, "give the path of a configuration file")
    return None


def files_of(folder: Path, report: Report) -> Iterator[tuple[str, Path]]:
    """Yield name and path of each `NAME.toml` in a folder, sorted; nothing if there is no folder.

    Other files are skipped: editors and this program's own saving leave some.
    """
    try:
        paths = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        reason = error.strerror or type(error).__name__
        report.mistake(f"the folder cannot be read: {reason}", shown_path(folder), "check its permissions")
        return
    for path in paths:
        if path.suffix == ".toml" and not path.name.startswith(".") and _may_be_read(path):
            yield path.stem, path


def shown_path(path: Path) -> str:
    """Return a path as one line for a message: a file's name may contain any character except a slash."""
    return shown(str(path), longest=400)


def _may_be_read(path: Path) -> bool:
    """Whether the file can be read without waiting. An inaccessible file counts, so that its error is reported."""
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
        report.mistake("tables or arrays nested too deeply", name, "flatten them")
    except ValueError as error:
        what, place = str(error), _PLACE.search(str(error))
        where = name
        if place is not None:
            what = what[: place.start()] + (f", at column {place.group(2)}" if place.group(2) else ", at the end")
            last_line = data.rstrip().count(b"\n") + 1
            where = f"{name}: line {place.group(1) or last_line}"
        report.mistake(f"not TOML: {shown(what)}", where, "fix it; see https://toml.io for the format")
    return None
