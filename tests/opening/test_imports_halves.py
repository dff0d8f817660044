"""Requests in one file and answers in another: joined where there is no doubt, and told where there is."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tests.capture.captured import ASK, CHAT, NOW_NS, PIECE, WHOLE, WIRES
from tui_host.capture.json.narrowing import mapping
from tui_host.capture.record import MISSING
from tui_host.errors import JSON
from tui_host.opening import File, read

DONE = "data: [DONE]"


def chat(number: int) -> JSON:
    return {**mapping(CHAT), "seed": number}


def stream(number: int) -> list[str]:
    return [f"data: {json.dumps({**mapping(PIECE), 'id': f'c{number}'})}", DONE]


def at(seconds: float | None, line: str) -> str:
    return line if seconds is None else f"2026-11-22T20:00:{seconds:06.3f} {line}"


def both(asked: Sequence[float | None], said: Sequence[float | None]) -> tuple[str, str]:
    """The files of a proxy that wrote requests and answers at these seconds, or at none."""
    requests = "".join(at(second, json.dumps(chat(n))) + "\n" for n, second in enumerate(asked))
    answers = "".join(at(second, line) + "\n" for n, second in enumerate(said) for line in stream(n))
    return requests, answers


def exchanges(*texts: str) -> tuple[list[tuple[object, object]], list[str]]:
    """By number the request and the answer of each exchange, None for what there is not; and what was told."""
    files = [File(name=f"{n}.log", data=text.encode(), time_ns=NOW_NS) for n, text in enumerate(texts)]
    reading = read(files, WIRES)
    found: dict[str, tuple[object, object]] = {}
    for each in [*reading.seen, *(seen for _, more in reading.untimed for seen in more)]:
        draft = each.draft
        if draft.wire != "llm":
            continue
        asked, said = found.setdefault(draft.exchange or "", (None, None))
        if draft.kind == "request" and draft.data:
            asked = json.loads(draft.data)["seed"]
        elif draft.kind == "chunk" and said is None:
            said = int(json.loads(draft.data.removeprefix(b"data: "))["id"][1:])
        elif draft.kind == "end":
            assert json.loads(draft.data)["reason"] == ("complete" if said is not None else MISSING)
        found[draft.exchange or ""] = asked, said
    return list(found.values()), reading.notes.told


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ([1.0], [1.0]),  # in the same millisecond, too
        ([1.0], [2.0]),
        ([None], [None]),
        ([None, None], [None, None]),
        ([1.0, 2.0, 3.0], [1.5, 2.5, 3.5]),
        ([1.0, 2.0], [2.0, 3.0]),
        ([1.0, 2.0], [None, None]),
        ([None, None], [1.0, 2.0]),
    ],
)
@pytest.mark.parametrize("step", [1, -1])
def test_each_request_has_the_answer_that_is_its_own_beyond_doubt(
    asked: Sequence[float | None], said: Sequence[float | None], step: int
) -> None:
    files = both(asked, said)
    found, notes = exchanges(*files[::step])
    assert found == [(number, number) for number in range(len(asked))]
    assert not any("beyond doubt" in note for note in notes)


@pytest.mark.parametrize(
    ("asked", "said", "joined"),
    [
        ([1, 2], [3, 4], []),  # both may be of either
        ([1, 2, 5], [3, 6], [(2, 1)]),
        ([2], [1, 3], [(0, 1)]),
        ([1, 3], [0, 2], [(0, 1)]),
        ([None, None], [None], []),
    ],
)
def test_what_may_be_of_several_is_joined_with_none_and_that_is_told(
    asked: Sequence[float | None], said: Sequence[float | None], joined: Sequence[tuple[int, int]]
) -> None:
    found, notes = exchanges(*both(asked, said))
    assert [each for each in found if None not in each] == joined
    assert sorted(n for n, _ in found if isinstance(n, int)) == list(range(len(asked)))
    assert sorted(n for _, n in found if isinstance(n, int)) == list(range(len(said)))
    assert sum("beyond doubt" in note for note in notes) == 1


def test_a_request_without_an_answer_is_no_doubt_where_the_others_have_theirs() -> None:
    found, notes = exchanges(*both([1, 3], [2]))
    assert found == [(0, 0), (1, None)]
    assert not notes


def test_answers_of_another_api_stand_alone() -> None:
    asked = "\n".join([json.dumps({"contents": [{"parts": []}]})] * 2)
    reading = read([File(name="a", data=asked.encode()), File(name="b", data="\n".join(stream(1) * 2).encode())], WIRES)
    found = [each.draft for _, more in (("", reading.seen), *reading.untimed) for each in more]
    assert len({each.exchange for each in found}) == 4
    assert "2 of them belong" in reading.notes.told[0]


def test_a_server_s_log_beside_both_stays_as_it_is_and_so_does_a_log_with_requests_and_answers() -> None:
    server = at(1.2, json.dumps(ASK)) + "\n"
    assert exchanges(*both([1, 2], [1.5, 2.5]), server)[0] == [(0, 0), (1, 1)]
    whole = f"{at(1, json.dumps(chat(7)))}\n{at(2, json.dumps({**mapping(WHOLE), 'id': 'c7'}))}\n"
    requests, _ = both([3, 4], [])
    files = [File(name="a", data=whole.encode()), File(name="b", data=requests.encode())]
    kinds = [each.draft.kind for each in read(files, WIRES).seen]
    assert kinds == ["request", "response", "chunk", "end", "request", "end", "request", "end"]


def test_of_two_files_without_times_none_is_joined_where_one_answers_as_the_model_of_another() -> None:
    """Who asks for several at once gets first what is done first."""

    def of(models: Sequence[str]) -> tuple[str, str]:
        asked = "".join(json.dumps({**mapping(chat(n)), "model": "ab"[n]}) + "\n" for n in range(2))
        said = (json.dumps({**mapping(PIECE), "id": f"c{n}", "model": model}) for n, model in enumerate(models))
        return asked, "".join(f"data: {each}\n{DONE}\n" for each in said)

    for models in ("ab", "aa-2026", "xy"):
        assert exchanges(*of([models[0], models[1:]]))[1] == []
    found, words = exchanges(*of("ba"))
    assert len(found) == 4
    assert "not beyond doubt" in words[0]


def test_a_request_that_waits_while_others_are_answered_has_none_of_theirs() -> None:
    """Of two that wait one is answered, and of the other and a third one who knows which."""
    found, words = exchanges(*both([1.0, 2.0, 4.0, 7.0], [3.0, 5.0, 6.0, 8.0]))
    assert [pair for pair in found if None not in pair] == [(3, 3)]
    assert "not beyond doubt" in words[0]


def said(number: int, text: str = "", **more: JSON) -> str:
    message: JSON = {"role": "assistant", "content": text, **more}
    return json.dumps({"id": f"c{number}", "object": "chat.completion", "choices": [{"index": 0, "message": message}]})


def asked_with(number: int, *questions: JSON, **more: JSON) -> str:
    messages = [each if isinstance(each, dict) else {"role": "user", "content": each} for each in questions]
    return json.dumps({**mapping(chat(number)), "messages": messages, **more})


def offer(name: str) -> JSON:
    return [{"type": "function", "function": {"name": name}}]


def call(name: str, identity: str) -> JSON:
    return [{"id": identity, "type": "function", "function": {"name": name, "arguments": "{}"}}]


FIRST, SECOND = (f"data: {json.dumps({**mapping(PIECE), 'id': f'c{number}'})}" for number in range(2))
OTHERWISE: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "streams at the same time": (
        [asked_with(0, "one", stream=True), asked_with(1, "two", stream=True)],
        [FIRST, SECOND, FIRST, DONE, SECOND, DONE],
    ),
    "a stream in another": (
        [asked_with(n, "x", stream=True) for n in range(3)],
        [*stream(2), FIRST, SECOND, DONE, FIRST, DONE],
    ),
    "a stream, as which another was asked for": (
        [asked_with(0, "one", stream=True), asked_with(1, "a title?")],
        [said(1, "A title"), FIRST, DONE],
    ),
    "a tool that another was offered": (
        [asked_with(0, "one", tools=offer("add")), asked_with(1, "two", tools=offer("now"))],
        [said(1, tool_calls=call("now", "call_1")), said(0, tool_calls=call("add", "call_2"))],
    ),
    "a text that is quoted behind another's question": (
        [asked_with(0, "one"), asked_with(1, "two"), asked_with(2, "one", {"role": "assistant", "content": "A"}, "go")],
        [said(1, "B"), said(0, "A"), said(2, "C")],
    ),
    "a call that is quoted behind another's question": (
        [
            asked_with(0, "one"),
            asked_with(1, "two"),
            asked_with(2, "one", {"role": "assistant", "tool_calls": call("now", "call_2")}, "go"),
        ],
        [said(1, tool_calls=call("now", "call_1")), said(0, tool_calls=call("now", "call_2")), said(2, "C")],
    ),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_of_two_files_without_times_none_is_joined_where_an_answer_is_as_another_s(name: str) -> None:
    asked, answers = ("\n".join([*each, ""]) for each in OTHERWISE[name])
    found, words = exchanges(asked, answers)
    assert not [each for each in found if None not in each]
    assert sum("beyond doubt" in each for each in words) == 1


def test_of_two_files_without_times_answers_are_joined_by_number_where_a_request_quotes_the_one_before() -> None:
    asked = [
        asked_with(0, "one", stream=True),
        asked_with(1, "one", {"role": "assistant", "content": "hello"}, "go", stream=True),
    ]
    found, words = exchanges("\n".join([*asked, ""]), "\n".join([*stream(0), said(1, "B")]))
    assert (found, words) == ([(0, 0), (1, 1)], [])
