"""Whether what a model was told is what a server answered."""

from __future__ import annotations

import json

import pytest

from tui_host.infer.call_values import Answer, lean, result_texts
from tui_host.infer.same_result import BEGINNING, END, HINT, OTHER, SAME, WHOLE, tells

LONG = "\n".join(f"line {number} of what it says" for number in range(200))


def answered(text: str, *, is_error: bool = False) -> Answer:
    """A server's answer of one text."""
    texts = result_texts({"content": [{"type": "text", "text": text}]})
    return Answer(seq=1, at_ns=0, texts=texts, is_error=is_error)


@pytest.mark.parametrize(
    ("told", "text", "wanted"),
    [
        ("3", "3", SAME),
        ("[]", "[]", WHOLE),
        ('{"name": "add", "content": "[]"}', "[]", WHOLE),
        ('{"result": "3"}', "3", SAME),
        ('{"name": "add", "content": "{\\"content\\": [{\\"type\\": \\"text\\", \\"text\\": \\"3\\"}]}"}', "3", SAME),
        ('{"b": 2, "a": 1.0}', '{"a":1,"b":2}', SAME),
        ("Result: 3", "3", WHOLE),
        ("<output>\n3\n</output>", "3", WHOLE),
        ('{"output": "Tool output:\\n3"}', "3", WHOLE),
        (
            '<output>[{"text": "it is noon, 12 o\\u2019clock sharp"}]</output>',
            "it is noon, 12 o’clock sharp",
            BEGINNING,
        ),
        ("13", "3", OTHER),
        ("3.5", "3", OTHER),
        (LONG[:500] + "\n[truncated]", LONG, BEGINNING),
        ("[…]" + LONG[-500:], LONG, END),
        ("It lists many lines.", LONG, None),
        ("The user denied this operation.", LONG, OTHER),
        ("The user rejected it (done by hand)", "done", OTHER),
        ("access denied", "access denied", SAME),
        ("(No response)", "", HINT),
        ("Done.", "", None),
    ],
)
def test_a_result_is_known_in_what_is_told(told: str, text: str, wanted: int | None) -> None:
    assert tells(told, answered(text).says) == wanted


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1.0}, {"a": 1}),
        ({"a": "5", "b": "true"}, {"a": 5, "b": True}),
        ({"a": 12345678901234567890}, {"a": 12345678901234567000}),
        ({"a": 1, "b": None}, {"a": 1}),
        ({"a": 1}, {"a": 1, "limit": 10}),
    ],
)
def test_arguments_may_be_sent_for_each_other_however_a_host_writes_them_anew(one: object, other: object) -> None:
    defaults = {"limit": "10"}
    assert lean(json.dumps(one), defaults) == lean(json.dumps(other), defaults)
    assert lean('{"a":"007"}', defaults) != lean('{"a":7}', defaults)
    assert lean('{"limit":5}', defaults) != lean("{}", defaults)
