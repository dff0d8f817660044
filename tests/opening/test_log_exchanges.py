"""Which answer of a log is to which request: by an id, else to the only one that waits; where nothing tells, none is made up."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest

from tests.opening.captured import ASK, NOW_NS, TELL
from tui_host.capture.json.narrowing import items, mapping
from tui_host.errors import JSON
from tui_host.opening.import_types import File
from tui_host.opening.recognition import read

DONE = "data: [DONE]"


class Talk(NamedTuple):
    """An exchange: what was asked, empty if unknown, and all texts of the answer."""

    question: str
    answer: str


def asked(question: str, **more: JSON) -> str:
    return json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": question}], **more})


def openai(text: str, name: str = "") -> list[str]:
    """A stream that says each character by itself; `name` is its id."""

    def chunk(delta: JSON, reason: str | None = None) -> str:
        named: dict[str, JSON] = {"id": name} if name else {}
        choice: JSON = {"index": 0, "delta": delta, "finish_reason": reason}
        return f"data: {json.dumps({**named, 'object': 'chat.completion.chunk', 'choices': [choice]})}"

    return [*[chunk({"content": each}) for each in text], chunk({}, "stop"), DONE]


def anthropic(text: str) -> list[str]:
    events: list[JSON] = [{"type": "message_start", "message": {}}]
    events += [{"type": "content_block_delta", "index": 0, "delta": {"text": each}} for each in text]
    events.append({"type": "message_stop"})
    return [f"data: {json.dumps(event)}" for event in events]


def ollama(text: str) -> list[str]:
    lines = [{"model": "m", "message": {"role": "assistant", "content": each}, "done": False} for each in text]
    return [json.dumps(line) for line in [*lines, {"model": "m", "message": {"content": ""}, "done": True}]]


def whole(text: str) -> str:
    return json.dumps({"object": "chat.completion", "choices": [{"index": 0, "message": {"content": text}}]})


def in_turn(*streams: Sequence[str]) -> list[str]:
    return [stream[at] for at in range(max(map(len, streams))) for stream in streams if at < len(stream)]


def talks(*logs: Sequence[str]) -> tuple[list[Talk], list[str]]:
    """What was asked and said in each exchange, and the messages for a person."""
    reading = read([File(name=f"{n}.log", data="\n".join(log).encode(), time_ns=NOW_NS) for n, log in enumerate(logs)])
    found: dict[str, Talk] = {}
    for each in (*reading.drafts, *(more for _, drafts in reading.untimed for more in drafts)):
        draft = each.draft
        talk = found.setdefault(draft.exchange or "", Talk("", ""))
        if draft.kind == "request" and draft.data:
            (message,) = items(mapping(json.loads(draft.data)).get("messages"))
            talk = talk._replace(question=str(mapping(message)["content"]))
        elif draft.kind == "chunk":
            talk = talk._replace(answer=talk.answer + "".join(map(_said, draft.data.decode().splitlines())))
        found[draft.exchange or ""] = talk
    return [talk for name, talk in found.items() if name], reading.notes.messages


def _said(line: str) -> str:
    text = line.removeprefix("data: ")
    if not text.startswith("{"):
        return ""
    body = mapping(json.loads(text))
    choices = [mapping(each) for each in items(body.get("choices"))] or [body]
    deltas = [mapping(each.get("delta") or each.get("message")) for each in choices]
    return "".join(str(delta.get("content") or delta.get("text") or "") for delta in deltas)


@pytest.mark.parametrize("stream", [openai, anthropic, ollama])
def test_one_request_after_the_other_has_its_own_answer(stream: Callable[[str], list[str]]) -> None:
    lines = [asked("one"), *stream("abc"), asked("two"), *stream("de")]
    assert talks(lines) == ([Talk("one", "abc"), Talk("two", "de")], [])


@pytest.mark.parametrize("stream", [openai("ab"), anthropic("ab"), ollama("ab")])
def test_a_request_that_is_sent_again_or_got_no_answer_is_no_doubt(stream: list[str]) -> None:
    lines = [asked("one"), "timeout", asked("one"), *stream, asked("two"), *stream, asked("three")]
    found, messages = talks(lines)
    assert found == [Talk("one", ""), Talk("one", "ab"), Talk("two", "ab"), Talk("three", "")]
    assert not messages


@pytest.mark.parametrize("form", ["[request_id={0}] {1}", '{{"req_id": "{0}", "body": {1}}}', "req-{0} {1}"])
def test_answers_go_to_the_request_of_their_id_in_whatever_order_they_come(form: str) -> None:
    lines = [("7", asked("one")), ("8", asked("two")), ("8", whole("b")), ("7", whole("a"))]
    found, messages = talks([form.format(*line) for line in lines])
    assert found == [Talk("one", "a"), Talk("two", "b")]
    assert not messages


def test_streams_of_requests_with_ids_may_stand_among_each_other() -> None:
    streams = in_turn([f"[req-1] {line}" for line in openai("abc")], [f"[req-2] {line}" for line in openai("de")])
    assert talks([f"[req-1] {asked('one')}", f"[req-2] {asked('two')}", *streams])[0] == [
        Talk("one", "abc"),
        Talk("two", "de"),
    ]


def test_a_stream_that_began_before_the_next_request_goes_on_by_its_id() -> None:
    one, two = openai("abc", "x1"), openai("de", "x2")
    lines = [asked("one"), *one[:1], asked("two"), *in_turn(one[1:4], two[:-1])]
    assert talks(lines) == ([Talk("one", "abc"), Talk("two", "de")], [])


def test_streams_that_only_their_own_ids_tell_apart_stand_alone() -> None:
    lines = [asked("one"), asked("two"), *in_turn(openai("abc", "x1")[:-1], openai("de", "x2")[:-1]), asked("three")]
    found, messages = talks(lines)
    assert found == [Talk("one", ""), Talk("two", ""), Talk("", "abc"), Talk("", "de"), Talk("three", "")]
    assert "2 answers" in messages[0]


@pytest.mark.parametrize("streams", [(anthropic("abc"), anthropic("de")), (openai("abc"), openai("de"))])
def test_streams_that_nothing_tells_apart_are_left_out_with_the_remedy(streams: tuple[list[str], list[str]]) -> None:
    lines = [asked("one"), asked("two"), *in_turn(*streams), asked("three"), whole("f")]
    found, messages = talks(lines)
    assert found == [Talk("one", ""), Talk("two", ""), Talk("three", "f")]
    assert "0.log, line 3: events of several answers stand among each other" in messages[0]
    assert "tui-host tap" in messages[0]


@pytest.mark.parametrize("stream", [openai, anthropic, ollama])
def test_streams_mixed_behind_one_request_are_never_glued_silently(stream: Callable[[str], list[str]]) -> None:
    mixed = in_turn(stream("abc"), stream("de"))
    for lines in ([asked("one"), *mixed], mixed, [asked("one"), *stream("abc")[:2], asked("two"), *mixed]):
        assert any("events of several answers stand among each other" in message for message in talks(lines)[1])


def test_mixed_streams_without_requests_are_told_apart_by_their_ids() -> None:
    assert talks(["\n\n".join(in_turn(openai("abc", "x1"), openai("de", "x2")))]) == (
        [Talk("", "abc"), Talk("", "de")],
        [],
    )


def test_frames_keep_their_place_among_answers_that_are_held_back() -> None:
    lines = [asked("title"), asked("one"), whole("a"), f"-> {json.dumps(ASK)}", f"<- {json.dumps(TELL)}", asked("two")]
    reading = read([File(name="a.log", data="\n".join(lines).encode(), time_ns=NOW_NS)])
    kinds = [each.draft.kind for each in reading.drafts]
    assert kinds == ["request", "request", "response", "chunk", "end", "frame", "frame", "end", "request", "end"]


def test_pieces_of_a_stream_that_were_cut_anywhere_are_put_together() -> None:
    stream = "\n\n".join(openai("abc")) + "\n\n"
    pieces = [stream[at : at + 40] for at in range(0, len(stream), 40)]
    lines = [json.dumps({"event": "chunk", "data": piece}) for piece in pieces]
    assert talks([asked("one"), *lines, asked("two"), *lines])[0] == [Talk("one", "abc"), Talk("two", "abc")]


# Requests in one file, answers in another.


def test_requests_and_answers_in_two_files_are_joined_by_the_id_that_both_carry() -> None:
    requests = [json.dumps({"request_id": n, "body": json.loads(asked(n))}) for n in ("one", "two", "three")]
    answers = [json.dumps({"request_id": n, "body": json.loads(whole(f"to {n}"))}) for n in ("three", "one", "nobody")]
    found, messages = talks(requests, answers)
    assert sorted(found) == [Talk("", "to nobody"), Talk("one", "to one"), Talk("three", "to three"), Talk("two", "")]
    assert messages == ["1.log has 1 answer of which 0.log has no request of the same id: shown alone."]


def test_two_files_without_a_common_id_are_shown_each_alone_with_a_word() -> None:
    found, messages = talks([asked("one"), asked("two")], [whole("a"), whole("b")])
    assert sorted(found) == [Talk("", "a"), Talk("", "b"), Talk("one", ""), Talk("two", "")]
    assert "no id of a request stands in both" in messages[0]
