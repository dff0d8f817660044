"""Reads TOML tables into the dataclasses of `schema`, and collects mistakes instead of raising the first."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tui_host.errors import JSON
from tui_host.settings.field_rule import LARGEST_NUMBER, RULE, FieldRule
from tui_host.settings.mistakes import Report, describe_value, nearest, wrong_choice
from tui_host.settings.model_options import Options, options_of, wrong_options
from tui_host.settings.schema import REFERENCE, Template
from tui_host.settings.toml_files import is_array, is_table, line_of, written_key

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")

DEEPEST = 32
"""Deepest nesting of tables and arrays to accept."""
# The kinds of tables whose keys the user chooses, each with the kind of its values.
_MAPPINGS = {"Mapping[str, Template]": "Template", "Mapping[str, bool]": "bool"}
_DURATION = re.compile(r"(\d{1,9})\s*([smhdw])")
_SIZE = re.compile(r"(\d{1,9})\s*(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)", re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_POWERS = {"b": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def duration_of(text: str) -> float | None:
    """Parse a duration such as `90d`, `12h` or `30m` into seconds; None if invalid."""
    match = _DURATION.fullmatch(text)
    return None if match is None else float(int(match[1]) * _SECONDS[match[2]])


def size_of(text: str) -> int | None:
    """Parse a size such as `5GB` or `500MB` into bytes; None if invalid. `GiB` counts in powers of 1024."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    unit = match[2].lower()
    return int(match[1]) * (1024 if "i" in unit else 1000) ** _POWERS[unit[0]]


