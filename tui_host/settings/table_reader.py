"""Reads TOML tables key by key, and collects mistakes instead of raising the first."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeGuard, TypeVar

from tui_host.errors import JSON
from tui_host.settings.mistakes import Report, describe_value, nearest, shown
from tui_host.settings.schema import REFERENCE, Template

T = TypeVar("T", bound=str)
N = TypeVar("N", bound=float)

DEEPEST = 32
"""Deepest nesting of tables and arrays to accept."""

LONGEST_SECONDS = 1e9

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_DURATION = re.compile(r"(\d{1,9})\s*([smhdw])")
_SIZE = re.compile(r"(\d{1,9})\s*(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)", re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_POWERS = {"b": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def duration_of(text: str) -> float | None:
    """Parse a duration such as `90d`, `12h` or `30m` into seconds; None if invalid."""
    match = _DURATION.fullmatch(text)
    return None if match is None else float(int(match.group(1)) * _SECONDS[match.group(2)])


def size_of(text: str) -> int | None:
    """Parse a size such as `5GB` or `500MB` into bytes; None if invalid. `GiB` counts in powers of 1024."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    unit = match.group(2).lower()
    return int(match.group(1)) * (1024 if "i" in unit else 1000) ** _POWERS[unit[0]]


def is_table(value: object) -> TypeGuard[dict[str, object]]:
    """Whether a TOML value is a table."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Whether a TOML value is an array."""
    return isinstance(value, list)


