"""Sessions are found by what was said in them, in any language."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.capture.stores import record, save, settle
from tui_host.capture.ladder.filter_language import read_filter
from tui_host.capture.record import Draft, Head, Place
from tui_host.capture.session_summary import foreign_session
from tui_host.capture.store.record_search import RecordSearch
from tui_host.capture.store.search import search
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import AnswerItem, CallItem, UserItem, item_to_text


def say(store: Store, session: str, title: str, *said: str, escaped: bool = False) -> None:
    save(store, session, title=title, turns=0)
    for number, words in enumerate(said):
        message = {"role": "user", "parts": [{"part": "text", "text": words}], "turn": number + 1}
        text = json.dumps(message, ensure_ascii=escaped)
        store.sessions.save_message(session, number, turn=number + 1, text=text, time_ns=1)
    settle(store)


def found(store: Store, words: str) -> list[str]:
    return [each.session.id for each in search(store.sessions, words)]


def test_words_are_found_in_titles_and_messages_whatever_their_case(store: Store) -> None:
    say(store, "a", "Weather in Oslo", "will it rain?")
    say(store, "b", "Sums", "what is the WEATHER like?")

    assert sorted(found(store, "weather")) == ["a", "b"]
    assert found(store, "oslo") == ["a"]


def test_every_word_must_be_there_anywhere_in_the_session(store: Store) -> None:
    say(store, "a", "Weather", "rain in Oslo", "and in Bergen?")
    say(store, "b", "Weather", "rain in Oslo")

    assert found(store, "bergen rain weather") == ["a"]
    assert found(store, "bergen snow") == []
    assert found(store, "  ") == []


def test_names_of_fields_and_roles_are_not_what_was_said(store: Store) -> None:
    say(store, "a", "t", "hello")

    assert [found(store, words) for words in ("hello", "parts", "user")] == [["a"], [], []]


@pytest.mark.parametrize("escaped", [False, True])
def test_two_chinese_characters_are_enough(store: Store, escaped: bool) -> None:  # noqa: FBT001 - a case of the test
    say(store, "a", "问题", "请使用工具计算", escaped=escaped)
    say(store, "b", "问题", "天气", escaped=escaped)

    assert found(store, "工具") == ["a"]


def test_the_excerpt_shows_where_it_was_said(store: Store) -> None:
    say(store, "a", "t", "x", f"{'long ' * 30}needle\nin the hay {'more ' * 30}")

    (each,) = search(store.sessions, "needle")

    assert each.turn == 2
    assert "long needle in the hay" in each.excerpt
    assert each.excerpt.startswith("…")
    assert each.excerpt.endswith("…")


def test_what_came_from_a_file_is_found_by_what_its_chat_says(store: Store) -> None:
    store.sessions.put_back(foreign_session("a", "capture.har"))
    for number, item in enumerate(
        (
            UserItem(turn=1, text="上海天气怎么样？"),
            CallItem(turn=1, step=1, call="c.1.0", server="weather", tool="get", asked="{}", result="17 度，小雨"),
            AnswerItem(turn=1, step=2, text="A light rain.", state="done"),
        )
    ):
        store.sessions.save_item("a", number, item_to_text(item))
    settle(store)

    assert [found(store, words) for words in ("上海", "小雨", "LIGHT", "done", "answer")] == [
        ["a"],
        ["a"],
        ["a"],
        [],
        [],
    ]


def answer_of(url: str, head: Head, body: bytes) -> tuple[str, int]:
    return f"{url} {head.status} {body.decode().replace('|', '')}", 42


def in_records(store: Store, text: str, most_bytes: int | None = None) -> list[tuple[str, int, int]]:
    search = RecordSearch(store, read_filter(text), answer=answer_of, estimate=len, most_bytes=most_bytes)
    matches = [search.in_session(session) for session in store.sessions.list()]
    return [(match.session.id, match.turn, match.rows) for match in matches if match is not None]


def test_records_are_searched_by_texts_and_by_rows(store: Store) -> None:
    for session in ("a", "b"):
        save(store, session, turns=1)
    place = Place(session="a", turn=2, step=1)
    call = (
        b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"lookup","arguments":{"q":"\\u5de5\\u5177"}}}'
    )
    model = Draft(wire="llm", kind="request", peer="demo", direction="out", place=place, exchange="x1", data=b"{}")
    chunk = replace(model, kind="chunk", direction="in")
    drafts = [
        replace(model, head=Head(method="POST", url="http://model/v1")),
        replace(model, kind="response", direction="in", head=Head(status=200), data=b""),
        replace(chunk, data=b"Par|"),
        replace(chunk, data=b"is"),
        replace(model, kind="end", direction="in", data=b'{"reason":"complete"}'),
        Draft(wire="mcp", kind="frame", peer="docs", connection="docs#1", direction="out", place=place, data=call),
        Draft(wire="mcp", kind="frame", peer="docs", place=Place(session="b", turn=1), data=b"lookup"),
    ]
    record(store, drafts).close()

    assert in_records(store, "工具") == [("a", 2, 0)]
    assert in_records(store, "paris lookup") == [("a", 2, 0)]
    assert sorted(in_records(store, "lookup")) == [("a", 2, 0), ("b", 1, 0)]
    assert in_records(store, 'server:docs "工具"') == [("a", 2, 1)]
    assert in_records(store, "tokens>40 not kind:request") == [("a", 2, 1)]
    assert in_records(store, "size>1k or paris") == [("a", 2, 1)]
    assert in_records(store, "lookup snow") == []
    assert in_records(store, "lookup", most_bytes=1) != [("a", 2, 0), ("b", 1, 0)]
