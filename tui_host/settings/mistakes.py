"""Mistakes in what a person wrote, collected, and the words for what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time

from tui_host.errors import SettingsError, TuiHostError


@dataclass(slots=True, kw_only=True)
class Report:
    """What was found while reading: mistakes, which end it, and notices, which do not."""

    mistakes: list[TuiHostError] = field(default_factory=list[TuiHostError])
    notices: list[str] = field(default_factory=list[str])

    def mistake(self, what: str, where: str, remedy: str) -> None:
        """Keep one mistake."""
        self.mistakes.append(SettingsError(what, where, remedy))

    def raise_if_any(self) -> None:
        """End the reading with all mistakes at once.

        Raises:
            SettingsError: The first mistake, with the others in `more`.
        """
        if self.mistakes:
            first, *more = self.mistakes
            raise SettingsError(first.what, first.where, first.remedy, more=tuple(more))


def shown(text: str, longest: int = 80) -> str:
    """Text out of a file, harmless and short enough for one line of an error."""
    short = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in short
    )


def kind(value: object) -> str:
    """What a value of a TOML document is, in a person's words."""
    for types, word in (
        (bool, "true or false"),
        (int, "an integer"),
        (float, "a number"),
        (str, "text"),
        (list, "an array"),
        (dict, "a table"),
        ((datetime, date, time), "a date or time"),
    ):
        if isinstance(value, types):
            return word
    return type(value).__name__


def found(value: object, *, hidden: bool = False) -> str:
    """What stands where something else should: with the value, unless it may be a secret."""
    if isinstance(value, bool):
        return f"found {str(value).lower()}"
    if hidden or not isinstance(value, (int, float, str)):
        return f"found {kind(value)}"
    as_text = f'"{shown(value)}"' if isinstance(value, str) else shown(_digits(value))
    return f"found {as_text} ({kind(value)})"


def closest(name: str, known: Sequence[str]) -> str | None:
    """The name that is likely meant; None if there is none so close."""
    import difflib

    close = difflib.get_close_matches(name, known, 1, 0.75)  # below that it is a guess
    return close[0] if close else None


def nearest(name: str, known: Sequence[str], otherwise: str = "") -> str:
    """The remedy for a name that is not known: the closest one that is, else `otherwise`, or all of them."""
    close = closest(name, known)
    if close is not None:
        return f"write {shown(close)}, if that was meant"
    if otherwise:
        return otherwise
    return f"known here: {', '.join(map(shown, known))}" if known else "remove it"


def _digits(value: float) -> str:
    if isinstance(value, int) and not -(10**18) < value < 10**18:
        return "a huge number"
    return str(value)
