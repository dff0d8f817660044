"""The secrets that are known by their value: those that were configured or given, and those that others have shown of theirs."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tui_host.capture.redact.by_value import Needles, Spelled, name_in_mark
from tui_host.settings.credential_places import is_telling

BY_VALUE_FROM = 8
"""Characters from which a secret is looked for wherever it may stand."""
LEARNED_MOST, LEARNED_LENGTH = 64, 8192
"""Credentials of others that are remembered, those used last, and the characters of one."""


@dataclass(frozen=True, slots=True)
class Now:
    """What is known at a time.

    Attributes:
        learned: The name of each credential that others have shown, by its value.
        needles: What is looked for, of all.
    """

    learned: Mapping[str, str]
    needles: Needles


@lru_cache(4 * LEARNED_MOST)
def _spelled(name: str, value: str) -> Spelled:
    """This takes a while, and what had to make room is looked for again, in what came before that."""
    return Spelled(name, value)


class Known:
    """Callable from any thread.

    Args:
        secrets: Names and values.

    Attributes:
        now: What is known now. It never changes: another takes its place.
        names: The name of each that was configured or given, however short, by its value.
    """

    def __init__(self, secrets: Iterable[tuple[str, str]]) -> None:
        self.now = Now({}, Needles())
        self.names: Mapping[str, str] = {}
        self._lock = threading.Lock()
        self._given: tuple[Spelled, ...] = ()
        self._given_alone = Needles()
        self._learned: dict[str, str] = {}
        self._learned_forms: dict[str, Spelled] = {}
        self.add(secrets)

    def add(self, secrets: Iterable[tuple[str, str]]) -> None:
        """Know these too, from now on."""
        with self._lock:
            names = dict(self.names)
            for name, given in secrets:
                value = given.strip()
                if value and value not in names:
                    names[value] = name
                    if len(value) >= BY_VALUE_FROM:
                        self._given = (*self._given, _spelled(name, value))
            if len(names) > len(self.names):
                self.names = names
                self._given_alone = Needles(self._given)
                self._arrange()

    def learn(self, name: str, value: str) -> None:
        """Know a credential of somebody else's, which is not configured here, if it is one that no text has by chance."""
        value = value.strip()
        if not BY_VALUE_FROM <= len(value) <= LEARNED_LENGTH or value.startswith("⟨secret:") or not is_telling(value):
            return
        with self._lock:
            if value in self.names or next(reversed(self._learned), None) == value:
                return
            if self._given_alone.are_in(value.encode("utf-8", "surrogatepass")):
                return
            is_new = value not in self._learned
            self._learned = {**{key: item for key, item in self._learned.items() if key != value}, value: name}
            if is_new:
                self._learned_forms[value] = _spelled(name, value)
                for oldest in list(self._learned)[:-LEARNED_MOST]:
                    del self._learned[oldest], self._learned_forms[oldest]
                self._arrange()

    @property
    def needles(self) -> Needles:
        """What is looked for, of all."""
        return self.now.needles

    def forgotten(self, learned: Mapping[str, str], since: Now) -> tuple[tuple[str, str], ...]:
        """Names and values of what others had shown and that was not known all the time since."""
        known: Mapping[str, str] = since.learned if since is self.now else {}
        if learned is known:
            return ()
        return tuple((name, value) for value, name in learned.items() if value not in known and value not in self.names)

    @property
    def lengths(self) -> Mapping[str, int]:
        """How many characters each secret has, by its name as marks have it."""
        return {name_in_mark(name): len(value) for value, name in (*self._learned.items(), *self.names.items())}

    def _arrange(self) -> None:
        """Look for all; what is known twice goes by the name that was given."""
        forms = self._learned_forms.values()
        needles = Needles((*self._given, *forms)) if forms else self._given_alone
        self.now = Now(dict(self._learned), needles)
