"""Reads TOML files and their tables into the dataclasses of `schema`, and collects mistakes instead of raising the first."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, fields, replace
from functools import lru_cache
from pathlib import Path
from types import NoneType
from typing import Literal, TypeGuard, TypeVar, get_args, get_origin, get_type_hints

from tui_host.errors import JSON
from tui_host.settings.frozen import Frozen
from tui_host.settings.mistakes import Report, found, nearest, shown, wrong_choice
from tui_host.settings.model_options import Options, options_of, wrong_options
from tui_host.settings.schema import LARGEST_NUMBER, REFERENCE, Template

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


def shown_path(path: Path) -> str:
    """Return a path as one line for a message: a file's name may contain any character except a slash."""
    return shown(str(path), longest=400)


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


_Table = TypeVar("_Table", bound=Frozen)

# For each kind of amount: the factor of each unit, and how an amount is written.
_DURATIONS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_BASES = {"b": 1000, "ib": 1024}
_SIZES = {prefix + unit: base**power for unit, base in _BASES.items() for power, prefix in enumerate(["", *"kmgt"])}
UNITS = {"duration": (_DURATIONS, "like 90d, 12h or 30m"), "size": (_SIZES, "like 5GB or 500MB")}


def amount_of(text: str, kind: str) -> int | None:
    """Parse a duration such as `90d` into seconds, or a size such as `5GB` or `5GiB` into bytes; None if invalid."""
    match = re.fullmatch(r"(\d{1,9})\s*([A-Za-z]+)", text)
    unit = "" if match is None else match[2]
    factor = UNITS[kind][0].get(unit.lower() if kind == "size" else unit)
    return None if match is None or factor is None else int(match[1]) * factor


@lru_cache
def rules_of(record: type[Frozen]) -> Mapping[str, tuple[Field[object], object]]:
    """Return the fields that a file can set, by key: each with its rule as metadata, and its annotation."""
    hints = get_type_hints(record)
    rules: dict[str, tuple[Field[object], object]] = {}
    for field in fields(record):
        if "doc" in field.metadata:
            kind, *others = get_args(hints[field.name]) or (hints[field.name],)
            rules[field.name] = (field, kind if others == [NoneType] else hints[field.name])  # a file cannot say None
    return rules