class Table:
    """A table of a TOML file.

    Each method returns the value of a key. If the value is missing or wrong, the method returns the default; a wrong
    value is reported. `finish` reports keys that no method asked for.

    Attributes:
        file: The file's name for error messages.
        path: The table's key in the file, empty for the top of the file.
        report: Receives mistakes.
    """

    def __init__(self, data: Mapping[str, object], *, file: str, path: str = "", report: Report) -> None:
        self.file = file
        self.path = path
        self.report = report
        self._data = data
        self._asked: dict[str, None] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def where(self, key: str = "") -> str:
        """Return the file and the key, for an error message."""
        path = f"{self.path}.{_key(key)}" if self.path and key else self.path or (_key(key) if key else "")
        return f"{self.file}: {path}" if path and self.file else path or self.file

    def mistake(self, key: str, what: str, remedy: str) -> None:
        """Report a mistake in the value of a key."""
        self.report.mistake(what, self.where(key), remedy)

    def text(self, key: str, *, hidden: bool = False) -> str | None:
        """Read a string."""
        value = self._get(key)
        return None if value is None else self._text(self.where(key), value, hidden=hidden)

    def choice(self, key: str, choices: Sequence[T], default: T) -> T:
        """Read one of several allowed words."""
        value = self.text(key)
        if value is None:
            return default
        for choice in choices:
            if choice == value:
                return choice
        listed = choices[0] if len(choices) == 1 else f"one of {', '.join(choices)}"
        self.mistake(
            key,
            f'found "{shown(value)}", expected {listed}',
            nearest(value, choices, "write it" if len(choices) == 1 else "write one of them"),
        )
        return default

    def flag(self, key: str, *, default: bool) -> bool:
        """Read true or false."""
        value = self._get(key)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        self.mistake(key, f"{describe_value(value)}, expected true or false", "write true or false, without quotes")
        return default

    def number(self, key: str, default: float, *, zero: bool) -> float:
        """Read a number of seconds, possibly with a fraction; `zero` permits 0."""
        value = self._get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.mistake(key, f"{describe_value(value)}, expected a number", f"write a number, such as {default:g}")
        elif not 0 <= value <= LONGEST_SECONDS or (value == 0 and not zero):
            least = "0 or more" if zero else "more than 0"
            self.mistake(key, f"{describe_value(value)}, expected {least}", f"write a number, such as {default:g}")
        else:
            return float(value)
        return default

    def count(self, key: str, default: int, *, least: int = 1) -> int:
        """Read an integer that is not below `least`."""
        value = self._get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LONGEST_SECONDS:
            self.mistake(
                key,
                f"{describe_value(value)}, expected an integer, {least} or more",
                f"write an integer, such as {default}",
            )
            return default
        return value

    def duration(self, key: str) -> float | None:
        """Read a duration such as `90d`, `12h` or `30m` as seconds."""
        return self._converted(key, duration_of, "a duration", "90d, 12h or 30m")

    def size(self, key: str) -> int | None:
        """Read a size such as `5GB` or `500MB` as bytes; `GiB` counts in powers of 1024."""
        return self._converted(key, size_of, "a size", "5GB or 500MB")

    def template(self, key: str, *, hidden: bool = False) -> Template | None:
        """Read a string that may contain references."""
        value = self.text(key, hidden=hidden)
        return None if value is None else Template(text=value)

    def texts(self, key: str) -> tuple[str, ...]:
        """Read an array of strings."""
        value = self._get(key)
        if value is None:
            return ()
        if not is_array(value):
            self.mistake(
                key, f"{describe_value(value, hidden=True)}, expected an array of text", 'write ["one", "two"]'
            )
            return ()
        read = [self._text(f"{self.where(key)}[{index}]", item, hidden=False) for index, item in enumerate(value)]
        return tuple(item for item in read if item is not None)

    def templates(self, key: str) -> tuple[Template, ...]:
        """Read an array of strings that may contain references."""
        return tuple(Template(text=item) for item in self.texts(key))

    def named_templates(self) -> dict[str, Template]:
        """Read the whole table as strings whose keys the user chooses. Values may contain references and be secret."""
        read = {name: self.template(name, hidden=True) for name in self.names()}
        return {name: template for name, template in read.items() if template is not None}

    def json(self, key: str) -> dict[str, JSON]:
        """Read an inner table as JSON."""
        table = self.table(key)
        if table is None:
            return {}
        read: dict[str, JSON] = {}
        for name in table.names():
            try:
                read[name] = _json(table._get(name))  # noqa: SLF001 - of its own class
            except ValueError as error:
                table.mistake(name, str(error), "use JSON values: text, numbers, true, false, arrays, tables")
        return read

    def table(self, key: str) -> Table | None:
        """Read an inner table, None if it is missing."""
        value = self._get(key)
        if value is None:
            return None
        if not is_table(value):
            self.mistake(
                key, f"{describe_value(value, hidden=True)}, expected a table", f"write it under [{self._path(key)}]"
            )
            return None
        return Table(value, file=self.file, path=self._path(key), report=self.report)

    def array(self, key: str) -> Iterator[Table]:
        """Yield the tables of an array of tables `[[key]]`."""
        value = self._get(key)
        items = value if is_array(value) else []
        if value is not None and not is_array(value):
            self.mistake(key, f"{describe_value(value, hidden=True)}, expected an array of tables", f"write [[{key}]]")
        for number, item in enumerate(items, 1):
            path = f"{self._path(key)} #{number}"
            if is_table(item):
                yield Table(item, file=self.file, path=path, report=self.report)
            else:
                self.report.mistake(
                    f"{describe_value(item)}, expected a table", f"{self.file}: {path}", f"write [[{key}]]"
                )

    def names(self) -> tuple[str, ...]:
        """Return all keys of a table whose keys the user chooses, so that `finish` reports none of them."""
        self._asked.update(dict.fromkeys(self._data))
        return tuple(self._data)

    def finish(self) -> None:
        """Report every key of the table that no method has asked for."""
        asked = tuple(self._asked)
        for key in self._data:
            if key not in self._asked:
                self.mistake(key, "unknown key", nearest(key, asked))

    def _get(self, key: str) -> object:
        self._asked[key] = None
        return self._data.get(key)

    def _path(self, key: str) -> str:
        return f"{self.path}.{_key(key)}" if self.path else _key(key)

    def _text(self, where: str, value: object, *, hidden: bool) -> str | None:
        if not isinstance(value, str):
            self.report.mistake(f"{describe_value(value, hidden=hidden)}, expected text", where, "write it in quotes")
            return None
        if "\0" in value:
            self.report.mistake("a NUL character in the text", where, "remove it")
            return None
        if "${" in REFERENCE.sub("", value):
            self.report.notices.append(
                f"{where}: a ${{…}} that is no reference is left unchanged; "
                "references are ${NAME} and ${NAME:-default}"
            )
        return value

    def _converted(self, key: str, convert: Callable[[str], N | None], what: str, examples: str) -> N | None:
        value = self._get(key)
        if value is None:
            return None
        converted = convert(value) if isinstance(value, str) else None
        if converted is None:
            self.mistake(key, f"{describe_value(value)}, expected {what}", f"write it in quotes, like {examples}")
        return converted


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else f'"{shown(key)}"'


def _json(value: object, depth: int = 0) -> JSON:
    if depth > DEEPEST:
        raise ValueError(f"more than {DEEPEST} levels of tables or arrays")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{describe_value(value)}, which JSON does not have")
    if isinstance(value, int) and abs(value) >= 2**63:
        raise ValueError("found a number of more than 64 bits")
    if isinstance(value, (bool, int, float, str)):
        return value
    if is_array(value):
        return [_json(item, depth + 1) for item in value]
    if is_table(value):
        return {name: _json(item, depth + 1) for name, item in value.items()}
    raise ValueError(f"{describe_value(value)}, which JSON does not have")
