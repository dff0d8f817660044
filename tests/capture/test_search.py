"""The language of the filter, and how sessions are found by what was said in them, in any language."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.capture.ladder_wires import turns
from tests.capture.stores import record, save, settle
from tests.kit.peer import rpc
from tui_host.capture.ladder.row_filter import Group, Query, WantedTexts, completions, read_filter
from tui_host.capture.record import Head, Place, Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.search import MOST_BYTES, RecordSearch, search_chats
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import ITEM_FORM, AnswerItem, CallItem, UserItem


def shape(query: Query | None) -> str:
    """A query as read: `and(size>1.5k=1500, not(word))`."""
    if isinstance(query, Group):
        return f"{query.join}({', '.join(map(shape, query.parts))})"
    sign = "" if query is None or query.field in {"", '"'} else query.sign
    number = "" if query is None or not query.number else f"={query.number:g}"
    return "" if query is None else f"{query.field}{sign}{query.value}{number}"


QUERIES = {
    "": "",
    "  Two words ": "and(two, words)",
    "server:math": "server:math",
    "a server:math OR status:failed b": "or(and(a, server:math), and(status:failed, b))",
    "not not a not b": "and(a, not(b))",
    "not (a or b) c": "and(not(or(a, b)), c)",
    "(server:math or b)": "or(server:math, b)",
    "add(3) f(x": "and(add(3), f(x)",
    "size>1.5k": "size>1.5k=1500",
    "ms<20": "ms<20=20",
    "tokens>8K": "tokens>8k=8000",
    '"two words" a': 'and("two words, a)',
    'tool:"a b"': "tool:a b",
    "http://x:1 no:field": "and(http://x:1, no:field)",
    "status:4xx and kind:error": "and(status:4xx, kind:error)",
}


def test_terms_are_joined_by_blanks_or_not_and_brackets() -> None:
    assert {text: shape(read_filter(text).query) for text in QUERIES} == QUERIES
    assert {read_filter(text).mistakes for text in QUERIES} == {()}


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("size>", "size> needs a number such as 10k"),
        ("size>x", "size> needs a number such as 10k"),
        ("ms:5", "ms> needs a number such as 10k"),
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
        assert shape(reading.query) == ("a" if whole != text else "")
        assert list(reading.mistakes) == [mistake] * bool(mistake)
    reading = read_filter("bogus:1 http://x:1 12:30 sent: server:math")  # an address is a word
    assert (reading.hints, reading.mistakes) == (("bogus: is no field, so this is searched as a word",), ())


def test_texts_are_found_in_any_case_however_json_writes_them_and_two_chinese_characters_are_enough() -> None:
    for data in ("问题: 工具", r"\u5de5\u5177", r"\u5DE5\u5177", "a 工具 b"):
        assert WantedTexts(["工具", "天气"]).contained(data.encode()) == {"工具"}
    wanted = WantedTexts(["Straße", 'say "hi"', "LAMP", "été"])
    assert wanted.contained('STRAßE {"a":"Say \\"Hi\\"", "b":"lamp"} ÉTÉ'.encode()) == wanted.texts
    assert WantedTexts([]).contained(b"x") == frozenset()


COMPLETED = {
    "se": ["server:"],
    "a (si": ["a (size>"],
    "server:": ["server:docs", "server:math"],
    "not server:m": ["not server:math"],
    "server:math": [],
    "tool:mul": ["tool:math.multiply"],
    "method:call": ["method:tools/call"],
    "status:4": ["status:429"],
    "turn:": ["turn:1", "turn:2"],
    "dir:": ["dir:in", "dir:out"],
    '"server:': [],
    "call:1": [],
}


def test_names_of_fields_and_values_that_occur_complete_a_term() -> None:
    wires = turns()
    wires.frame("in", rpc(method="notifications/tools/list_changed"), server="docs")
    wires.rows()
    assert {text: [whole for _, whole in completions(text, wires.ladder)] for text in COMPLETED} == COMPLETED


def say(store: Store, session: str, title: str, *texts: str, escaped: bool = False) -> None:
    save(store, session, title=title, turns=0)
    for turn, text in enumerate(texts, 1):
        message = {"role": "user", "parts": [{"part": "text", "text": text}], "turn": turn}
        stored = json.dumps(message, ensure_ascii=escaped)
        store.sessions.save_message(session, turn - 1, turn=turn, text=stored, time_ns=1)
    settle(store)


def found(store: Store, words: str) -> str:
    return "".join(sorted(match.session.id for match in search_chats(store, words)))


@pytest.mark.parametrize("escaped", [False, True])
def test_a_chat_is_found_by_words_said_anywhere_in_it_not_by_names_of_fields(store: Store, *, escaped: bool) -> None:
    say(store, "a", "Weather in Oslo", "will it rain?", "请使用工具计算", escaped=escaped)
    say(store, "b", "Sums", "what is the WEATHER like?", "天气", "and in Bergen?", escaped=escaped)
    say(store, "c", "t", "x", f"{'long ' * 30}needle\nin the hay {'more ' * 30}", escaped=escaped)
    store.sessions.save(SessionInfo("f", "capture.har", "import"), is_whole=True)  # what its chat says
    items = (
        UserItem(turn=1, text="上海天气怎么样？"),
        CallItem(turn=1, step=1, call="c.1.0", server="weather", tool="get", asked="{}", result="17 度，小雨"),
        AnswerItem(turn=1, step=2, text="A light rain.", state="done"),
    )
    for number, item in enumerate(items):
        store.sessions.save_item("f", number, ITEM_FORM.write(item))
    settle(store)
    wanted = {"weather": "abf", "oslo": "a", "bergen sums weather": "b", "bergen rain": "", "  ": "", "工具": "a"}
    wanted |= {"parts": "", "user": "", "上海": "f", "小雨": "f", "LIGHT": "f", "done": "", "answer": ""}
    assert {words: found(store, words) for words in wanted} == wanted
    (match,) = search_chats(store, "needle")
    assert (match.turn, match.excerpt) == (2, f"…{'long ' * 8}needle in the hay {'more ' * 5}mor…")


def answer_of(url: str, head: Head, body: bytes) -> tuple[str, int]:
    return f"{url} {head.status} {body.decode().replace('|', '')}", 42


def in_records(store: Store, text: str, most_bytes: float = MOST_BYTES) -> list[tuple[str, int, int]]:
    search = RecordSearch(store, read_filter(text), answer=answer_of, estimate=len, bytes_left=most_bytes)
    matches = [search.in_session(session) for session in store.sessions.list()]
    return [(match.session.id, match.turn, match.rows) for match in matches if match is not None]


def test_records_are_searched_by_texts_and_by_rows(store: Store) -> None:
    for session in ("a", "b"):
        save(store, session, turns=1)
    place = Place(session="a", turn=2, step=1)
    call = (
        b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"lookup","arguments":{"q":"\\u5de5\\u5177"}}}'
    )
    model = Record(wire="llm", kind="request", peer="demo", direction="out", place=place, exchange="x1", data=b"{}")
    chunk = replace(model, kind="chunk", direction="in")
    drafts = [
        replace(model, head=Head(method="POST", url="http://model/v1")),
        replace(model, kind="response", direction="in", head=Head(status=200), data=b""),
        replace(chunk, data=b"Par|"),
        replace(chunk, data=b"is"),
        replace(model, kind="end", direction="in", data=b'{"reason":"complete"}'),
        Record(wire="mcp", kind="frame", peer="docs", connection="docs#1", direction="out", place=place, data=call),
        Record(wire="mcp", kind="frame", peer="docs", place=Place(session="b", turn=1), data=b"lookup"),
    ]
    record(store, drafts).close()
    assert (in_records(store, "工具"), in_records(store, "paris lookup")) == ([("a", 2, 0)], [("a", 2, 0)])
    assert sorted(in_records(store, "lookup")) == [("a", 2, 0), ("b", 1, 0)]
    assert in_records(store, 'server:docs "工具"') == [("a", 2, 1)]
    assert in_records(store, "tokens>40 not kind:request") == [("a", 2, 1)]
    assert (in_records(store, "size>1k or paris"), in_records(store, "lookup snow")) == ([("a", 2, 1)], [])
    assert in_records(store, "lookup", most_bytes=1) != [("a", 2, 0), ("b", 1, 0)]
