"""Reads TOML files whole, up to a size limit, and finds the line of a key. Each failure is reported as a mistake."""

from __future__ import annotations

import re
import stat
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeGuard

from tui_host.settings.mistakes import Report, shown

LARGEST = 1_000_000
"""Largest configuration file, in bytes. A larger file is a mistake, such as a wrong path."""
LONGEST_STATEMENT_LINES = 200
"""A longer value of several lines, which is parsed anew with each of its lines, ends the search for lines of keys."""
_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_ELEMENT = re.compile(r"(?:\[\d+\]| #\d+)$")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+(?:\[\d+\])?")


def is_table(value: object) -> TypeGuard[dict[str, object]]:
    """Whether a TOML value is a table."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Whether a TOML value is an array."""
    return isinstance(value, list)


@dataclass(frozen=True, slots=True, kw_only=True)
class TomlDocument:
    """The values of a TOML file, and its text."""

    values: Mapping[str, object]
    text: str


def read_document(path: Path, report: Report, *, needed: bool) -> TomlDocument | None:
    """Read a TOML file; None if it cannot be read, or does not exist. A missing file is a mistake if it is needed."""
    name = shown_path(path)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        if needed:
            report.mistake("no such file", name, "create it, or give another path")
    except IsADirectoryError:
        remedy = f"give the path of the file, such as {name}/config.toml"
        report.mistake("found a folder, expected a file", name, remedy)
    except OSError as error:
        report.mistake(f"cannot be read: {error.strerror or type(error).__name__}", name, "check its permissions")
    else:
        if len(data) <= LARGEST:
            return _parsed(data, name, report)
        report.mistake(f"more than {LARGEST:,} bytes", name, "give the path of a configuration file")
    return None


def files_of(folder: Path, report: Report) -> Iterator[tuple[str, Path]]:
    """Yield name and path of each `NAME.toml` in a folder, sorted. Other files are skipped: editors leave some."""
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


def written_key(key: str) -> str:
    """Return a key as it stands in a file, quoted where TOML demands it."""
    return key if _BARE_KEY.fullmatch(key) else f'"{shown(key)}"'


def line_of(source: str, path: str) -> int:
    """Return the line in which a key, or else the table around it, begins; 0 if that is not known."""
    lines = _lines_of(source) if source else {}
    while path and path not in lines:
        whole = _ELEMENT.sub("", path)
        path = path.rpartition(".")[0] if whole == path else whole
    return lines.get(path, 0)


@lru_cache(4)
def _lines_of(source: str) -> dict[str, int]:
    """Map each table and key to its line. Every statement is parsed by itself, so no text in quotes is taken for a key."""
    lines: dict[str, int] = {}
    counts = Counter[str]()
    table, statement, first = "", "", 1
    for number, line in enumerate(source.split("\n"), 1):
        if not statement:
            first = number
        statement += f"{line}\n"
        try:
            values = tomllib.loads(statement)
        except ValueError:
            if number - first > LONGEST_STATEMENT_LINES:
                return lines
            continue  # the value goes on in the next line
        if statement.lstrip().startswith("["):
            *_, table = _paths(values, "")
            if statement.lstrip().startswith("[["):
                counts[table] += 1
                table = f"{table} #{counts[table]}"
            lines.setdefault(table, first)
        else:
            for path in _paths(values, f"{table}." if table else ""):
                lines.setdefault(path, first)
        statement = ""
    return lines


def _paths(values: Mapping[str, object], before: str, levels: int = 8) -> Iterator[str]:
    for key, value in values.items():
        path = f"{before}{written_key(key)}"
        yield path
        if is_table(value) and levels:
            yield from _paths(value, f"{path}.", levels - 1)


def _may_be_read(path: Path) -> bool:
    """Whether the file can be read without waiting. An inaccessible file counts, so that its error is reported."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return True


def _parsed(data: bytes, name: str, report: Report) -> TomlDocument | None:
    try:
        text = data.decode("utf-8-sig")
        return TomlDocument(values=tomllib.loads(text), text=text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        report.mistake(f"not UTF-8: byte 0x{data[error.start]:02x}", f"{name}: line {line}", "save the file as UTF-8")
    except RecursionError:
        report.mistake("tables or arrays nested too deeply", name, "flatten them")
    except ValueError as error:
        what, place = str(error), _PLACE.search(str(error))
        where = name
        if place is not None:
            what = what[: place.start()] + (f", at column {place[2]}" if place[2] else ", at the end")
            last_line = data.rstrip().count(b"\n") + 1
            where = f"{name}: line {place[1] or last_line}"
        report.mistake(f"not TOML: {shown(what)}", where, "fix it; see https://toml.io for the format")
    return None
