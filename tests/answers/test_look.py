"""What deserves a look: which rows, why, and that an appended message breaks no prefix."""

from __future__ import annotations

import pytest

from tests.tui.inspector_wires import MESSAGES, Wires, events_of, request_body
from tui_host.answers.look import Looks, is_only_added, looks_of, looks_sheet


def reasons(wires: Wires) -> list[tuple[str, str]]:
    return [(look.name, look.reason) for look in looks_of(wires)]


def answered(wires: Wires, body: bytes, at: float, exchange: str, step: int) -> None:
    request = wires.request(body, at, exchange=exchange, step=step)
    wires.end(wires.response(request, at + 0.1, *events_of({"content": "30"})), at + 0.2)


def test_an_appended_message_is_nothing_to_look_at_and_a_changed_one_breaks_the_prefix() -> None:
    wires = Wires()
    answered(wires, request_body(MESSAGES), 1.0, "x1", 1)
    answered(wires, request_body([*MESSAGES, {"role": "user", "content": "and 7?"}]), 2.0, "x2", 2)
    assert reasons(wires) == []
    changed = [{"role": "system", "content": "It is 12:01."}, *MESSAGES[1:]]
    answered(wires, request_body(changed), 3.0, "x3", 3)
    assert reasons(wires) == [("LLM 3", "the prefix breaks at messages[0]")]


def test_a_request_sent_again_and_a_refusal_deserve_a_look() -> None:
    wires = Wires()
    request = wires.request(request_body(MESSAGES), 1.0, exchange="x1")
    wires.end(wires.response(request, 1.1, b"slow down", status=429), 1.2)
    wires.request(request_body(MESSAGES), 2.0, exchange="x2")
    assert reasons(wires) == [("LLM 1", "refused with 429"), ("LLM 2", "sent again after LLM 1")]
    assert [line.label for line in looks_sheet(looks_of(wires)).lines] == [
        "LLM 1  refused with 429",
        "LLM 2  sent again after LLM 1",
    ]


def test_a_call_that_nobody_read_deserves_a_look_and_an_explanation_does_not() -> None:
    wires = Wires()
    for number, text in enumerate(
        (
            '<tool_call>\n{"name": "math__add", "arguments": {}}\n</tool_call>',
            'Qwen writes\n```\n<tool_call>\n{"name": "math__add", "arguments": {}}\n</tool_call>\n```',
        )
    ):
        request = wires.request(request_body(MESSAGES), 1.0 + number, exchange=f"x{number}", step=number + 1)
        wires.end(wires.response(request, 1.1 + number, *events_of({"content": text})), 1.2 + number)
    what = (
        "the model called a tool, but its call stands unread in the text, in the form of Qwen's or Hermes' <tool_call>"
    )
    assert reasons(wires) == [("LLM 1", what)]


def test_rows_are_looked_through_again_once_they_change() -> None:
    wires = Wires(live=False)
    request = wires.request(request_body(MESSAGES), 1.0, exchange="x1")
    looks = Looks(wires)
    assert looks.advance()
    assert looks.numbers == []
    wires.end(wires.response(request, 1.1, b"no", status=500), 1.2)
    assert looks.is_behind
    assert looks.advance()
    assert [looks.reason(number) for number in looks.numbers] == ["refused with 500"]


@pytest.mark.parametrize(
    ("earlier", "now", "expected"),
    [(b"[a]z", b"[a,b]z", True), (b"[a]z", b"[a]z", True), (b"[a]z", b"[c]z", False), (b"[a,b]z", b"[a]z", False)],
)
def test_only_added_means_put_in_at_one_place(earlier: bytes, now: bytes, *, expected: bool) -> None:
    assert is_only_added(earlier, now) is expected
