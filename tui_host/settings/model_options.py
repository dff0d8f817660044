"""Model options under common names; each dialect writes them under its own names."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import field, replace

from tui_host.errors import JSON
from tui_host.settings.frozen import Frozen

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
# Members, of a request's body or of `Options`, that contain the options of some vendors.
_INNER = ("generationConfig", "options", "extra_body")

SETTABLE = tuple(_KINDS)


class Options(Frozen):
    """Options of a model exchange. None, or empty, leaves the choice to the provider."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    # Sent unchanged under the vendor's own names; `extra_body` is merged last into the request's body.
    others: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    extra_body: Mapping[str, JSON] = field(default_factory=dict[str, JSON])

    def over(self, below: Options) -> Options:
        """Return these options, completed from `below`. An option set under a vendor's own key counts as set."""
        own = options_to_json(self)
        keys = {key for name in own for key in _WIRE.get(name, ())}
        kept = _without(options_to_json(below), {*keys, *self.others, *self.extra_body})
        extra_body = {**options_of(kept).extra_body, **self.extra_body}
        return options_of({**kept, **own, "extra_body": extra_body})

    def on_wire(self, name: str) -> JSON:
        """Return the value sent for an option. A vendor's own key, or a key in `extra_body`, wins over the common name."""
        places = [self.others, self.extra_body]
        places += [inner for place in places for key in _INNER if isinstance(inner := place.get(key), Mapping)]
        values = [place[key] for place in places for key in _WIRE.get(name, ()) if key in place]
        return values[-1] if values else value_of(self, name)


def option_of(name: str, text: str) -> JSON:
    """Parse an option's value as typed by the user; a `ValueError` says what is expected."""
    kind, typed = _KINDS[name], text.strip()
    value: JSON = typed
    with suppress(ValueError):
        if kind == _TEXTS and not typed.startswith('"'):
            value = [part for part in map(str.strip, typed.split(",")) if part]
        elif kind != _TEXT:
            value = json.loads(f"[{typed}]" if kind == _TEXTS else typed)
        json.dumps(value, allow_nan=False)  # Python reads NaN, which JSON does not have
        if _is(kind, value):
            return value
    raise ValueError('texts, with commas between them, or all in quotes: "a, b\\n"' if kind == _TEXTS else kind)


def text_of(value: JSON) -> str:
    """Format an option's value in the way a user types it."""
    if isinstance(value, list | Mapping):
        text = json.dumps(value, ensure_ascii=False)
        return text[1:-1] if isinstance(value, list) else text
    return "" if value is None else str(value)


def value_of(options: Options, name: str) -> JSON:
    """Return an option's value by the option's name, None if not set."""
    value: JSON = getattr(options, name)
    if isinstance(value, tuple):
        return list(value) or None
    return (dict(value) or None) if isinstance(value, Mapping) else value


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
        return isinstance(value, int | float)
    if kind == _COUNT:
        return isinstance(value, int) and value >= 0
    if kind == _OBJECT:
        return isinstance(value, Mapping)
    texts = value if kind == _TEXTS and isinstance(value, list) else [value]
    return bool(texts) and all(isinstance(text, str) and text for text in texts)


def _without(values: Mapping[str, JSON], keys: Collection[str]) -> dict[str, JSON]:
    kept = {name: value for name, value in values.items() if name not in keys}
    inner = {name: value for name in _INNER if isinstance(value := kept.get(name), Mapping)}
    return {**kept, **{name: _without(value, keys) for name, value in inner.items()}}
