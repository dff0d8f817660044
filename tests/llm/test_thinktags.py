from __future__ import annotations

import pytest

from tests.kit.bodies import DONE, chunk
from tests.llm.recorded.case import fold_of

FORMS = {
    "<think>hm</think>\n\nanswer": ("hm", "answer"),
    "\n <think>\nhm < 5\n</think>answer": ("\nhm < 5\n", "answer"),
    "<thinking>hm</thinking>answer": ("hm", "answer"),
    "[THINK]hm[/THINK]answer": ("hm", "answer"),
    "<think>never closed": ("never closed", ""),
    "<think>half closed</thi": ("half closed</thi", ""),
    "<think>a</think>b<think>c</think>": ("a", "b<think>c</think>"),
    "hm, so\n</think>\n\nanswer": ("hm, so\n", "answer"),
    "hm, so.</think>\n\nanswer": ("hm, so.", "answer"),
    "plain answer": ("", "plain answer"),
    "a <think> in the middle</think> of it": ("", "a <think> in the middle</think> of it"),
    "the tag `</think>` ends it": ("", "the tag `</think>` ends it"),
    "```\n</think>\n```\n": ("", "```\n</think>\n```\n"),
    "<thin": ("", "<thin"),
    " \n": ("", " \n"),
}


@pytest.mark.parametrize("text", FORMS)
def test_thinking_within_the_text_is_told_apart_however_it_is_cut(text: str) -> None:
    for size in (1, 2, 5, 1000):
        pieces = [text[start : start + size] for start in range(0, len(text), size)]

        fold = fold_of("openai", *(chunk({"content": piece}) for piece in pieces), chunk(finish="stop"), DONE)

        assert (fold.thinking, fold.text) == FORMS[text]


def test_where_the_server_tells_thinking_apart_text_is_text() -> None:
    fold = fold_of(
        "openai",
        chunk({"reasoning": "hm"}),
        chunk({"content": "<think>is a tag\n</think>\n"}),
        chunk(finish="stop"),
        DONE,
    )

    assert (fold.thinking, fold.text) == ("hm", "<think>is a tag\n</think>\n")


def test_thinking_within_a_whole_answer_is_told_apart_too() -> None:
    fold = fold_of(
        "openai", b'{"choices":[{"message":{"content":"<think>hm</think>\\nanswer"},"finish_reason":"stop"}]}'
    )

    assert (fold.thinking, fold.text) == ("hm", "answer")