def rules_of(record: type[DataclassInstance]) -> dict[str, FieldRule]:
    """Return the rules of the fields that a file can set, by key."""
    return {field.name: rule for field in fields(record) if isinstance(rule := field.metadata.get(RULE), FieldRule)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of a TOML file. A method that reads a key returns None if the value is missing or wrong, and reports a wrong one.

    Attributes:
        file: The file's name for error messages, empty for a table from elsewhere.
        path: The table's key in the file, empty for the top of the file.
        source: The text of the file, which gives mistakes their line.
    """

    data: Mapping[str, object]
    report: Report
    file: str = ""
    path: str = ""
    source: str = ""

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def read(self, record: type[Record], **values: object) -> Record:
        """Read a dataclass from the keys that its fields' rules describe; `values` are other fields, and defaults."""
        make: Callable[..., Record] = record
        rules = rules_of(record)
        for field in fields(record):
            rule = rules.get(field.name)
            value = None if rule is None else self._read(field, rule)
            if (
                value is not None
            ):  # a missing or wrong value leaves the default, so that reading goes on to the next mistake
                values[field.name] = value
        known = (*rules, "extra_body") if "options" in rules else tuple(rules)
        for key in self.data:
            if key not in known:
                self.mistake(key, "unknown key", nearest(key, known))
        return make(**values)

    def where(self, key: str = "") -> str:
        """Return the file and the key, for an error message."""
        return ": ".join(filter(None, (self.file, self._path(key))))

    def mistake(self, key: str, what: str, remedy: str) -> None:
        """Report a mistake in the value of a key; an empty key stands for the table."""
        line = line_of(self.source, self._path(key))
        self.report.mistake(what, f"{self.where(key)}, line {line}" if line else self.where(key), remedy)

    def notice(self, key: str, text: str) -> None:
        """Add a warning about the value of a key."""
        self.report.notices.append(f"{self.where(key)}: {text}")

    def inner(self, key: str) -> Table:
        """Return an inner table, empty if the key is missing; a value of another kind is a mistake."""
        value, path = self.data.get(key, {}), self._path(key)
        if is_table(value):
            return replace(self, data=value, path=path)
        self.mistake(key, f"{describe_value(value, hidden=True)}, expected a table", f"write it under [{path}]")
        return replace(self, data={}, path=path)

    def array(self, key: str) -> Iterator[Table]:
        """Yield the tables of an array of tables `[[key]]`."""
        items = self.data.get(key, [])
        if not is_array(items):
            self.mistake(key, f"{describe_value(items, hidden=True)}, expected an array of tables", f"write [[{key}]]")
            return
        for number, item in enumerate(items, 1):
            table = replace(self, data=item if is_table(item) else {}, path=f"{self._path(key)} #{number}")
            if is_table(item):
                yield table
            else:
                table.mistake("", f"{describe_value(item)}, expected a table", f"write [[{key}]]")

    def text(self, key: str, value: object, *, is_secret: bool = False) -> str | None:
        """Return the text of a key, or of an element of its array."""
        if not isinstance(value, str):
            self.mistake(key, f"{describe_value(value, hidden=is_secret)}, expected text", "write it in quotes")
            return None
        if "\0" in value:
            self.mistake(key, "a NUL character in the text", "remove it")
            return None
        if "${" in REFERENCE.sub("", value):
            meant = "references are ${NAME} and ${NAME:-default}"
            self.notice(key, f"a ${{…}} that is no reference is left unchanged; {meant}")
        return value

    def _read(self, field: Field[object], rule: FieldRule) -> object:
        """Read the value of a field by its annotation, a text here. The caller reads what no case below knows."""
        key, kind = field.name, str(field.type).removesuffix(" | None")
        if kind == "Options":
            return self._options()
        if key not in self.data:
            return None
        if kind in {"int", "float"}:
            return self._number(field, rule)
        if kind.startswith("tuple"):
            return self._array(kind, key)
        if kind.startswith("Mapping") and (rule.record is not None or kind in _MAPPINGS):
            table = self.inner(key)
            read = {name: table._element(_MAPPINGS.get(kind, ""), name, rule) for name in table.data}  # noqa: SLF001 - its own class
            return {name: element for name, element in read.items() if element is not None}
        return self._element(kind, key, rule)

    def _element(self, kind: str, key: str, rule: FieldRule) -> object:
        """Read a single value, of a field or of a key that the user chose."""
        value = self.data[key]
        if rule.record is not None:
            record: type[DataclassInstance] = rule.record
            return self.inner(key).read(record)
        if kind == "bool":
            return self._flag(key)
        if kind not in {"str", "Path", "Template"} and not rule.choices:
            return None
        text = self.text(key, value, is_secret=rule.is_secret)
        if text is not None and rule.choices and text not in rule.choices:
            self.mistake(key, *wrong_choice(text, rule.choices))
            return None
        if kind == "Template":
            return None if text is None else Template(text=text)
        return Path(text) if kind == "Path" and text else text

    def _array(self, kind: str, key: str) -> object:
        if kind not in {"tuple[str, ...]", "tuple[Template, ...]"}:
            return None
        value = self.data[key]
        if not is_array(value):
            found = describe_value(value, hidden=True)
            self.mistake(key, f"{found}, expected an array of text", 'write ["one", "two"]')
            return None
        read = [self.text(f"{key}[{index}]", item) for index, item in enumerate(value)]
        texts = tuple(text for text in read if text is not None)
        return tuple(Template(text=text) for text in texts) if "Template" in kind else texts

    def _flag(self, key: str) -> bool | None:
        value = self.data[key]
        if isinstance(value, bool):
            return value
        self.mistake(key, f"{describe_value(value)}, expected true or false", "write true or false, without quotes")
        return None

    def _number(self, field: Field[object], rule: FieldRule) -> float | None:
        key, value, is_whole = field.name, self.data[field.name], str(field.type).startswith("int")
        if rule.unit:
            convert = duration_of if rule.unit == "duration" else size_of
            converted = convert(value) if isinstance(value, str) else None
            if converted is None:
                examples = "90d, 12h or 30m" if rule.unit == "duration" else "5GB or 500MB"
                self.mistake(
                    key, f"{describe_value(value)}, expected a {rule.unit}", f"write it in quotes, like {examples}"
                )
            return converted
        kinds = int if is_whole else int | float
        # A bool is an int to Python, and NaN is in no range.
        if isinstance(value, kinds) and not isinstance(value, bool) and rule.low <= value <= rule.high:
            return value if is_whole else float(value)
        wanted = "an integer" if is_whole else "a number"
        bounds = f"{rule.low:g} or more" if rule.high == LARGEST_NUMBER else f"{rule.low:g} to {rule.high:g}"
        example = f", such as {field.default:g}" if isinstance(field.default, int | float) else ""
        self.mistake(key, f"{describe_value(value)}, expected {wanted}, {bounds}", f"write {wanted}{example}")
        return None

    def _options(self) -> Options | None:
        """Read the tables `options` and `extra_body` of a provider or a profile."""
        options, extra = self.inner("options"), self.inner("extra_body")
        values, body = options._json_values(), extra._json_values()  # noqa: SLF001 - of its own class
        for name, kind in wrong_options(values).items():
            options.mistake(name, f"not {kind}", f"write {kind}")
        if "extra_body" in values:
            options.mistake("extra_body", "not an option", f"write it beside options, as {self._path('extra_body')}")
        return options_of({**values, "extra_body": body})

    def _json_values(self) -> dict[str, JSON]:
        read: dict[str, JSON] = {}
        for name, value in self.data.items():
            try:
                read[name] = _json(value)
            except ValueError as error:
                self.mistake(name, str(error), "use JSON values: text, numbers, true, false, arrays, tables")
        return read

    def _path(self, key: str) -> str:
        return ".".join(filter(None, (self.path, written_key(key) if key else "")))


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
