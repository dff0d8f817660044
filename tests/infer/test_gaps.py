"""Answers of which a logger cut some events: what is read of them is shown, with a mark where something is missing."""

from __future__ import annotations

import json

import pytest

from tests.infer.forms import FORMS, User
from tests.infer.test_telling import SSE, told
from tests.infer.world import World
from tui_host.capture.http.exchange_end import CUT, Ending
from tui_host.capture.record import NOT_KNOWN, Draft, Head
from tui_host.chat.conversation import AnswerItem, CallItem, NoteItem
from tui_host.errors import JSON
from tui_host.infer.asking.cut_answers import MARK

BROKE_OFF = f"the answer broke off: {CUT}"
UNREAD = f"nothing of the answer can be read: {CUT}"
IN_A_FILE = Head(headers=((NOT_KNOWN, "status and headers"), *SSE.headers))
CUT_IN_IT = Ending(reason="cut by peer", error=CUT)


def chat(
    pieces: list[str], dialect: str = "openai", head: Head = IN_A_FILE, ending: Ending = CUT_IN_IT
) -> tuple[str, list[str], list[str]]:
    """The words, the calls and the notes that come of the pieces of an answer."""
    world = World()
    model = world.model()
    exchange = model.ask(FORMS[dialect], [User("tell me a story")])
    model.keep(Draft(wire="llm", kind="response", peer="example", exchange=exchange, head=head))
    for piece in pieces:
        data = piece.encode("utf-8", "surrogateescape")
        model.keep(Draft(wire="llm", kind="chunk", peer="example", exchange=exchange, data=data))
    model.keep(Draft(wire="llm", kind=ending.kind, peer="example", exchange=exchange, data=ending.to_bytes()))
    items = told(world)[1]
    words = [item.text for item in items if isinstance(item, AnswerItem)]
    calls = [f"{item.tool} {item.asked}" for item in items if isinstance(item, CallItem)]
    return "".join(words), calls, [item.what for item in items if isinstance(item, NoteItem)]


def chunk(delta: JSON, reason: str | None = None) -> str:
    choice: JSON = {"index": 0, "delta": delta, "finish_reason": reason}
    return json.dumps({"id": "c1", "object": "chat.completion.chunk", "choices": [choice]}, ensure_ascii=False)


def said(word: str) -> str:
    return chunk({"content": word})


def arguments(text: str) -> str:
    return chunk({"tool_calls": [{"index": 0, "function": {"arguments": text}}]})


CALLED = chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "add", "arguments": ""}}]})
CALL: JSON = {"function": {"name": "add", "arguments": {"a": 1}}}
OF_OLLAMA = "".join(
    json.dumps({"message": {"role": "assistant", **said}, "done": done}) + "\n"
    for said, done in (({"tool_calls": [5, CALL]}, False), ({"content": "the end."}, True))
)


def events(*pieces: str) -> list[str]:
    return [f"data: {piece}\n\n" for piece in (*pieces, chunk({}, "stop"), "[DONE]")]


MIDDLE = said("the middle of it")
AT = MIDDLE.index("dle of")


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (MIDDLE[:AT], f"the mid{MARK}"),
        (f"{MIDDLE[:AT]}...", f"the mid{MARK}"),
        (f"{MIDDLE[:AT]}...(共367字符，已截断)", f"the mid{MARK}"),
        (f"{MIDDLE[:AT]}…[truncated]", f"the mid{MARK}"),
        (f"{MIDDLE[:AT]}\\u4f", f"the mid{MARK}"),
        (MIDDLE[: MIDDLE.index("the mid") + 3], f"the{MARK}"),
        (MIDDLE[:40], MARK),
        (repr(json.loads(MIDDLE))[:AT], f"the mid{MARK}"),
        (MIDDLE[:-4], "the middle of it"),
    ],
)
def test_of_an_event_that_is_cut_what_it_says_stands_in_its_place_with_a_mark(cut: str, words: str) -> None:
    assert chat(events(said("Once, "), cut, said(", and the end."))) == (
        f"Once, {words}, and the end.",
        [],
        [BROKE_OFF],
    )


def test_behind_the_last_words_there_is_no_mark_as_the_chat_says_that_it_broke_off() -> None:
    assert chat([f"data: {said('Once, ')}\n\n", f"data: {MIDDLE[:AT]}"]) == ("Once, the mid", [], [BROKE_OFF])


