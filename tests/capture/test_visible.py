"""Foreign text cannot act on the terminal, and cannot hide."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_host.capture.visible import MARKS, decode, hidden, line, tool_name, visible

HOSTILE = st.sampled_from(
    [
        *map(chr, range(0xA1)),
        *"\xad\u034f\u061c\u115f\u1160\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202e\u2060\u2066\u2069\ufe0f\ufeff",
        *"\ud800\udfff\U000e0041\U000e0100\u0301\u0e47\u1161\u20e3👩🏽❤1e工⟨",
    ]
)
TEXTS = st.lists(HOSTILE, max_size=60).map("".join) | st.text(max_size=40)


def acts(text: str) -> list[str]:
    """What a terminal would obey, or what nobody would see, other than what belongs to emoji."""
    return [
        character
        for character in text
        if character not in "\n\t\u200d\ufe0e\ufe0f"
        and unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
        and not (0x600 <= ord(character) <= 0x8E2 or ord(character) in {0x110BD, 0x110CD})
    ]


@given(TEXTS, st.booleans(), st.integers(0, 30))
def test_nothing_that_a_terminal_acts_on_comes_out_and_what_is_visible_stays(
    text: str,
    newlines: bool,  # noqa: FBT001 - hypothesis
    limit: int,
) -> None:
    once = visible(text, newlines=newlines)
    assert acts(once) == []
    assert newlines or not set(once) & {"\n", "\t", "\r"}
    assert (visible(once, newlines=newlines), hidden(once)) == (once, 0)
    shown = line(text, limit)
    assert (len(shown) <= limit, "\n" in shown, acts(shown)) == (True, False, [])
    run = 0
    for character in visible(text * 20):
        run = run + 1 if unicodedata.category(character) in {"Mn", "Me"} and character != "\ufe0f" else 0
        assert run <= MARKS, "no character carries more marks than are drawn"


EMOJI = "👩\u200d👩\u200d👧 ❤\ufe0f 👩🏽\u200d🚒 1\ufe0f\u20e3"


@pytest.mark.parametrize(
    ("text", "shown", "count"),
    [
        ("ok\x1b[2J\x07", "ok␛[2J␇", 2),
        ("a\r\nb\x7f", "a␍\nb␡", 1),
        ("\x9b2J\x85", "⟨9b⟩2J⟨85⟩", 2),
        ("rm \u2066# \u2069 -rf \u202e", "rm ⟨2066⟩# ⟨2069⟩ -rf ⟨202e⟩", 3),
        ("a\u200bb\ufeffc\u2060", "a⟨200b⟩b⟨feff⟩c⟨2060⟩", 3),
        ("\U000e0041\U000e007f", "⟨e0041⟩⟨e007f⟩", 2),
        ("\ud800x", "⟨d800⟩x", 1),
        ("a\u200db\ufe0f", "a⟨200d⟩b⟨fe0f⟩", 2),
        ("👩\u200dx", "👩⟨200d⟩x", 1),
        (EMOJI, EMOJI, 0),
        ("工具 ✓ naïve e\u0301", "工具 ✓ naïve e\u0301", 0),
    ],
    ids=ascii,
)
def test_hidden_characters_are_shown_as_what_they_are_and_ordinary_ones_stay(text: str, shown: str, count: int) -> None:
    assert (visible(text), hidden(text)) == (shown, count)


def test_breaks_become_pictures_in_one_line_and_nothing_is_cut_in_two() -> None:
    assert (line("a\nb\tc", 9), line("a\nbcdef", 5)) == ("a␊b␉c", "a␊bc…")
    assert (line("ab\u202ecdefgh", 6), line("a👩\u200d👩b", 4)) == ("ab…", "a👩…"), "no half of a picture"


def test_each_character_has_its_own_sixteen_marks_and_bytes_that_are_no_text_are_seen() -> None:
    marks = "\u0e47" * 20
    assert visible(f"ก{marks}ก{marks}ขค") == f"ก{marks[:MARKS]}⟨+4⟩ก{marks[:MARKS]}⟨+4⟩ขค"
    assert visible("e" + "\u0301" * 50_000) == "e" + "\u0301" * MARKS + "⟨+49984⟩"
    assert visible("नमस्ते दुनिया" * 3) == "नमस्ते दुनिया" * 3
    assert decode(b"caf\xc3\xa9 \xff\xed\xa0\x80") == "café \\xff\\xed\\xa0\\x80"


def test_no_letter_of_a_tools_name_looks_like_another() -> None:
    cyrillic = "\u0430dd"  # in its first letter
    names = {"add": "add", cyrillic: "'\\u0430dd'", "\x1b[31m": "'\\x1b[31m'", "天气_查询": "天气_查询"}
    assert {tool: tool_name("math", tool) for tool in names} == {tool: f"math.{shown}" for tool, shown in names.items()}
    assert tool_name("", "add") == "add"
