from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.llm.asking import TARGET
from tests.llm.recorded.asks import asks
from tests.llm.recorded.openai import RECORDED
from tests.llm.streams import DONE, calls, chunk, event, fragment
from tui_host.llm.dialects.openai import OPENAI
from tui_host.llm.exchange_summary import ResponseWords, list_words, request_words

NAMES = {"math__multiply": ("math", "multiply")}


def words(*pieces: bytes, status: int = 200, dialect: str = "openai") -> str:
    growing = ResponseWords(dialect=dialect, status=status, names=NAMES)
    growing.feed(b"".join(pieces))
    growing.finish()
    return growing.words


def test_a_request_is_told_by_its_counts() -> None:
    first = OPENAI.write(asks(RECORDED)["tools"], TARGET).body
    more = first.removesuffix(b"]}") + b',{"role":"user"},{"role":"user"}]}'

    assert request_words(first) == "3 tools · 2 messages"
    assert request_words(more, first) == "+2 messages"
    assert request_words(more, b"{}") == "3 tools · +4 messages"
    assert request_words(b'{"messages":[{}]}') == "1 message"


def test_a_response_is_told_by_what_it_asks_or_says() -> None:
    asks = calls(fragment(index=0, wire_id="1", name="math__multiply", arguments='{"a":6,"b":5}'))
    other = calls(fragment(index=1, wire_id="2", name="unknown", arguments="{}"))

    assert words(asks, DONE) == 'asks math.multiply {"a":6,"b":5}'
    assert words(asks, other, DONE) == 'asks math.multiply {"a":6,"b":5} and 1 more'
    assert words(chunk({"content": "6 × 5\n+ 7 = 37"}), DONE) == '"6 × 5 + 7 = 37"'
    assert words(chunk({"content": "6 ×"})) == '"6 ×", cut off'
    assert words(chunk({"reasoning": "hm"})) == 'thinks "hm", cut off'
    assert words(chunk(finish="stop"), DONE) == "an empty answer"
    assert words(event({"error": {"message": "overloaded"}})) == "error: overloaded"
    assert words(b'{"error":{"message":"slow down"}}', status=429) == "slow down"
    assert words(b"") == "cut off"


def test_a_secret_that_is_spelt_in_several_events_is_taken_out_before_anything_is_cut() -> None:
    growing = ResponseWords(dialect="openai", hide=lambda text: text.replace("hunter2-hunter2", "KEY"))
    for piece in (chunk({"content": "x" * 180 + "hunter2"}), chunk({"content": "-hunter2"}), DONE):
        growing.feed(piece)

    assert growing.words == f'"{"x" * 180}KEY"'


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        ("openai", b'{"object":"list","data":[{"id":"a","object":"model"},{"id":"b"}]}'),
        ("openai-responses", b'{"object":"list","data":[{"id":"a"},{"id":"b"}]}'),
        ("anthropic", b'{"data":[{"type":"model","id":"a"},{"type":"model","id":"b"}],"has_more":false}'),
        (
            "gemini",
            (
                b'{"models":[{"name":"models/a","supportedGenerationMethods":["generateContent"]},'
                b'{"name":"models/b","supportedGenerationMethods":["generateContent"]},'
                b'{"name":"models/c","supportedGenerationMethods":["embedContent"]}]}'
            ),
        ),
        ("ollama", b'{"models":[{"name":"a","model":"a","size":1},{"name":"b"}]}'),
    ],
)
def test_a_list_of_models_is_told_by_its_length_in_every_dialect(dialect: str, body: bytes) -> None:
    assert list_words(body, dialect=dialect) == "2 models"
    assert list_words(body[:20], dialect=dialect) == ""


@pytest.mark.parametrize("status", [200, 204, 302, 400, 500])
@given(body=st.binary(max_size=200))
def test_foreign_bytes_never_raise(status: int, body: bytes) -> None:
    assert len(words(body, status=status)) <= 200
    request_words(body, body)
    request_words(b'{"messages":' + body + b"}")
