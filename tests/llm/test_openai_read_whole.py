"""What comes instead of a stream: a whole answer, an error, a page, nothing."""

from __future__ import annotations

import json

import pytest

from tests.llm.streams import events_of, fold_of
from tui_host.llm.events import CallArguments, Stopped, TextDelta, ThinkingDelta


@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream", ""])
@pytest.mark.parametrize("blanks", [b"", b"\n\n \n", b"\xef\xbb\xbf"])
def test_a_whole_answer_is_read_whatever_it_is_called(content_type: str, blanks: bytes) -> None:
    body = json.dumps(
        {
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": "看",
                        "reasoning": "hm",
                        "tool_calls": [
                            {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}},
                            {"id": "2", "type": "function", "function": {"name": "b", "arguments": "{}"}},
                        ],
                    },
                    "finish_reason": "tool_calls",
                }
            ],
            "usage": {"prompt_tokens": 9, "completion_tokens": 1},
        },
        ensure_ascii=False,
        indent=1,
    ).encode()

    found = events_of([blanks, body[:9], body[9:]], content_type)

    text = next(one for one in found if isinstance(one, TextDelta))
    thinking = next(one for one in found if isinstance(one, ThinkingDelta))
    arguments = [one for one in found if isinstance(one, CallArguments)]
    assert (text.text, thinking.text, len(arguments)) == ("看", "hm", 2)
    assert isinstance(found[-1], Stopped)
    assert found[-1].stop == "tools"
    whole = blanks + body
    if not blanks.startswith(b"\xef"):
        assert whole[text.start : text.end] == '"看"'.encode()
        assert json.loads(whole[arguments[1].start : arguments[1].end])["id"] == "2"


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":{"message":"no such model","code":"model_not_found"}}',
        b'[{"error":{"message":"no such model"}}]',
        b'{"message":"no such model"}',
    ],
)
def test_an_error_instead_of_an_answer_is_an_error(body: bytes) -> None:
    fold = fold_of(body)

    assert (fold.failure, fold.stop) == ("no such model", "failed")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<!doctype html><title>Sign in</title>", "Sign in"),
        (b"  <html>captive portal", "captive portal"),
        (b"{}", "no answer in it"),
        (b"Bad gateway\n\n", "Bad gateway"),
        (b"data: oops\n\n", "oops"),
    ],
)
def test_what_is_no_answer_is_shown_and_not_read(body: bytes, words: str) -> None:
    fold = fold_of(body)

    assert words in fold.failure
    assert fold.stop == "failed"


@pytest.mark.parametrize("body", [b"", b": OPENROUTER PROCESSING\n\n", b"\n"])
def test_a_response_without_a_word_is_cut(body: bytes) -> None:
    assert (fold_of(body).stop, fold_of(body).failure) == ("cut", "")


def test_a_whole_answer_that_breaks_off_is_cut() -> None:
    fold = fold_of(b'{"choices":[{"message":{"content":"x')

    assert (fold.stop, fold.unreadable) == ("cut", 1)
