"""A request as a tree of its parts, and answers in a few words."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.bodies import DONE, calls, chunk, event, fragment
from tests.llm.recorded.asks import ADD, MULTIPLY, NAMES, assistant, result, told, user, written
from tests.llm.recorded.case import text
from tests.llm.recorded.openai_responses import REASONING
from tui_host.errors import JSON
from tui_host.llm.dialects.table import dialect
from tui_host.llm.exchange_summary import ResponseWords, request_words
from tui_host.llm.layout import outline_of
from tui_host.llm.messages import Ask, Image, Text
from tui_host.llm.outline import Outline, estimate_tokens

OFFERED = {"math__multiply": ("math", "multiply"), "math__add": ("math", "add"), **NAMES, "f": ("s", "t")}


def parts_of(body: bytes) -> Outline:
    found = outline_of(body, OFFERED)
    assert found is not None
    return found


def test_an_image_behind_several_results_is_of_one_of_their_servers() -> None:
    call = replace(MULTIPLY, name="get_weather")
    picture = result(call, Text(text="20"), Image(media_type="image/png", data="QUJD"))
    ask = Ask(model="m", messages=(user("?"), assistant(call, ADD), told(picture, result(ADD, Text(text="30")))))
    for name, image in (("openai", "messages/4/0"), ("ollama", "messages/4/images/0")):
        parts = {part.key: part for part in parts_of(written(name, ask)).walk()}
        assert [parts[key].origin for key in ("messages/4", image)] == ["weather or math"] * 2


CALL: JSON = {"name": "f", "args": {"a": 1}}
FOREIGN: dict[str, tuple[JSON, str]] = {
    "gemini, in the other spelling": (
        {
            "system_instruction": {"parts": [{"text": "Be brief."}]},
            "tools": [
                {"function_declarations": [{"name": "f", "parameters": {"type": "object"}}]},
                {"googleSearch": {}, "functionDeclarations": [{"name": "f", "description": "again"}]},
            ],
            "contents": [
                {"parts": [{"text": "see"}, {"inline_data": {"data": "QUJD"}}]},
                {"role": "model", "parts": [{"function_call": CALL}]},
                {"role": "function", "parts": [{"function_response": {"name": "f", "response": {"a": 1, "b": 2}}}]},
                {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "ok", "thought": False}, {}]},
            ],
        },
        (
            "message host Be brief. | tool f s | tool f s again | tool googleSearch | message you see | image you | "
            'message model f {"a": 1} | call f model {"a": 1} | message s f {"a": 1, "b": 2} | '
            'result f s {"a": 1, "b": 2} | message model ok · {} | thinking model hm'
        ),
    ),
    "responses": (
        {
            "instructions": "Be brief.",
            "tools": [
                {"type": "namespace", "name": "mcp__math", "tools": [{"type": "function", "name": "add"}]},
                {"type": "function", "name": "f"},
                {"type": "web_search"},
            ],
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "see"}, {"type": "input_image"}]},
                {"role": "developer", "content": "note"},
                REASONING,
                {"type": "item_reference", "id": "x"},
                {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
                {"type": "function_call", "call_id": "a", "name": "f", "arguments": '{"a":1}'},
                {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "21 C"}]},
            ],
        },
        (
            "message host Be brief. | tool mcp__math.add | tool f s | tool web_search | message you see | image you | "
            'message host note | thinking model Two cities, 两个 | message model {"type": "item_reference", "id": "x"} | '
            'message model no | call f model {"a":1} | result f s 21 C'
        ),
    ),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_the_request_of_another_host_is_read_in_whatever_spelling(name: str) -> None:
    body, parts = FOREIGN[name]
    outline = parts_of(text(body))
    shown = {"message", "tool", "call", "result", "thinking", "image"}
    found = [(part.kind, part.name, part.origin, part.preview) for part in outline.walk() if part.kind in shown]
    assert " | ".join(" ".join(filter(None, words)) for words in found) == parts
    assert len({part.key for part in outline.walk()}) == len(list(outline.walk()))


@pytest.mark.parametrize("body", [b"", b"[1]", b"<html>", b'{"a":\xff}', b"[" * 200_000])
def test_what_is_no_request_has_no_outline_and_what_is_odd_has_one(body: bytes) -> None:
    assert outline_of(body) is None
    odd: JSON = [7, None, {"role": 7, "content": {"a": 1}}, {"content": [7, [], {}]}]
    assert parts_of(text({"messages": odd, "tools": {"a": 1}, "system": 7, "contents": {}})).parts


@pytest.mark.parametrize(
    ("said", "least", "most"),
    [("", 0, 0), ("word " * 100, 100, 150), ("汉字" * 100, 120, 200), ("привет " * 10, 20, 45), ("😀" * 10, 15, 25)],
)
def test_tokens_are_estimated_by_script(said: str, least: int, most: int) -> None:
    assert least <= estimate_tokens(said.encode()) <= most


# In a few words


def words(*pieces: bytes, status: int = 200) -> str:
    growing = ResponseWords(dialect("openai"), status=status, names=OFFERED)
    growing.feed(b"".join(pieces))
    growing.finish()
    return growing.words


UNKNOWN = calls(fragment(index=1, wire_id="2", name="unknown", arguments="{}"))
MULTIPLIES = calls(fragment(index=0, wire_id="1", name="math__multiply", arguments='{"a":6,"b":5}'))


def test_a_response_is_told_by_what_it_asks_or_says() -> None:
    for pieces, status, said in (
        ((MULTIPLIES, DONE), 200, 'asks math.multiply {"a":6,"b":5}'),
        ((MULTIPLIES, UNKNOWN, DONE), 200, 'asks math.multiply {"a":6,"b":5} and 1 more'),
        ((chunk({"content": "6 × 5\n+ 7 = 37"}), DONE), 200, '"6 × 5 + 7 = 37"'),
        ((chunk({"content": "6 ×"}),), 200, '"6 ×", cut off'),
        ((chunk({"reasoning": "hm"}),), 200, 'thinks "hm", cut off'),
        ((chunk(finish="stop"), DONE), 200, "an empty answer"),
        ((event({"error": {"message": "overloaded"}}),), 200, "error: overloaded"),
        ((b'{"error":{"message":"slow down"}}',), 429, "slow down"),
        ((b"",), 200, "cut off"),
    ):
        assert words(*pieces, status=status) == said


def test_a_secret_that_is_spelt_in_several_events_is_taken_out_before_anything_is_cut() -> None:
    growing = ResponseWords(dialect("openai"), hide=lambda said: said.replace("hunter2-hunter2", "KEY"))
    for piece in (chunk({"content": "x" * 180 + "hunter2"}), chunk({"content": "-hunter2"}), DONE):
        growing.feed(piece)
    assert growing.words == f'"{"x" * 180}KEY"'


@pytest.mark.parametrize("status", [200, 302, 500])
@given(body=st.binary(max_size=200))
def test_foreign_bytes_never_raise(status: int, body: bytes) -> None:
    assert len(words(body, status=status)) <= 200
    request_words(body, body)
    request_words(b'{"messages":' + body + b"}")
