"""The language of the filter: what it reads, and what it says of terms that are unfinished or wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture.ladder_wires import JSON_TYPE, Wires, whole_turn
from tests.capture.wires import rpc
from tui_host.capture.ladder.filter_completion import completions
from tui_host.capture.ladder.filter_language import Both, Either, Field, Not, Query, Quoted, Word, leaves, read_filter
from tui_host.capture.ladder.needles import Needles

MATH, FAILED = Field("server", ":", "math"), Field("status", ":", "failed")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", None),
        ("  Two words ", Both((Word("two"), Word("words")))),
        ("server:math", MATH),
        ("server:math or status:failed", Either((MATH, FAILED))),
        ("a server:math OR status:failed b", Either((Both((Word("a"), MATH)), Both((FAILED, Word("b")))))),
        ("not not a", Not(Not(Word("a")))),
        ("not (a or b) c", Both((Not(Either((Word("a"), Word("b")))), Word("c")))),
        ("(server:math or b)", Either((MATH, Word("b")))),
        ("add(3) f(x", Both((Word("add(3)"), Word("f(x")))),
        ("size>1.5k", Field("size", ">", "1.5k", 1500)),
        ("ms<20", Field("ms", "<", "20", 20)),
        ("tokens>8K", Field("tokens", ">", "8k", 8000)),
        ('"two words" a', Both((Quoted("two words"), Word("a")))),
        ('tool:"a b"', Field("tool", ":", "a b")),
        ("http://x:1 no:field", Both((Word("http://x:1"), Word("no:field")))),
        ("status:4xx and kind:error", Both((Field("status", ":", "4xx"), Field("kind", ":", "error")))),
    ],
)
def test_terms_are_joined_by_blanks_or_not_and_brackets(text: str, query: Query | None) -> None:
    assert read_filter(text).query == query
    assert read_filter(text).mistakes == ()


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("size>", "size> needs a number such as 10k"),
        ("size>x", "size> needs a number such as 10k"),
        ("ms:5", "ms> needs a number such as 2000"),
        ("turn:x", "turn: needs a number such as 3"),
        ("dir:o", "dir: is in or out"),
        ("status:4", "status: is a number such as 429 or 4xx, or open, done, failed, cut, unanswered"),
        ("server>math", "server takes a colon, such as server:math"),
        *((text, "") for text in ("server:", "not", "or", "(", '"', "not (", "or )", "( not or")),
    ],
)
def test_a_term_that_is_unfinished_or_wrong_removes_no_row(text: str, mistake: str) -> None:
    for whole in (text, f"a {text}"):
        reading = read_filter(whole)
        assert reading.query == (Word("a") if whole != text else None)
        assert list(reading.mistakes) == [mistake] * bool(mistake)


def test_a_field_that_does_not_exist_is_a_word_with_a_hint_and_an_address_is_not() -> None:
    reading = read_filter("bogus:1 http://x:1 12:30 sent: server:math")
    assert reading.hints == ("bogus: is no field, so this is searched as a word",)
    assert reading.mistakes == ()


@given(st.lists(st.sampled_from(["a", "(", ")", "or", "not", '"b c"', "size>1", "size>", "f(x)", '"', "and"])))
def test_any_order_of_terms_is_read(words: list[str]) -> None:
    terms = [leaf for leaf in leaves(read_filter(" ".join(words)).query, negated=True) if leaf == Word("a")]
    assert len(terms) == words.count("a") or '"' in words


@pytest.mark.parametrize("data", ["问题: 工具", r"\u5de5\u5177", r"\u5DE5\u5177", "a 工具 b"])
def test_two_chinese_characters_are_enough_however_json_writes_them(data: str) -> None:
    assert Needles(["工具", "天气"]).contained(data.encode()) == {"工具"}


def test_case_and_escapes_make_no_difference() -> None:
    needles = Needles(["Straße", 'say "hi"', "LAMP", "été"])
    assert needles.contained('STRAßE {"a":"Say \\"Hi\\"", "b":"lamp"} ÉTÉ'.encode()) == needles.texts
    assert Needles([]).contained(b"x") == frozenset()


@pytest.mark.parametrize(
    ("text", "completed"),
    [
        ("se", ["server:"]),
        ("a (si", ["a (size>"]),
        ("server:", ["server:docs", "server:math"]),
        ("not server:m", ["not server:math"]),
        ("server:math", []),
        ("tool:mul", ["tool:math.multiply"]),
        ("method:call", ["method:tools/call"]),
        ("status:4", ["status:429"]),
        ("turn:", ["turn:1", "turn:2"]),
        ("dir:", ["dir:in", "dir:out"]),
        ('"server:', []),
        ("call:1", []),
    ],
)
def test_names_of_fields_and_values_that_occur_complete_a_term(text: str, completed: list[str]) -> None:
    wires = Wires()
    whole_turn(wires)
    refused = wires.ask(1, turn=2)
    refused.response(429, JSON_TYPE)
    refused.end()
    wires.frame("in", rpc(method="notifications/tools/list_changed"), server="docs")
    wires.rows()
    assert [whole for _, whole in completions(text, wires.ladder)] == completed
