"""Logs in which streams go on at the same time whose events do not say of which they are: no answer is made that nobody gave."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from tests.capture.captured import NOW_NS, WIRES
from tests.steps import steps
from tui_host.capture.http.sse import SseDecoder
from tui_host.capture.json.narrowing import mapping
from tui_host.capture.record import MISSING
from tui_host.errors import JSON
from tui_host.opening import File, read
from tui_host.opening.drafts import Notes
from tui_host.opening.logs.lines import Begin
from tui_host.opening.logs.lines import read as read_log
from tui_host.opening.logs.tangle import WORDS


def asked(name: str) -> JSON:
    return {
        "model": "m",
        "max_tokens": 9,
        "stream": True,
        "system": "s",
        "messages": [{"role": "user", "content": name}],
    }


def anthropic(name: str, text: Sequence[str] = ("1", "2"), *, is_named: bool = True) -> list[JSON]:
    deltas: list[JSON] = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": name + each}}
        for each in text
    ]
    return [
        {"type": "message_start", "message": {"role": "assistant", **({"id": name} if is_named else {})}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *deltas,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]


def responses(name: str, text: Sequence[str] = ("1", "2"), *, is_named: bool = True) -> list[JSON]:
    response: JSON = {"object": "response", **({"id": name} if is_named else {})}
    item: JSON = {"type": "message", **({"id": f"i{name}"} if is_named else {})}
    kinds: list[dict[str, JSON]] = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *({"type": "response.output_text.delta", "output_index": 0, "delta": name + each} for each in text),
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
    return [{**each, "sequence_number": number} for number, each in enumerate(kinds)]


Events = Callable[..., list[JSON]]
KINDS: dict[str, Events] = {"anthropic": anthropic, "responses": responses}
FORMS: dict[str, Callable[[JSON], str]] = {
    "data lines": lambda each: f"data: {json.dumps(each)}",
    "named events": lambda each: f"event: {mapping(each)['type']}\ndata: {json.dumps(each)}\n",
    "objects of lines": lambda each: "\n".join(
        json.dumps({"dir": "in", "line": line})
        for line in (f"event: {mapping(each)['type']}", f"data: {json.dumps(each)}", "")
    ),
    "objects": lambda each: json.dumps({"dir": "in", "data": f"data: {json.dumps(each)}\n\n"}),
    "printed": lambda each: f"chunk: {f'data: {json.dumps(each)}{chr(10)}{chr(10)}'.encode()!r}",
}


def exchanges(lines: Sequence[str]) -> tuple[list[tuple[str, list[str], str]], list[str]]:
    """What was asked, the kinds of events that came to it, and how it ended; and what is told."""
    reading = read([File(name="llm.log", data="\n".join(["# log", *lines]).encode(), time_ns=NOW_NS)], WIRES)
    found: dict[str, tuple[str, list[str], str]] = {}
    decoders: dict[str, SseDecoder] = {}
    for each in reading.seen:
        draft = each.draft
        name = draft.exchange or ""
        question, said, end = found.get(name, ("", [], ""))
        if draft.kind == "request" and draft.data:
            question = json.loads(draft.data)["messages"][0]["content"]
        elif draft.kind == "response" and draft.malformed:
            assert draft.malformed == WORDS
            end = "tangled"
        elif draft.kind == "chunk":
            events = decoders.setdefault(name, SseDecoder()).feed(draft.data)
            said = said + [text_of(json.loads(event.data)) for event in events if event.kind == "event"]
        elif draft.kind in {"end", "error"} and not end:
            end = json.loads(draft.data)["reason"]
        found[name] = question, said, end
    return list(found.values()), reading.notes.told


def text_of(event: JSON) -> str:
    delta = mapping(event).get("delta")
    text = delta if isinstance(delta, str) else mapping(delta).get("text")
    return text if isinstance(text, str) else ""


def said_in(events: Sequence[str]) -> str:
    return "".join(events)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("is_named", [True, False])
def test_streams_that_go_on_at_the_same_time_without_a_name_are_made_no_answer(
    kind: str, form: str, *, is_named: bool
) -> None:
    a, b = (KINDS[kind](name, is_named=is_named) for name in "ab")
    wrote = FORMS[form]
    mixed = [*a[:3], b[0], a[3], *b[1:3], *a[4:], *b[3:]]
    after = KINDS[kind]("c")
    for asking in ([asked("a"), asked("b")], []):
        then = [json.dumps(asked("c"))] if asking else []
        lines = [*map(json.dumps, asking), *map(wrote, mixed), *then, *map(wrote, after)]
        found, words = exchanges(lines)
        answers = sorted((said_in(said), end) for _, said, end in found if said)
        assert answers == sorted([("a1", "cut by peer"), ("a2b1b2", "tangled"), ("c1c2", "complete")])
        assert [question for question, said, _ in found if said_in(said) == "c1c2"] == (["c"] if asking else [""])
        assert sum(WORDS in each for each in words) == 1
        assert not any(question and end == "tangled" for question, _, end in found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
def test_a_stream_that_was_given_up_before_the_next_was_asked_for_is_no_doubt(kind: str, form: str) -> None:
    a, b = (KINDS[kind](name) for name in "ab")
    wrote = FORMS[form]
    one, two = (json.dumps(asked(name)) for name in "ab")
    found, words = exchanges([one, *map(wrote, a[:3]), two, *map(wrote, b)])
    assert [(question, said_in(said), end) for question, said, end in found] == [
        ("a", "a1", "complete"),
        ("b", "b1b2", "complete"),
    ]
    assert not words


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("do_ask", [True, False])
def test_one_that_begins_in_another_without_being_asked_for_since_is_no_answer_though_nothing_speaks_against_it(
    kind: str, form: str, *, do_ask: bool
) -> None:
    a, b, c = (KINDS[kind](name) for name in "abc")
    wrote = FORMS[form]
    one, two, three = ([json.dumps(asked(name))] if do_ask else [] for name in "abc")
    lines = [*one, *two, *map(wrote, [*a[:2], *b[:2], a[2], *b[2:]]), *three, *map(wrote, c)]
    found, words = exchanges(lines)
    assert sorted((said_in(said), end) for _, said, end in found if said) == sorted(
        [("", "cut by peer"), ("a1b1b2", "tangled"), ("c1c2", "complete")]
    )
    assert sum(WORDS in each for each in words) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
def test_a_stream_goes_on_behind_the_next_request(kind: str, form: str) -> None:
    a, b = (KINDS[kind](name) for name in "ab")
    wrote = FORMS[form]
    one, two = (json.dumps(asked(name)) for name in "ab")
    found, words = exchanges([one, *map(wrote, a[:3]), two, *map(wrote, a[3:]), *map(wrote, b)])
    assert [(question, said_in(said)) for question, said, _ in found] == [("a", "a1a2"), ("b", "b1b2")]
    assert not words


@pytest.mark.parametrize("kind", KINDS)
def test_streams_that_are_labelled_are_told_apart(kind: str) -> None:
    a, b = ([f"[req-{name}] data: {json.dumps(each)}" for each in KINDS[kind](name)] for name in "12")
    one, two = (f"[req-{name}] {json.dumps(asked(name))}" for name in "12")
    found, words = exchanges([one, two, *a[:3], *b[:3], *a[3:], *b[3:]])
    assert [(question, said_in(said)) for question, said, _ in found] == [("1", "1112"), ("2", "2122")]
    assert not words


@pytest.mark.parametrize("kind", KINDS)
def test_each_tangle_ends_where_its_streams_do_and_none_is_taken_for_the_next(kind: str) -> None:
    a, b, c, d = (list(map(FORMS["data lines"], KINDS[kind](name))) for name in "abcd")
    tangled = [*a[:2], *b[:2], *a[2:], *b[2:]]
    found, words = exchanges([*tangled, *c, *tangled, *d])
    ends = [(said_in(said), end) for _, said, end in found]
    twice = [("", "cut by peer"), ("a1a2b1b2", "tangled")] * 2
    assert sorted(ends) == sorted([*twice, ("c1c2", "complete"), ("d1d2", "complete")])
    assert "2 times, first from line 4 on" in words[0]


def test_three_streams_of_which_one_is_given_up_leave_the_next_whole() -> None:
    a, b, c, d = (list(map(FORMS["data lines"], anthropic(name))) for name in "abcd")
    found, _ = exchanges([*a[:3], *b[:2], a[3], *c[:3], *b[2:], *c[3:], *d])
    assert [(said_in(said), end) for _, said, end in found if end != "tangled"] == [
        ("a1", "cut by peer"),
        ("d1d2", "complete"),
    ]
    assert MISSING not in {end for _, _, end in found}


def test_many_streams_that_are_given_up_cost_no_more_than_others() -> None:
    """What is looked at ahead is looked at once: read so often as streams begin, this would take minutes."""
    text = ("x" * 1000,)
    lines = [
        line
        for number in range(3000)
        for line in (
            json.dumps(asked("x")),
            *(f"data: {json.dumps(each)}" for each in anthropic(str(number), text)[:3]),
        )
    ]
    file = File(name="a.log", data="\n".join(["# log", *lines]).encode(), time_ns=NOW_NS)
    seen = list(read_log(file, WIRES, Notes(), "", Begin(0).ns))
    assert sum(each.draft.kind == "end" for each in seen) == 3000


def chunk(name: str, text: str) -> JSON:
    delta: JSON = {"content": text}
    return {"id": name, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}


@pytest.mark.parametrize(
    ("events", "ends"),
    [
        ([*anthropic("a"), *anthropic("b")], ["complete"] * 2),
        ([*responses("a"), *responses("b")], ["complete"] * 2),
        (
            [*anthropic("a")[:3], *anthropic("b")[:2], *anthropic("a")[3:], *anthropic("b")[2:]],
            ["cut by peer", "tangled"],
        ),
        ([chunk(name, "x") for name in "aabb"], ["complete"] * 2),
        ([chunk(name, "x") for name in "aba"], ["complete"]),
        ([chunk(name, "x") for name in "abab"], ["complete"] * 2),
    ],
)
def test_a_file_that_is_nothing_but_a_stream_holds_as_many_answers_as_it_has(
    events: Sequence[JSON], ends: Sequence[str]
) -> None:
    text = "".join(f"data: {json.dumps(each)}\n\n" for each in events)
    drafts = [each.draft for each in read([File(name="a.sse", data=text.encode(), time_ns=NOW_NS)], WIRES).seen]
    tangled = {each.exchange for each in drafts if each.kind == "response" and each.malformed == WORDS}
    found = [
        "tangled" if each.exchange in tangled else json.loads(each.data)["reason"]
        for each in drafts
        if each.kind in {"end", "error"}
    ]
    assert sorted(found) == sorted(ends)
    assert b"".join(each.data for each in drafts if each.kind == "chunk").count(b"data:") == len(events)


def test_a_file_of_ollama_s_answers_holds_as_many_as_are_done() -> None:
    piece = [json.dumps({"model": "m", "message": {"content": "x"}, "done": is_done}) for is_done in (False, True)]
    drafts = [each.draft for each in read([File(name="a", data="\n".join(piece * 2).encode())], WIRES).seen]
    assert [each.kind for each in drafts].count("end") == 2


def beginning_in_others(size: int) -> list[str]:
    """So often a stream that begins in another without having been asked for, and one that is given up; at last one that is not."""
    lines: list[str] = []
    for number in range(size):
        for name, is_given_up in ((f"a{number}", True), ("", False), (f"b{number}", True), (f"c{number}", False)):
            events = anthropic(name, is_named=False)
            lines += [json.dumps(asked(name))] if name else []
            lines += map(FORMS["data lines"], events[:2] if is_given_up else events)
    one, two = anthropic("1", is_named=False), anthropic("2", is_named=False)
    lines += [json.dumps(asked("1")), *map(FORMS["data lines"], one[:2]), json.dumps(asked("2"))]
    return [*lines, *map(FORMS["data lines"], [*two[:2], *one[2:], *two[2:]])]


def test_what_is_seen_ahead_is_looked_for_once_however_often_a_stream_begins_in_another_before_it() -> None:
    few, many = (steps(partial(exchanges, beginning_in_others(size))) for size in (8, 32))
    assert many < 1.5 * 4 * few


def test_a_request_whose_answer_never_comes_ends_though_another_stream_goes_on_before_the_next_is_asked() -> None:
    events = [*map(FORMS["data lines"], anthropic("a", is_named=False))]
    lines = [
        json.dumps(asked("a")),
        *events[:2],
        json.dumps(asked("b")),
        events[2],
        json.dumps(asked("c")),
        *events[3:],
    ]
    found, _ = exchanges(lines)
    assert [(name, end) for name, _, end in found] == [("a", "complete"), ("b", MISSING), ("c", MISSING)]
