"""The rule of a setting, which stands in the field that holds it: what a file may say, and what the field means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

Value = TypeVar("Value")
Unit = Literal["", "duration", "size"]

RULE = "rule"
"""Key of a field's rule in the field's metadata."""
LARGEST_NUMBER = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRule:
    """What a file may say for a field. The field's annotation gives the kind of the value.

    Attributes:
        doc: What the field means.
        low: The least number.
        high: The largest number.
        choices: The only texts that are allowed; empty for any.
        unit: How a number is written: plainly, as a duration `90d`, or as a size `5GB`.
        record: The dataclass of the table, or of each table in it.
        is_secret: No message shows the value.
    """

    doc: str
    low: float
    high: float
    choices: tuple[str, ...]
    unit: Unit
    record: type | None
    is_secret: bool


def setting(
    default: Value,
    *,
    doc: str,
    low: float = 0,
    high: float = LARGEST_NUMBER,
    choices: tuple[str, ...] = (),
    unit: Unit = "",
    record: type | None = None,
    is_secret: bool = False,
) -> Value:
    """Return a dataclass field that a file can set, with its rule; see `FieldRule` for the arguments."""
    rule = FieldRule(doc=doc, low=low, high=high, choices=choices, unit=unit, record=record, is_secret=is_secret)

    def given() -> Value:
        return default

    if isinstance(default, Mapping):  # dataclasses refuse a default that could be changed
        return field(default_factory=given, metadata={RULE: rule})
    return field(default=default, metadata={RULE: rule})
