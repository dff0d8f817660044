"""What may be asked of a model beside the question: by the names that most vendors use; each dialect writes them in its own way."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite

from tui_host.errors import JSON

_NUMBER = "a number"
_COUNT = "a whole number"
_TEXT = "a text"
_TEXTS = "a text, or a list of texts"
_OBJECT = "a JSON object"
_KINDS: Mapping[str, str] = {
    "temperature": _NUMBER,
    "top_p": _NUMBER,
    "max_tokens": _COUNT,
    "reasoning_effort": _TEXT,
    "seed": _COUNT,
    "stop": _TEXTS,
    "extra_body": _OBJECT,
}
_WIRE: Mapping[str, tuple[str, ...]] = {
    "temperature": ("temperature",),
    "top_p": ("top_p", "topP"),
    "max_tokens": ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "num_predict"),
    "reasoning_effort": ("reasoning_effort", "reasoning", "thinking", "output_config", "think", "thinkingConfig"),
    "seed": ("seed", "random_seed"),
    "stop": ("stop", "stop_sequences", "stopSequences"),
}
"""What the vendors call each option: so far one that is named and one in `extra_body` are the same."""
_INNER = ("generationConfig", "options")
"""The members of a body in which some of them want these."""
_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


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
        others: Anything else, by the vendor's own names: sent as it is, where its dialect has options.
        extra_body: Members of the request's body: merged into it last.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    others: Mapping[str, JSON] = field(default_factory=dict[str, JSON], repr=False)
    extra_body: Mapping[str, JSON] = field(default_factory=dict[str, JSON], repr=False)

    def over(self, below: Options) -> Options:
        """These, and those of `below` where these say nothing, be it by name or by the vendor's own key."""
        said = [key for name, keys in _WIRE.items() if value_of(self, name) is not None for key in keys]
        told = {*said, *self.others}
        return Options(
            temperature=below.temperature if self.temperature is None else self.temperature,
            top_p=below.top_p if self.top_p is None else self.top_p,
            max_tokens=below.max_tokens if self.max_tokens is None else self.max_tokens,
            reasoning_effort=below.reasoning_effort if self.reasoning_effort is None else self.reasoning_effort,
            stop=self.stop or below.stop,
            seed=below.seed if self.seed is None else self.seed,
            others={**_without(below.others, {*said, *self.extra_body}), **self.others},
            extra_body={**_without(below.extra_body, told), **self.extra_body},
        )

    def on_wire(self, name: str) -> JSON:
        """What is sent for an option that is set by its name: what `extra_body` or another key says of it wins."""
        places = [self.others, self.extra_body]
        places += [inner for place in places for key in _INNER if isinstance(inner := place.get(key), Mapping)]
        found = [place[key] for place in places for key in _WIRE.get(name, ()) if key in place]
        return found[-1] if found else value_of(self, name)


SETTABLE = tuple(_KINDS)
"""The options that a person sets for a session."""


def option_of(name: str, text: str) -> JSON:
    """An option's value as it was typed.

    Several texts are separated by commas; one with a comma, a line end or spaces at its ends stands in quotes, as in JSON.

    Raises:
        ValueError: It is none; the text says what would be.
    """
    kind, value = _KINDS[name], text.strip()
    read: JSON = value if kind == _TEXT else None
    with suppress(ValueError):
        if kind == _OBJECT:
            read = json.loads(value, parse_constant=_no_number)
        elif kind == _TEXTS:
            read = list(_texts(value))
        elif kind in {_COUNT, _NUMBER}:
            read = int(value) if kind == _COUNT else float(value)
    if read == [] or not _is(kind, read):
        raise ValueError('texts, with commas between them; "a, b\\n" in quotes' if kind == _TEXTS else kind)
    return read


def text_of(value: JSON) -> str:
    """An option's value as one would type it."""
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return ", ".join(_typed(str(each)) for each in value)
    return "" if value is None else str(value)


def value_of(options: Options, name: str) -> JSON:
    """One option by its name; None where nothing is said."""
    values: Mapping[str, JSON] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "max_tokens": options.max_tokens,
        "reasoning_effort": options.reasoning_effort,
        "seed": options.seed,
        "stop": list(options.stop) or None,
        "extra_body": dict(options.extra_body) or None,
    }
    return values[name]


def with_value(options: Options, name: str, value: JSON) -> Options:
    """The options with one set anew; None says nothing of it."""
    return options_of({**options_to_json(options), name: value})


def options_to_json(options: Options) -> dict[str, JSON]:
    """What is said, by its names: `options_of` reads it again."""
    said = {name: value_of(options, name) for name in SETTABLE}
    return {**options.others, **{name: value for name, value in said.items() if value is not None}}


def wrong_options(values: Mapping[str, JSON]) -> dict[str, str]:
    """The options whose values are of the wrong type, each with what it should be."""
    return {name: kind for name, kind in _KINDS.items() if name in values and not _is(kind, values[name])}


def options_of(values: Mapping[str, JSON]) -> Options:
    """Options by their names; a value of the wrong type counts as not given."""
    known = {name: values.get(name) for name, kind in _KINDS.items() if _is(kind, values.get(name))}
    temperature, top_p, most, effort, seed, stop, extra = (known.get(name) for name in SETTABLE)
    return Options(
        temperature=temperature if isinstance(temperature, int | float) else None,
        top_p=top_p if isinstance(top_p, int | float) else None,
        max_tokens=most if isinstance(most, int) else None,
        reasoning_effort=effort if isinstance(effort, str) else None,
        stop=(stop,) if isinstance(stop, str) else tuple(map(str, stop)) if isinstance(stop, list) else (),
        seed=seed if isinstance(seed, int) else None,
        others={name: value for name, value in values.items() if name not in _KINDS},
        extra_body=extra if isinstance(extra, Mapping) else {},
    )


def _without(values: Mapping[str, JSON], keys: Collection[str]) -> dict[str, JSON]:
    """The values but for some, also where they stand one deeper."""
    kept = {name: value for name, value in values.items() if name not in keys}
    return {
        name: _without(value, keys) if name in _INNER and isinstance(value, Mapping) else value
        for name, value in kept.items()
    }


def _is(kind: str, value: JSON) -> bool:
    if isinstance(value, bool):
        return False
    if kind == _NUMBER:
        return isinstance(value, int) or (isinstance(value, float) and isfinite(value))
    if kind == _COUNT:
        return isinstance(value, int) and value >= 0
    if kind == _OBJECT:
        return isinstance(value, Mapping)
    if kind == _TEXTS and isinstance(value, list):
        return all(isinstance(each, str) and each for each in value)
    return isinstance(value, str) and bool(value)


def _texts(typed: str) -> Iterator[str]:
    """What stands between commas; raises ValueError where something stands beside a text in quotes."""
    rest = typed
    while rest := rest.lstrip():
        quoted = _JSON_TEXT.match(rest)
        end = quoted.end() if quoted is not None else rest.find(",")
        piece, rest = (rest, "") if end < 0 else (rest[:end], rest[end:].lstrip())
        if rest and not rest.startswith(","):
            raise ValueError(rest)
        rest = rest[1:]
        text: object = json.loads(piece) if quoted is not None else piece.rstrip()
        if text:
            yield str(text)


def _typed(text: str) -> str:
    """A text so that `_texts` reads it again."""
    is_plain = text == text.strip() and text.isprintable() and "," not in text and not text.startswith('"')
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def _no_number(name: str) -> JSON:
    raise ValueError(name)
