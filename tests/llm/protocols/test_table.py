"""Every tool protocol against the same table: one call, several, malformed, invented result, tag in prose, hub."""

from __future__ import annotations

import pytest

from tests.llm.protocols.answers import (
    PLAIN,
    SEVERAL,
    SUM,
    Reading,
    call,
    each,
    made_up,
    read,
    speaking,
)
from tui_host.llm.messages import Stop

ONE = [("math__add", SUM)]
EVERY = 5
"""Of the places in an answer, those at which it is cut: every fifth. `test_cases` cuts anywhere."""
protocols = pytest.mark.parametrize("name", PLAIN)


def read_all_ways(name: str, answer: str, *, stop: Stop = "end") -> Reading:
    """Read it in whole, cut once at every place, and in one-character deltas: the same events but for how texts are pieced."""
    whole = read(name, answer, stop=stop)
    for cut in each(answer)[::EVERY]:
        assert read(name, answer, [cut], stop=stop).events == whole.events, answer[:cut]
    single = read(name, answer, each(answer), stop=stop)
    assert single.events == whole.events
    for text in (*whole.shown, *single.shown):
        assert whole.text.startswith(text), "half a tag was shown"
    for span, written in zip(single.spans, single.written, strict=True):
        assert span.decode().strip() == written or written in span.decode()
    return single


@protocols
def test_one_call(name: str) -> None:
    found = read_all_ways(name, call(name))
    assert (found.calls, found.written) == (ONE, [call(name)])
    assert (found.text, found.cut, found.malformed) == ("", "", [])
    assert found.spans == [call(name).encode()]


@protocols
def test_several_calls(name: str) -> None:
    answer = f"{call(name)}\n{call(name, 'multiply')}"
    found = read_all_ways(name, answer)
    if name in SEVERAL:
        assert found.calls == [("math__add", SUM), ("math__multiply", SUM)]
        assert (found.text.strip(), found.cut) == ("", "")
    else:
        assert found.calls == ONE
        assert found.cut.strip() == call(name, "multiply")


@protocols
def test_a_malformed_call(name: str) -> None:
    wrong = call(name, arguments='{"a": 6, "b": 5,}')
    found = read_all_ways(name, wrong)
    assert (found.calls, found.text.strip()) == ([], wrong)
    (reason,) = found.malformed
    assert "column" in reason
    said = speaking(name).correction(found.malformed, ())
    assert reason in said
    assert "was run" in said


@protocols
def test_an_invented_result(name: str) -> None:
    found = read_all_ways(name, f"{call(name)}\n{made_up(name)}")
    assert (found.calls, found.text.strip()) == (ONE, "")
    assert found.cut == made_up(name)


@protocols
def test_a_tag_in_prose(name: str) -> None:
    tag = call(name).partition("\n")[0].partition(" ")[0]
    answer = f"To call one, I write `{tag}` and then what it takes: {tag} again, `{call(name)[:20]}`."
    found = read_all_ways(name, answer.replace("\n", " "))
    assert (found.calls, found.malformed, found.cut) == ([], [], "")
    assert found.text == answer.replace("\n", " ")


@protocols
@pytest.mark.parametrize(
    "around",
    [
        "> {}",
        "Of its form: `{}`",
        "```\n{0}\n{0}\n```",
        "````text\n```xml\n{}\n```\n````\nThat is all.",
    ],
)
def test_a_call_that_is_quoted_is_text(name: str, around: str) -> None:
    inside = call(name) if "\n{" in around else call(name).replace("\n", " ")
    answer = around.format(inside)
    found = read_all_ways(name, answer)
    assert (found.calls, found.malformed, found.cut, found.text) == ([], [], "", answer)


@protocols
def test_a_fence_around_a_call_alone(name: str) -> None:
    found = read_all_ways(name, f"```xml\n{call(name)}\n```")
    assert (found.calls, found.text) == (ONE, "")


@protocols
def test_a_cut_call_is_not_run(name: str) -> None:
    found = read_all_ways(name, call(name)[:-20], stop="length")
    assert found.calls == []
    assert found.malformed == [] or "cut at the token limit" in found.malformed[0] or "not JSON" in found.malformed[0]


@protocols
def test_values_are_taken_as_they_are(name: str) -> None:
    arguments = (
        '{"a": "x < y && z &lt; \\" </arguments></tool_use></tool_call></use_mcp_tool> `tick` {[",'
        ' "b": "\u2028 🙂 \\u0000 \\\\"}'
    )
    found = read_all_ways(name, call(name, arguments=arguments))
    assert found.calls == [("math__add", arguments)]
    assert found.written == [call(name, arguments=arguments)]
