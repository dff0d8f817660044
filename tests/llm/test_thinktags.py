"""Thinking between tags in a text, as open models write it."""

from __future__ import annotations

import pytest

from tests.kit.bodies import DONE, chunk
from tests.llm.recorded.case import fold_of

FORMS = {
    "<think>hm</think>\n\nanswer": ("hm", "answer"),
    "\n <think>\nhm < 5\n</think>answer": ("\nhm < 5\n", "answer"),
    "[THINK]hm[/THINK]answer": ("hm", "answer"),
    "<think>half closed</thi": ("half closed</thi", ""),
    "<think>a</think>b<think>c</think>": ("a", "b<think>c</think>"),
    "hm, so\n</think>\n\nanswer": ("hm, so\n", "answer"),
    "hm, so.</think>\n\nanswer": ("hm, so.", "answer"),
    "a <think> in the middle</think> of it": ("", "a <think> in the middle</think> of it"),
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
    said = "<think>is a tag\n</think>\n"
    fold = fold_of("openai", chunk({"reasoning": "hm"}), chunk({"content": said}), chunk(finish="stop"), DONE)
    assert (fold.thinking, fold.text) == ("hm", said)