class SettingsTable(Frozen):
    """A table of a TOML file. What reads a key returns None if the value is wrong, and reports it."""

    data: Mapping[str, object]
    report: Report
    file: str = ""
    path: str = ""  # the table's key in the file
    source: str = ""  # the text of the file, which gives mistakes their line

    @classmethod
    def open(cls, path: Path, report: Report, *, needed: bool = False) -> SettingsTable:
        """Read a file; a table without keys if it cannot be read. A missing file is a mistake only if it is needed."""
        file, written, data, source = shown_path(path), b"", dict[str, object](), ""
        try:
            written = path.read_bytes()
            text = written.decode("utf-8-sig")
            data, source = tomllib.loads(text), text
        except (FileNotFoundError, NotADirectoryError):
            if needed:
                report.mistake(file, "no such file", "create it, or give another path")
        except OSError as error:
            is_folder = path.is_dir()
            remedy = f"give the path of the file, such as {file}/config.toml" if is_folder else "check its permissions"
            report.mistake(file, f"cannot be read: {error.strerror}", remedy)
        except UnicodeDecodeError as error:
            line, byte = written.count(b"\n", 0, error.start) + 1, written[error.start]
            report.mistake(f"{file}: line {line}", f"not UTF-8: byte 0x{byte:02x}", "save the file as UTF-8")
        except (ValueError, RecursionError) as error:
            report.mistake(file, f"not TOML: {shown(str(error))}", "fix it; see https://toml.io for the format")
        return cls(data=data, report=report, file=file, source=source)

    def read(self, over: _Table) -> _Table:
        """Return a record with the values of the table, by the rules of the record's fields."""
        rules, values = rules_of(type(over)), dict[str, object]()
        for field in fields(over):
            if field.name == "name" and not re.fullmatch(field.metadata["form"], getattr(over, "name")):  # noqa: B009
                self.mistake("", "not a valid name", field.metadata["remedy"])
        for key, (field, kind) in rules.items():
            rule = field.metadata
            if kind is Options:
                options = self.inner(key)
                given = _json_of(options)
                for name, wanted in wrong_options(given).items():
                    options.mistake(name, f"not {wanted}", f"write {wanted}")
                if "extra_body" in given:
                    place = self._path("extra_body")
                    options.mistake("extra_body", "not an option", f"write it beside options, as {place}")
                values[key] = options_of({**given, "extra_body": _json_of(self.inner("extra_body"))})
            elif key in self.data and not rule["apart"]:
                values[key] = self._value(key, kind, field)
                if rule["only"] and self.data.keys().isdisjoint(rule["only"].split(" or ")):
                    self.mistake(key, f"is only valid with {rule['only']}", "remove it")
        known = (*rules, "extra_body") if "options" in rules else tuple(rules)
        for key in self.data:
            if key not in known:
                self.mistake(key, "unknown key", nearest(key, known))
        # In place of a wrong value what was there stays, so that reading goes on to the next mistake.
        return replace(over, **{key: value for key, value in values.items() if value is not None})

    def mistake(self, key: str, what: str, remedy: str) -> None:
        """Report a mistake in the value of a key; an empty key stands for the table."""
        path, line = self._path(key), line_of(self.source, self._path(key))
        where = ": ".join(filter(None, (self.file, path)))
        self.report.mistake(f"{where}, line {line}" if line else where, what, remedy)

    def notice(self, key: str, text: str) -> None:
        """Add a warning about the value of a key."""
        self.report.notices.append(": ".join(filter(None, (self.file, self._path(key), text))))

    def inner(self, key: str) -> SettingsTable:
        """Return an inner table, empty if the key is missing; a value of another kind is a mistake."""
        value, path = self.data.get(key, {}), self._path(key)
        if is_table(value):
            return replace(self, data=value, path=path)
        self.mistake(key, f"{found(value)}, expected a table", f"write it under [{path}]")
        return replace(self, data={}, path=path)

    def array(self, key: str) -> Iterator[SettingsTable]:
        """Yield the tables of an array of tables `[[key]]`."""
        items = self.data.get(key, [])
        tables = [item for item in items if is_table(item)] if is_array(items) else []
        if not is_array(items) or len(tables) < len(items):
            self.mistake(key, f"{found(items)}, expected an array of tables", f"write [[{key}]]")
        for number, table in enumerate(tables, 1):
            yield replace(self, data=table, path=f"{self._path(key)} #{number}")

    def text(self, key: str, value: object, field: Field[object] | None = None) -> str | None:
        """Return a value, of a key or of an element of its array, if it is text, of the form that the field demands."""
        rule = {"form": ""} if field is None else field.metadata
        if not isinstance(value, str):
            self.mistake(key, f"{found(value)}, expected text", "write it in quotes")
        elif "\0" in value:
            self.mistake(key, "a NUL character in the text", "remove it")
        elif rule["form"] and not re.fullmatch(rule["form"], value):
            self.mistake(key, found(value, shows=not rule["is_secret"]), rule["remedy"])
        else:
            if "${" in REFERENCE.sub("", value):
                words = "a ${…} that is no reference is left unchanged"
                self.notice(key, f"{words}; references are ${{NAME}} and ${{NAME:-default}}")
            return value
        return None

    def _value(self, key: str, kind: object, field: Field[object]) -> object:
        value, rule = self.data[key], field.metadata
        origin, inner = get_origin(kind), get_args(kind)
        if origin is tuple:
            if not is_array(value):
                self.mistake(key, f"{found(value)}, expected an array of text", 'write ["one", "two"]')
                return None
            read = [self.text(f"{key}[{index}]", item, field) for index, item in enumerate(value)]
            texts = tuple(text for text in read if text is not None)
            self._notice_secrets(key, texts, field)
            return tuple(Template(text=text) for text in texts) if inner[0] is Template else texts
        if origin is Mapping:
            table, names = self.inner(key), rule["names"]
            for name in table.data if names else ():
                if not re.fullmatch(names, name):
                    table.mistake(name, "not a valid name", rule["remedy"])
            elements = {name: table._value(name, inner[1], field) for name in table.data}  # noqa: SLF001 - its own class
            return {name: element for name, element in elements.items() if element is not None}
        if kind is bool or kind is int or kind is float:
            return self._plain(key, kind, field)
        if isinstance(kind, type) and issubclass(kind, Frozen) and kind is not Template:
            return self.inner(key).read(kind())
        text = self.text(key, value, field)
        choices = inner if origin is Literal else rule["choices"]
        if text is None or (choices and text not in choices):
            if text is not None:
                self.mistake(key, *wrong_choice(text, choices))
            return None
        if kind is Template:
            self._notice_secrets(key, (f"--{key}", text), field)
            return Template(text=text)
        return Path(text) if kind is Path and text else text

    def _notice_secrets(self, key: str, words: Sequence[str], field: Field[object]) -> None:
        """Warn of secrets that the file itself holds, read as a command line: a variable keeps them better."""
        if not field.metadata["is_secret"]:
            return
        from tui_host.settings.credential_places import in_words  # imported late: not needed before the first frame

        for name in dict.fromkeys(name for name, _ in in_words(words)):
            remedy = 'write "${NAME}" for it and set that variable instead'
            self.notice(key, f"the file contains the secret itself ({shown(name)}); {remedy}")

    def _plain(self, key: str, kind: object, field: Field[object]) -> object:
        value, rule = self.data[key], field.metadata
        unit, low, high = rule["unit"], rule["low"], rule["high"]
        wanted, remedy = "true or false", "write it without quotes"
        read: object = value if kind is bool and isinstance(value, bool) else None
        if unit:
            wanted, remedy = f"a {unit}", f"write it in quotes, {UNITS[unit][1]}"
            read = amount_of(value, unit) if isinstance(value, str) else None
        elif kind is not bool:
            wanted = "an integer" if kind is int else "a number"
            wanted += f", {low:g} or more" if high == LARGEST_NUMBER else f", {low:g} to {high:g}"
            kinds = int if kind is int else int | float
            if isinstance(value, int | float):
                remedy = "choose another number"
            # A bool is an int to Python, and NaN is in no range.
            if isinstance(value, kinds) and not isinstance(value, bool) and low <= value <= high:
                read = value if kind is int else float(value)
        if read is None:
            self.mistake(key, f"{found(value, shows=True)}, expected {wanted}", remedy)
        return read

    def _path(self, key: str) -> str:
        written = key if not key or _BARE_KEY.fullmatch(key) else f'"{shown(key)}"'  # as TOML demands
        return ".".join(filter(None, (self.path, written)))


def _json_of(table: SettingsTable) -> dict[str, JSON]:
    try:
        return json.loads(json.dumps(table.data, allow_nan=False))
    except (TypeError, ValueError, RecursionError):  # a date, infinity, tables without end
        table.mistake("", "a value that JSON does not have", "write text, numbers, true, false, or tables")
        return {}
