"""What may be asked of a model beside the question: by the names that most vendors use; each dialect writes them in its own way."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite

from tui_host.errors import JSON

_NUMBER = "a number"
_COUNT = "a whole number"
_TEXT = "a text"
_TEXTS = "a text, or a list of texts"
_KINDS: Mapping[str, str] = {
    "temperature": _NUMBER,
    "top_p": _NUMBER,
    "max_tokens": _COUNT,
    "reasoning_effort": _TEXT,
    "stop": _TEXTS,
    "seed": _COUNT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a model exchange; None or empty means: say nothing, the provider's own default holds.

    Attributes:
        temperature: How freely it chooses among likely words.
        top_p: Of which share of the likely words.
        max_tokens: The most tokens of an answer, thinking included.
        reasoning_effort: How long it thinks, in the vendor's own words (`low`, `medium`, `high`).
        stop: Texts at which the answer ends.
        seed: For the same answer again, as far as the provider can.
        others: Anything else, by the vendor's own names: sent as it is.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    others: Mapping[str, JSON] = field(default_factory=dict[str, JSON], repr=False)

    def over(self, below: Options) -> Options:
        """These, and those of `below` where these say nothing."""
        return Options(
            temperature=below.temperature if self.temperature is None else self.temperature,
            top_p=below.top_p if self.top_p is None else self.top_p,
            max_tokens=below.max_tokens if self.max_tokens is None else self.max_tokens,
            reasoning_effort=below.reasoning_effort if self.reasoning_effort is None else self.reasoning_effort,
            stop=self.stop or below.stop,
            seed=below.seed if self.seed is None else self.seed,
            others={**below.others, **self.others},
        )


SETTABLE = ("temperature", "top_p", "max_tokens", "reasoning_effort", "seed")
"""The options that a person sets for a session, one value each."""


def option_of(name: str, text: str) -> JSON:
    """An option's value as it was typed.

    Raises:
        ValueError: It is none; the text says what would be.
    """
    kind, value = _KINDS[name], text.strip()
    read: JSON = value
    with suppress(ValueError):
        read = int(value) if kind == _COUNT else float(value) if kind == _NUMBER else value
    if not _is(kind, read):
        raise ValueError(kind)
    return read


def wrong_options(values: Mapping[str, JSON]) -> dict[str, str]:
    """The options whose values are of the wrong type, each with what it should be."""
    return {name: kind for name, kind in _KINDS.items() if name in values and not _is(kind, values[name])}


def options_of(values: Mapping[str, JSON]) -> Options:
    """Options by their names; a value of the wrong type counts as not given."""
    known = {name: values.get(name) for name, kind in _KINDS.items() if _is(kind, values.get(name))}
    temperature, top_p, effort, stop = (
        known.get(name) for name in ("temperature", "top_p", "reasoning_effort", "stop")
    )
    most, seed = known.get("max_tokens"), known.get("seed")
    return Options(
        temperature=temperature if isinstance(temperature, int | float) else None,
        top_p=top_p if isinstance(top_p, int | float) else None,
        max_tokens=most if isinstance(most, int) else None,
        reasoning_effort=effort if isinstance(effort, str) else None,
        stop=(stop,) if isinstance(stop, str) else tuple(map(str, stop)) if isinstance(stop, list) else (),
        seed=seed if isinstance(seed, int) else None,
        others={name: value for name, value in values.items() if name not in _KINDS},
    )


def _is(kind: str, value: JSON) -> bool:
    if isinstance(value, bool):
        return False
    if kind == _NUMBER:
        return isinstance(value, int) or (isinstance(value, float) and isfinite(value))
    if kind == _COUNT:
        return isinstance(value, int) and value >= 0
    if kind == _TEXTS and isinstance(value, list):
        return all(isinstance(each, str) and each for each in value)
    return isinstance(value, str) and bool(value)
