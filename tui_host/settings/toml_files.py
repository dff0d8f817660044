"""Reads TOML files, and finds the line of a key. Each failure is reported as a mistake."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

from tui_host.settings.mistakes import Report, shown

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+(?:\[\d+\])?")
_LONG_TEXT = re.compile(r'"""(?:\\.|.)*?"""|\'\'\'.*?\'\'\'', re.DOTALL)
_HEADER = re.compile(r"\s*(\[\[?)\s*(.*?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*((?:[\w.-]|\"[^\"]*\")+)\s*=")


def is_table(value: object) -> TypeGuard[dict[str, object]]:
    """Whether a TOML value is a table."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Whether a TOML value is an array."""
    return isinstance(value, list)


def read_toml(path: Path, report: Report, *, needed: bool = False) -> tuple[dict[str, object], str]:
    """Return the values of a TOML file, and its text: both empty without a file, which is a mistake if it is needed."""
    name, data = shown_path(path), b""
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
        return tomllib.loads(text), text
    except (FileNotFoundError, NotADirectoryError):
        if needed:
            report.mistake(name, "no such file", "create it, or give another path")
    except OSError as error:
        remedy = f"give the path of the file, such as {name}/config.toml" if path.is_dir() else "check its permissions"
        report.mistake(name, f"cannot be read: {error.strerror}", remedy)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        report.mistake(f"{name}: line {line}", f"not UTF-8: byte 0x{data[error.start]:02x}", "save the file as UTF-8")
    except (ValueError, RecursionError) as error:
        report.mistake(name, f"not TOML: {shown(str(error))}", "fix it; see https://toml.io for the format")
    return {}, ""


def files_of(folder: Path, report: Report) -> Iterator[tuple[str, Path]]:
    """Yield name and path of each `NAME.toml` in a folder, sorted. Other files are skipped: editors leave some."""
    try:
        paths = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        report.mistake(shown_path(folder), f"the folder cannot be read: {error.strerror}", "check its permissions")
        return
    for path in paths:
        if path.suffix == ".toml" and not path.name.startswith(".") and not path.is_dir():
            yield path.stem, path


def shown_path(path: Path) -> str:
    """Return a path as one line for a message: a file's name may contain any character except a slash."""
    return shown(str(path), longest=400)


def written_key(key: str) -> str:
    """Return a key as it stands in a file, quoted where TOML demands it."""
    return key if _BARE_KEY.fullmatch(key) else f'"{shown(key)}"'


def line_of(source: str, path: str) -> int:
    """Return the line in which a key, or else the table around it, begins; 0 if that is not known."""
    nearest, line, table = "", 0, ""
    arrays = Counter[str]()
    # What stands in a long text may look like a key, but is none.
    plain = _LONG_TEXT.sub(lambda text: "\n" * text[0].count("\n"), source)
    for number, written in enumerate(plain.split("\n"), 1):
        header, key = _HEADER.match(written), _KEY.match(written)
        if header is not None:
            table = header[2]
            arrays[table] += 1
            if header[1] == "[[":
                table = f"{table} #{arrays[table]}"
        elif key is None:
            continue
        place = ".".join(filter(None, (table, "" if key is None else key[1])))
        is_around = path == place or path.startswith((f"{place}.", f"{place}[", f"{place} #"))
        if is_around and len(place) > len(nearest):
            nearest, line = place, number
    return line