def test_the_arguments_of_a_call_of_which_a_piece_is_cut_are_none_that_are_whole() -> None:
    begun, cut = CALLED, arguments("2")[:60]
    pieces = (begun, arguments('{"a":1'), cut, arguments("3}"))
    assert chat(events(*pieces))[1] == [f'add {{"a":1{MARK}3}}']
    assert chat(events(begun, cut))[1] == [f"add {MARK}"]
    assert chat(events(begun, arguments('{"a":1}'), cut))[1] == ['add {"a":1}']


@pytest.mark.parametrize("most", [20, 60])
def test_an_answer_of_which_each_event_is_cut_before_it_says_anything_is_no_error(most: int) -> None:
    cut = [said(word)[:most] for word in ("Once", " upon")]
    assert chat([f"data: {piece}\n\n" for piece in cut]) == ("", [], [UNREAD])
    assert chat([f"data: {piece}...\n\n" for piece in cut]) == ("", [], [UNREAD])
    assert chat([f"data: {repr(json.loads(said('x')))[:most]}...\n\n"] * 2) == ("", [], [UNREAD])


def test_an_error_of_the_provider_stays_one_where_something_is_cut_behind_it() -> None:
    error = json.dumps({"error": {"message": "slow down", "type": "overloaded"}})
    assert chat([f"data: {error}\n\n", f"data: {MIDDLE[:40]}"])[2] == ["the answer is an error: slow down"]


