"""Collects mistakes in the configuration, and words their messages."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tui_host.errors import SettingsError, TuiHostError

_KINDS: Mapping[type, str] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "text",
    list: "an array",
    dict: "a table",
}


@dataclass(slots=True, kw_only=True)
class Report:
    """Collects mistakes, which stop the program's start, and notices, which do not."""

    mistakes: list[TuiHostError] = field(default_factory=list[TuiHostError])
    notices: list[str] = field(default_factory=list[str])

    def mistake(self, where: str, what: str, remedy: str) -> None:
        """Add a mistake to the report."""
        self.mistakes.append(SettingsError(what, where, remedy))

    @contextmanager
    def collecting(self) -> Generator[None]:
        """Add an error that is raised inside as a mistake, and go on."""
        try:
            yield
        except SettingsError as error:
            self.mistakes.append(error)

    def raise_if_any(self) -> None:
        """Raise a `SettingsError` with all mistakes, if there are any: the first one, with the others in `more`."""
        if self.mistakes:
            first, *more = self.mistakes
            raise SettingsError(first.what, first.where, first.remedy, more=tuple(more))


def shown(text: str, longest: int = 80) -> str:
    """Make text from a file safe for a terminal, and short enough for an error message."""
    short = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in short
    )


def found(value: object, *, shows: bool = False) -> str:
    """Describe an unexpected value for an error message: by its kind alone, since it may be secret, unless it `shows`."""
    if shows and isinstance(value, bool | int | float):
        return f"found {str(value).lower()}"
    if shows and isinstance(value, str):
        return f'found "{shown(value)}"'
    return f"found {_KINDS.get(type(value), 'a date or time')}"


def closest(name: str, known: Sequence[str]) -> str | None:
    """Return the most similar known name, None if none is close."""
    import difflib

    close = difflib.get_close_matches(name, known, 1, 0.75)  # a less similar name would be a guess
    return close[0] if close else None


def nearest(name: str, known: Sequence[str], otherwise: str = "") -> str:
    """Return a remedy for an unknown name: the most similar known name, else `otherwise`, or all known names."""
    close = closest(name, known)
    if close is not None:
        return f"did you mean {shown(close)}?"
    if otherwise:
        return otherwise
    return f"choose from {', '.join(map(shown, known))}" if known else "remove it"


def wrong_choice(text: str, choices: Sequence[str]) -> tuple[str, str]:
    """Return what is wrong with a text that is none of the choices, and the remedy."""
    what = f'found "{shown(text)}", expected one of {", ".join(filter(None, choices))}'
    return what, nearest(text, choices, "write one of them")
