from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.llm.asking import TARGET
from tests.llm.recorded.asks import asks
from tests.llm.recorded.openai import RECORDED
from tests.llm.test_openai_write import ADD, MULTIPLY, TOOLS, assistant, result, user
from tui_host.errors import JSON
from tui_host.llm.dialects.ollama import OLLAMA
from tui_host.llm.dialects.openai import OPENAI
from tui_host.llm.messages import Ask, Image, Message, Text
from tui_host.llm.outline import Outline, Part, common_prefix, compare, estimate_tokens, size_words

CASES = asks(RECORDED)
NAMES = {"math__multiply": ("math", "multiply"), "math__add": ("math", "add"), "get_weather": ("weather", "get")}
ASKED = (user("6 × 5?"), assistant(MULTIPLY), Message(role="tool", parts=(result(MULTIPLY, Text(text="30")),)))


def outline_of(name: str) -> Outline:
    return of(OPENAI.write(CASES[name], TARGET).body)


def of(body: bytes) -> Outline:
    found = OPENAI.outline(body, NAMES)
    assert found is not None
    return found


def asking(*messages: Message, **more: object) -> Outline:
    ask = Ask(model="m", messages=messages, tools=TOOLS, **more)  # pyright: ignore[reportArgumentType] - shorthand
    return of(OPENAI.write(ask, TARGET).body)


def by_key(outline: Outline) -> dict[str, Part]:
    return {part.key: part for part in outline.walk()}


def test_a_request_is_told_as_what_it_is_made_of() -> None:
    parts = by_key(outline_of("images"))

    assert list(parts) == [
        *("model", "stream", "stream_options", "messages", "messages/0", "messages/1"),
        *("messages/1/reasoning_content", "messages/1/text", "messages/1/calls/0", "messages/2", "messages/3"),
        *("messages/3/0", "messages/4", "messages/5", "messages/5/0", "messages/5/1"),
    ]
    assert (parts["model"].name, parts["model"].preview) == ("model", "m")
    assert (parts["messages/0"].label, parts["messages/0"].preview) == ("user", "weather?")
    call = parts["messages/1/calls/0"]
    assert (call.name, call.preview) == ("get_weather", '{"city":"Paris"}')
    assert parts["messages/2"].name == "get_weather"
    origins = [parts[f"messages/{n}"].origin for n in range(6)]
    assert origins == ["you", "model", "weather", "weather", "model", "you"]


def test_an_image_behind_several_results_is_of_one_of_their_servers() -> None:
    call = replace(MULTIPLY, name="get_weather")
    picture = result(call, Text(text="20"), Image(media_type="image/png", data="QUJD"))
    told = Message(role="tool", parts=(picture, result(ADD, Text(text="30"))))
    ask = Ask(model="m", messages=(user("?"), assistant(call, ADD), told), tools=TOOLS)
    for dialect, image in ((OPENAI, "messages/4/0"), (OLLAMA, "messages/4/images/0")):
        outline = dialect.outline(dialect.write(ask, TARGET).body, NAMES)
        assert outline is not None
        assert [by_key(outline)[key].origin for key in ("messages/4", image)] == ["weather or math"] * 2


@pytest.mark.parametrize("name", CASES)
def test_every_part_s_bytes_are_json_of_their_own(name: str) -> None:
    outline = outline_of(name)
    body: dict[str, JSON] = json.loads(outline.body)

    for part in outline.walk():
        json.loads(outline.bytes_of(part))
        assert part.size > 0
        assert part.tokens > 0
    for part in outline.parts:
        assert json.loads(outline.bytes_of(part)) == body[part.key]


@pytest.mark.parametrize("body", [b"", b"[1]", b"<html>", b'{"a":\xff}', b"[" * 200_000])
def test_what_is_no_request_has_no_outline(body: bytes) -> None:
    assert OPENAI.outline(body) is None


def test_a_preview_is_one_line_cut_between_characters_and_escapes() -> None:
    for escape in ("\\n", "\\u4e2d", '\\"', "中", "\\\\", "\\ud83d\\ude00"):
        for lead in range(8):
            body = f'{{"user":"{"x" * lead}{escape * 400}"}}'.encode()
            preview = of(body).parts[0].preview
            assert len(preview) <= 80
            assert "\n" not in preview
            assert preview.endswith("…")


@settings(max_examples=15)
@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=40))
def test_the_common_prefix_is_common_and_no_longer(head: bytes, one: bytes, other: bytes) -> None:
    size = common_prefix(head + one, head + other)

    assert (head + one)[:size] == (head + other)[:size]
    assert (head + one)[size : size + 1] != (head + other)[size : size + 1] or head + one == head + other


def test_new_messages_are_marked_and_the_rest_is_the_same() -> None:
    before, now = asking(ASKED[0]), asking(*ASKED)

    found = compare(before, now)

    assert found.marks["messages"] == "~"
    assert found.marks["messages/0"] == "="
    assert found.marks["messages/1"] == "+"
    assert found.marks["messages/1/calls/0"] == "+"
    assert found.marks["messages/2"] == "+"
    assert found.marks["tools"] == found.marks["tools/math__add"] == found.marks["model"] == "="
    assert found.removed == ()
    assert found.prefix == len(before.body) - 2
    assert found.words == f"+2 messages, tools unchanged, prefix identical for {size_words(found.prefix)}"
    assert set(found.marks) == {part.key for part in now.walk()}


def test_a_changed_tool_and_a_removed_option_are_told() -> None:
    before = of(
        b'{"model":"m","seed":1,"tools":[{"function":{"name":"a","description":"x"}},{"function":{"name":"b"}}]}'
    )
    now = of(b'{"model":"m","tools":[{"function":{"name":"a","description":"y"}}]}')

    found = compare(before, now)

    assert found.marks == {
        "model": "=",
        "tools": "~",
        "tools/a": "~",
        "tools/a/description": "~",
    }
    assert [part.key for part in found.removed] == ["tools/b", "seed"]
    assert "-1 ~1 tools" in found.words


def test_the_same_request_again_is_identical() -> None:
    found = compare(asking(*ASKED), asking(*ASKED))

    assert set(found.marks.values()) == {"="}
    assert found.words == "messages unchanged, tools unchanged, identical"


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [("", 0, 0), ("word " * 100, 100, 150), ("汉字" * 100, 120, 200), ("привет " * 10, 20, 45), ("😀" * 10, 15, 25)],
)
def test_tokens_are_estimated_by_script(text: str, least: int, most: int) -> None:
    assert least <= estimate_tokens(text.encode()) <= most