def test_a_body_that_is_cut_says_what_it_says_up_to_there() -> None:
    body = json.dumps({"id": "c1", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Once upon"}}]})
    head = Head(headers=((NOT_KNOWN, "status and headers"), ("content-type", "application/json")))
    assert chat([body[: body.index(" upon")]], head=head) == ("Once", [], [BROKE_OFF])


def of_anthropic(*pieces: JSON, cut: int, most: int, is_named: bool) -> list[str]:
    """The events of an answer, of which that with a number was cut."""
    found: list[str] = []
    for number, piece in enumerate(pieces):
        text = json.dumps(piece)
        name = f"event: {piece['type']}\n" if is_named and isinstance(piece, dict) else ""
        found.append(f"{name}data: {text[:most] if number == cut else text}\n\n")
    return found


STARTED: JSON = {"id": "m1", "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 3}}
ANTHROPIC: list[JSON] = [
    {"type": "message_start", "message": STARTED},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "ping", "more": "than it has"},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Once upon"}},
    {"type": "content_block_stop", "index": 0, "more": "than it has"},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": " a time"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
]
RESPONSE: JSON = {"id": "r1", "object": "response", "status": "in_progress", "output": []}
RESPONSES: list[JSON] = [
    {"type": "response.created", "response": RESPONSE},
    {"type": "response.in_progress", "response": RESPONSE},
    {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "i", "content": []}},
    {"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "content_index": 0, "delta": "Once upon"},
    {"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "content_index": 0, "delta": " a time"},
    {"type": "response.completed", "response": {**RESPONSE, "status": "completed"}},
]
COMPLETIONS: list[JSON] = [
    {"id": "c1", "type": "chunk", "choices": [{"delta": {"role": "assistant", "content": ""}, "finish_reason": None}]},
    {"id": "c1", "type": "chunk", "choices": [{"delta": {"content": "Once upon"}}]},
    {"id": "c1", "type": "chunk", "choices": [{"delta": {"content": " a time"}, "finish_reason": "stop"}]},
]
PIECES = {"anthropic": ANTHROPIC, "openai-responses": RESPONSES, "openai": COMPLETIONS}


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize(
    ("dialect", "cut", "missing"),
    [
        *(("anthropic", number, 5) for number in (0, 1, 2, 4, 6)),
        ("anthropic", 0, 90),
        *(("openai-responses", number, 4) for number in (0, 1, 2)),
        ("openai-responses", 0, 60),
        ("openai", 0, 12),
    ],
)
def test_an_event_that_has_no_words_leaves_no_mark(dialect: str, cut: int, missing: int, *, is_named: bool) -> None:
    pieces = PIECES[dialect]
    most = len(json.dumps(pieces[cut])) - missing
    said = of_anthropic(*pieces, cut=cut, most=most, is_named=is_named)
    assert chat(said, dialect) == ("Once upon a time", [], [BROKE_OFF])


def test_an_event_whose_name_alone_is_there_leaves_no_mark_where_it_has_no_words() -> None:
    pieces = of_anthropic(*ANTHROPIC, cut=0, most=8, is_named=True)
    assert chat(pieces, "anthropic")[0] == "Once upon a time"
    pieces = of_anthropic(*ANTHROPIC, cut=3, most=8, is_named=True)
    assert chat(pieces, "anthropic")[0] == f"{MARK} a time"
    pieces = of_anthropic(*ANTHROPIC, cut=0, most=8, is_named=False)
    assert chat(pieces, "anthropic")[0] == f"{MARK}Once upon a time"


OF_A_FILE = Head(headers=((NOT_KNOWN, "status and headers"), ("content-type", "application/json")))
BODIES: dict[str, JSON] = {
    "openai": {"id": "c1", "object": "chat.completion", "choices": [{"index": 0, "message": {"content": "Once"}}]},
    "anthropic": {"id": "m1", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "Once"}]},
    "gemini": {"responseId": "r1", "modelVersion": "g", "candidates": [{"content": {"parts": [{"text": "Once"}]}}]},
    "openai-responses": {"id": "r1", "object": "response", "error": None, "output": []},
}


@pytest.mark.parametrize("dialect", BODIES)
def test_a_body_that_is_cut_before_its_answer_is_no_error(dialect: str) -> None:
    body = json.dumps(BODIES[dialect])
    before = min(at for name in ("choices", "content", "candidates", "output") if (at := body.find(f'"{name}":')) > 0)
    for cut in (body[: before - 2], body[: before + 4], f"{body[: before - 2]}..."):
        assert chat([cut], dialect, OF_A_FILE) == ("", [], [UNREAD])


@pytest.mark.parametrize(
    "error",
    [{"error": {"message": "slow down", "type": "overloaded"}, "id": 5}, {"error": {"message": "slow down"}, "id": 5}],
)
def test_an_error_in_place_of_an_answer_stays_one_where_it_is_cut(error: JSON) -> None:
    assert chat([json.dumps(error)[:-2]], head=OF_A_FILE)[2] == ["the answer is an error: slow down"]
    assert "the answer is an error" in chat([json.dumps(error)[:25]], head=OF_A_FILE)[2][0]


def test_of_a_call_whose_name_is_cut_nothing_is_shown() -> None:
    block: JSON = {"type": "tool_use", "id": "t1", "name": "multiply", "input": {}}
    begun = json.dumps({"type": "content_block_start", "index": 0, "content_block": block})
    piece = json.dumps({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta"}})
    pieces = [f"event: content_block_start\ndata: {begun[:90]}...\n\n", f"data: {piece[:75]}...\n\n"]
    assert chat(pieces, "anthropic") == ("", [], [UNREAD])


@pytest.mark.parametrize("strange", ["ping", '"ping"', "[]", "1", "[1"])
@pytest.mark.parametrize(
    ("head", "ending", "notes"), [(SSE, Ending(), []), (IN_A_FILE, Ending(), []), (IN_A_FILE, CUT_IN_IT, [BROKE_OFF])]
)
def test_what_a_service_sends_beside_its_answer_is_no_place_where_something_is_cut(
    strange: str, head: Head, ending: Ending, notes: list[str]
) -> None:
    words = events(said("Once, "), strange, said("the end."))
    assert chat(words, head=head, ending=ending) == ("Once, the end.", [], notes)
    call = events(CALLED, arguments('{"a":1'), strange, arguments(',"b":2}'))
    assert chat(call, head=head, ending=ending)[:2] == ("", ['add {"a":1,"b":2}'])


def test_what_is_broken_in_an_answer_that_was_heard_itself_is_none_either() -> None:
    broken = events(said("Once, "), MIDDLE[:AT], said("the end."))
    for ending in (Ending(), Ending(reason="closed by host")):
        assert chat(broken, head=SSE, ending=ending)[0] == "Once, the end."


@pytest.mark.parametrize(("head", "ending"), [(SSE, Ending()), (IN_A_FILE, CUT_IN_IT)])
def test_what_can_be_read_beside_something_that_cannot_is_read_once(head: Head, ending: Ending) -> None:
    assert chat([OF_OLLAMA], "ollama", head, ending)[:2] == ("the end.", ['add {"a": 1}'])
    assert chat(events(said("On\udce4ce, "), said("the end.")), head=head, ending=ending)[0] == "On\ufffdce, the end."
