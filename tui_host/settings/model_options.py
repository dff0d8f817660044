"""Model options under common names; each dialect writes them under its own names."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import isfinite

from tui_host.errors import JSON

_NUMBER, _COUNT, _TEXT = "a number", "a whole number", "a text"
_TEXTS, _OBJECT = "a text, or a list of texts", "a JSON object"
_KINDS: Mapping[str, str] = {
    "temperature": _NUMBER,
    "top_p": _NUMBER,
    "max_tokens": _COUNT,
    "reasoning_effort": _TEXT,
    "seed": _COUNT,
    "stop": _TEXTS,
    "extra_body": _OBJECT,
}
# The vendors' names for each option, by which an option in `extra_body` is recognised.
_WIRE: Mapping[str, tuple[str, ...]] = {
    "temperature": ("temperature",),
    "top_p": ("top_p", "topP"),
    "max_tokens": ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "num_predict"),
    "reasoning_effort": ("reasoning_effort", "reasoning", "thinking", "output_config", "think", "thinkingConfig"),
    "seed": ("seed", "random_seed"),
    "stop": ("stop", "stop_sequences", "stopSequences"),
}
# Members of a request's body that contain the options of some vendors.
_INNER = ("generationConfig", "options")

SETTABLE = tuple(_KINDS)
"""Options that a user can set for a session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a model exchange. None, or empty, leaves the choice to the provider.

    Attributes:
        max_tokens: Largest number of tokens in an answer, including thinking.
        reasoning_effort: How much the model thinks, in the vendor's own words (`low`, `medium`, `high`).
        stop: Texts at which the answer ends.
        others: Further options under the vendor's own names, sent unchanged.
        extra_body: Members merged last into the request's body.
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
        """Return these options, completed from `below`. An option set under a vendor's own key counts as set."""
        set_names = [name for name in _WIRE if value_of(self, name) is not None]
        set_keys = {key for name in set_names for key in _WIRE[name]}
        whole = replace(
            below,
            others={**_without(below.others, {*set_keys, *self.extra_body}), **self.others},
            extra_body={**_without(below.extra_body, {*set_keys, *self.others}), **self.extra_body},
        )
        for name in set_names:
            whole = with_value(whole, name, value_of(self, name))
        return whole

    def on_wire(self, name: str) -> JSON:
        """Return the value sent for an option. A vendor's own key, or a key in `extra_body`, wins over the common name."""
        places = [self.others, self.extra_body]
        places += [inner for place in places for key in _INNER if isinstance(inner := place.get(key), Mapping)]
        values = [place[key] for place in places for key in _WIRE.get(name, ()) if key in place]
        return values[-1] if values else value_of(self, name)


def option_of(name: str, text: str) -> JSON:
    """Parse an option's value as typed by the user.

    Several texts are separated by commas. If one has a comma, a line end or outer spaces, all are quoted, as in JSON.

    Raises:
        ValueError: The value is invalid; the error's text says what is expected.
    """
    kind, typed = _KINDS[name], text.strip()
    parse: Mapping[str, Callable[[str], JSON]] = {
        _NUMBER: float,
        _COUNT: int,
        _TEXT: str,
        _TEXTS: _texts,
        _OBJECT: lambda typed: json.loads(typed, parse_constant=_refuse),
    }
    with suppress(ValueError):
        value = parse[kind](typed)
        if _is(kind, value):
            return value
    raise ValueError('texts, with commas between them, or all in quotes: "a, b\\n"' if kind == _TEXTS else kind)


def text_of(value: JSON) -> str:
    """Format an option's value in the way a user types it."""
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        texts = list(map(str, value))
        return ", ".join(
            texts if all(map(_is_plain, texts)) else (json.dumps(text, ensure_ascii=False) for text in texts)
        )
    return "" if value is None else str(value)


def value_of(options: Options, name: str) -> JSON:
    """Return an option's value by the option's name, None if not set."""
    value: JSON = getattr(options, name)
    if isinstance(value, tuple):
        return list(value) or None
    return (dict(value) or None) if isinstance(value, Mapping) else value


def with_value(options: Options, name: str, value: JSON) -> Options:
    """Return the options with one value replaced; the value None unsets the option."""
    return options_of({**options_to_json(options), name: value})


def options_to_json(options: Options) -> dict[str, JSON]:
    """Return the options that are set, by name; `options_of` reverses this."""
    values = {name: value_of(options, name) for name in SETTABLE}
    return {**options.others, **{name: value for name, value in values.items() if value is not None}}


def wrong_options(values: Mapping[str, JSON]) -> dict[str, str]:
    """Return the names of options whose value has the wrong type, each with the expected type."""
    return {name: kind for name, kind in _KINDS.items() if name in values and not _is(kind, values[name])}


def options_of(values: Mapping[str, JSON]) -> Options:
    """Build options from values by name; a value of the wrong type is ignored."""
    valid: dict[str, object] = {name: values[name] for name, kind in _KINDS.items() if _is(kind, values.get(name))}
    if "stop" in valid:
        stop = values["stop"]
        valid["stop"] = tuple(stop) if isinstance(stop, list) else (stop,)
    return replace(Options(others={name: values[name] for name in values if name not in _KINDS}), **valid)


def _is(kind: str, value: JSON) -> bool:
    if isinstance(value, bool):
        return False  # true and false are numbers to Python
    if kind == _NUMBER:
        return isinstance(value, int) or (isinstance(value, float) and isfinite(value))
    if kind == _COUNT:
        return isinstance(value, int) and value >= 0
    if kind == _OBJECT:
        return isinstance(value, Mapping)
    texts = value if kind == _TEXTS and isinstance(value, list) else [value]
    return bool(texts) and all(isinstance(text, str) and text for text in texts)


def _without(values: Mapping[str, JSON], keys: Collection[str]) -> dict[str, JSON]:
    """Return the values without some keys, also inside `_INNER` members."""
    kept = {name: value for name, value in values.items() if name not in keys}
    for name in _INNER:
        inner = kept.get(name)
        if isinstance(inner, Mapping):
            kept[name] = _without(inner, keys)
    return kept


def _texts(typed: str) -> JSON:
    if typed.startswith('"'):
        return json.loads(f"[{typed}]")
    return [text for text in map(str.strip, typed.split(",")) if text]


def _is_plain(text: str) -> bool:
    """Whether a text can stand between commas without quotes."""
    return text == text.strip() and text.isprintable() and "," not in text and not text.startswith('"')


def _refuse(constant: str) -> JSON:
    raise ValueError(constant)  # JSON has no NaN, though Python reads it
