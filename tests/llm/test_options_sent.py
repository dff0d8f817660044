"""Which option reaches the wire: the nearest wins, by whatever name, and one that is not sent is told."""

from __future__ import annotations

import json
from itertools import product

import pytest

from tui_host.errors import JSON
from tui_host.llm.dialects.table import DIALECTS
from tui_host.llm.messages import Ask
from tui_host.llm.model_request import model_request
from tui_host.settings.model_options import SETTABLE, Options, value_of, with_value
from tui_host.settings.schema import Provider, Template

BASE = Template(text="http://127.0.0.1:9/v1", literal=True)


def sent(dialect: str, session: Options, provider: Options) -> tuple[str, dict[str, str]]:
    asked = Provider(name="p", dialect=dialect, base_url=BASE, options=provider, allow_http=True)
    request = model_request(asked, Ask(model="m", messages=(), options=session), {})
    return json.dumps(json.loads(request.body)), dict(request.unsent)


def test_what_the_session_says_in_extra_body_wins_over_what_is_named_below_it() -> None:
    body, _ = sent("openai", Options(extra_body={"temperature": 0.1}), Options(temperature=0.9))

    assert '"temperature": 0.1' in body
    assert Options(extra_body={"temperature": 0.1}, temperature=0.9).on_wire("temperature") == 0.1


EVERY = Options(temperature=0.1, top_p=0.2, max_tokens=9, reasoning_effort="low", seed=1, stop=tuple("abcdef"))


@pytest.mark.parametrize(
    ("dialect", "names"),
    [
        ("openai", {"stop"}),
        ("openai-responses", {"seed", "stop"}),
        ("anthropic", {"seed"}),
        ("gemini", {"stop"}),
        ("ollama", set[str]()),
    ],
)
def test_an_option_that_a_dialect_does_not_send_is_told_with_the_reason(dialect: str, names: set[str]) -> None:
    _, unsent = sent(dialect, EVERY, Options())

    assert set(unsent) == names
    assert all(unsent.values())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_option_stands_in_for_every_key_that_a_dialect_writes_it_under(dialect: str) -> None:
    for service, name in product(("p", "openai", "mistral", "anthropic"), set(SETTABLE) - {"extra_body"}):
        one = with_value(Options(), name, value_of(EVERY, name))
        for key in written(dialect, service, one) - written(dialect, service, Options()):
            *outer, inner = key
            below: dict[str, JSON] = {outer[0]: {inner: 0}} if outer else {inner: 0}
            left: dict[str, JSON] = {outer[0]: {}} if outer else {}
            assert one.over(Options(extra_body=below)).extra_body == left, (service, name)


def written(dialect: str, service: str, options: Options) -> set[tuple[str, ...]]:
    """The keys of a request's body that are no object themselves, with those that lead to them where vendors keep options."""
    asked = Provider(name=service, dialect=dialect, base_url=BASE, allow_http=True)
    body = json.loads(model_request(asked, Ask(model="gemini-2.5-pro", messages=(), options=options), {}).body)
    places = {(key,): value for key, value in body.items()}
    for outer in ("generationConfig", "options"):
        inside = places.pop((outer,), {})
        places |= {(outer, key): value for key, value in inside.items()}
    return set(places)
