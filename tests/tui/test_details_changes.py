"""The page of changes: what differs between two requests, where their common beginning ends, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from tests.tui.details_drawn import drawn, row_of
from tests.tui.inspecting import Inspecting, a_session
from tests.tui.inspector_wires import MESSAGES, TOOL, Wires, a_turn, request_body, to_json
from tests.tui.waiting import at_work, until
from tui_host.answers.changed_words import changed_words, merged_text
from tui_host.answers.changes_page import Changes, changes_of
from tui_host.answers.steps import made
from tui_host.capture.ladder.row import Row
from tui_host.errors import JSON
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.dialects.table import DIALECTS
from tui_host.tui.widgets.details.detail_panel import page_of


def user(text: str) -> JSON:
    return {"role": "user", "content": text}


def page(*bodies: bytes) -> str:
    """The page of the last of some requests."""
    wires = Wires()
    rows = [wires.request(body, number, exchange=f"x{number}") for number, body in enumerate(bodies)]
    return "\n".join(drawn(page_of("Changes", wires, rows[-1], set()), 140))


def asking(system: str, *texts: str, tools: Sequence[JSON] = (TOOL,)) -> bytes:
    messages: list[JSON] = [{"role": "system", "content": system}, *map(user, texts)]
    return to_json({"model": "m", "tools": list(tools), "messages": messages})


def test_what_is_added_at_the_end_breaks_nothing() -> None:
    wires = Wires()
    a_turn(wires)
    shown = "\n".join(drawn(page_of("Changes", wires, row_of(wires, "request", 1), set()), 120))
    assert "changes of LLM 2 since LLM 1, the request before" in shown
    assert "prefix kept 255 of 480 B; goes on at messages[2]: message of the assistant" in shown
    assert "nothing that was sent before has changed" in shown
    assert "▸ messages[3]  result of math.multiply  30" in shown


def test_the_first_request_says_what_would_stand_there() -> None:
    assert "from the second request of a conversation on" in page(request_body(MESSAGES))


def test_a_time_in_the_system_prompt_is_told_as_the_cause_with_its_words() -> None:
    shown = page(asking("It is 10:31 in Paris.", "hi"), asking("It is 10:32 in Paris.", "hi", "two"))
    assert "breaks at messages[0]: system prompt" in shown
    assert 'system prompt, changed: "10:31" -> "10:32" (a time: it changes with each request)' in shown
    assert "▾ messages[0]  system prompt" in shown
    assert "messages[2]  text of the user  two" in shown
    assert "text of the user  hi" not in shown


def test_what_is_gone_and_what_moved_are_told_as_such() -> None:
    shown = page(asking("s", "one", "two", "three"), asking("s", "two", "three", "one"))
    assert "messages[3]  text of the user  one  from messages[1]" in shown
    assert "two" not in shown
    shown = page(asking("s", "one", "two"), asking("s", "two"))
    assert "broken because messages[1], text of the user, is no longer sent" in shown


def test_a_tool_that_is_offered_no_longer_and_tools_in_another_order_break_the_beginning() -> None:
    def tool(name: str) -> JSON:
        return {"type": "function", "function": {"name": name, "description": f"does {name}", "parameters": {}}}

    a, b, c = map(tool, ("a", "b", "c"))
    shown = page(asking("s", tools=(a, b, c)), asking("s", tools=(a, c)))
    assert "broken because tools.b, tool b, is no longer sent" in shown
    shown = page(asking("s", tools=(a, b, c)), asking("s", tools=(b, a, c)))
    assert "stood elsewhere before" in shown
    shown = page(asking("s", tools=(a,)), asking("s", tools=({**a, "extra": 1} if isinstance(a, dict) else a,)))
    assert "tools.a, tool a, changed" in shown


def test_requests_of_the_same_bytes_have_no_changes() -> None:
    assert "Nothing changed" in page(asking("s", "hi"), asking("s", "hi"))


def test_any_two_requests_are_compared_and_told_as_values() -> None:
    wires = Wires()
    first, _, third = (wires.request(asking("s", *"ab"[:n]), n, exchange=f"x{n}") for n in range(3))
    changes = made(changes_of(wires, third, first))
    assert isinstance(changes, Changes)
    assert (changes.request, changes.against, changes.is_broken) == ("LLM 3", "LLM 1", False)
    assert [(change.kind, change.path) for change in changes.changes] == [
        ("new", "messages[1]"),
        ("new", "messages[2]"),
    ]


@settings(max_examples=40)
@given(st.text(max_size=40), st.text(max_size=40))
def test_changed_words_lead_from_one_text_to_the_other(old: str, new: str) -> None:
    changes = changed_words(old, new)
    assert bool(changes) == (old != new)
    for change in reversed(changes):
        assert new[change.start :].startswith(change.come)
        new = new[: change.start] + change.gone + new[change.start + len(change.come) :]
    assert new == old


@pytest.mark.parametrize(
    ("old", "new", "merged"),
    [
        ("the weather is good", "the weather is fine today", "the weather is [-good-]{+fine today+}"),
        ("北京天气好", "北京天气很好", "北京天气{+很+}好"),
        ("x = 12", "x = 13", "x = [-12-]{+13+}"),
    ],
)
def test_words_are_marked_as_wholes(old: str, new: str, merged: str) -> None:
    assert merged_text(new, changed_words(old, new)) == merged


async def test_d_shows_the_changes_and_again_everything() -> None:
    async with at_work(Inspecting(a_session()), (140, 40)) as (app, pilot):
        selected, _ = app.inspector.details
        await until(pilot, lambda: selected.tab == "Parts")
        await pilot.press("d")
        await until(pilot, lambda: "changes of LLM 2 since LLM 1" in app.text)
        await pilot.press("d")
        await until(pilot, lambda: "+2 messages, tools unchanged" in app.text)
        row = row_of(app.wires, "response")
        app.inspector.ladder.select(row.number)
        await until(pilot, lambda: selected.row == row)
        await pilot.press("d")  # on an answer: of its request
        await until(pilot, lambda: "changes of LLM 1" in app.text)


async def test_b_sorts_a_tree_by_size_and_puts_it_in_order_again() -> None:
    wires = Wires()
    wires.request(asking("s", "a", "a long question " * 9, "mid " * 9), 1.0, exchange="x")
    async with at_work(Inspecting(wires), (100, 40)) as (app, pilot):
        await until(pilot, lambda: "messages (4)" in app.text)

        def order() -> str:
            places = ((app.text.find(f"user  {word}"), word[0]) for word in ("a  ", "a long", "mid"))
            return "".join(str(number) for _, number in sorted(zip(places, range(3), strict=True)))

        await pilot.press("enter", "b")
        await until(pilot, lambda: "sorted by size" in app.text and order() == "120")
        await pilot.press("b")
        await until(pilot, lambda: "sorted by size" not in app.text and order() == "012")


def test_a_request_is_compared_with_the_one_that_was_marked_last_in_another_session() -> None:
    first, second = Wires(), Wires()
    marked = first.request(asking("s", "a"), 0, exchange="x0")
    rows = [second.request(asking("s", *"bc"[:number]), number, exchange=f"x{number}") for number in range(2)]
    second.elsewhere = first.marked_last()
    assert second.compared(rows[1]) == rows[0]
    first.row_marks.toggle((marked.capture, marked.seq))
    second.elsewhere = first.marked_last()
    shown = "\n".join(drawn(page_of("Changes", second, rows[1], set())))
    assert f"changes of LLM 2 since LLM 1 of {first.row_marks.session}, which is marked" in shown
    assert '"a" -> "b"' in shown
    second.row_marks.toggle((rows[0].capture, rows[0].seq))
    assert second.compared(rows[1]) == rows[0]


async def test_m_marks_rows_and_requests_are_compared_with_the_one_marked_last() -> None:
    wires = Wires()
    for number in range(3):
        wires.request(asking("s", *"abc"[:number]), number, exchange=f"x{number}")
    async with at_work(Inspecting(wires), (140, 40)) as (app, pilot):
        await until(pilot, lambda: app.inspector.ladder.selected is not None)
        await pilot.press("d")
        await until(pilot, lambda: "changes of LLM 3 since LLM 2, the request before" in app.text)
        app.inspector.ladder.select(0)
        await pilot.press("m")
        await until(pilot, lambda: " m0.00 " in app.text or ">m0.00 " in app.text)
        app.inspector.ladder.select(2)
        await until(pilot, lambda: "changes of LLM 3 since LLM 1, which is marked" in app.text)
        await pilot.press("d")
        await until(pilot, lambda: "since LLM 1, which is marked: +2 messages" in app.text)
        wires.row_marks.write((wires.ladder.rows[0].capture, wires.ladder.rows[0].seq), "look: [b]here")
        app.inspector.ladder.filter("marked look")
        await until(pilot, lambda: "look: [b]here" in app.text and "M0.00" in app.text and "M2.00" not in app.text)
        app.inspector.ladder.select(0)
        await pilot.press("m")
        await until(pilot, lambda: "look: [b]here" not in app.text)


_BODIES: dict[str, Callable[[str, str], JSON]] = {
    "openai": lambda system, text: {
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": text}]
    },
    "anthropic": lambda system, text: {
        "system": [{"type": "text", "text": system}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}],
    },
    "gemini": lambda system, text: {
        "systemInstruction": {"parts": [{"text": system}]},
        "contents": [{"role": "user", "parts": [{"text": text}]}],
    },
    "openai-responses": lambda system, text: {
        "instructions": system,
        "input": [{"role": "user", "content": [{"type": "input_text", "text": text}]}],
    },
    "ollama": lambda system, text: {
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": text}]
    },
}


@pytest.mark.parametrize("name", _BODIES)
def test_the_cause_is_told_in_every_dialect(name: str) -> None:
    class Other(Wires):
        @override
        def dialect(self, row: Row) -> Dialect | None:
            return DIALECTS[name] if row.lane == "llm" else None

    wires = Other()
    for number, (system, text) in enumerate((("at 10:31", "x"), ("at 10:32", "x"), ("at 10:32", "y"))):
        wires.request(to_json(_BODIES[name](system, text)), number, exchange=f"x{number}")
    _, second, third = wires.ladder.rows
    shown = "\n".join(drawn(page_of("Changes", wires, second, set()), 160))
    assert 'system prompt, changed: "10:31" -> "10:32" (a time' in shown
    shown = "\n".join(drawn(page_of("Changes", wires, third, set()), 160))
    assert 'text of the user, changed: "x" -> "y"' in shown
