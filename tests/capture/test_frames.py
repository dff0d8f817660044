"""A frame's head is read whatever its bytes are, each frame finds its call, and a link is read as it was written."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.peer import rpc
from tui_host.capture.frames.correlator import Correlator
from tui_host.capture.frames.frame_heads import WHOLE, Frame, frames_in, head_of, read_frame
from tui_host.capture.json.narrowing import WORDS
from tui_host.capture.json.reading import PARTS_LIMIT
from tui_host.capture.link import Link, read_link
from tui_host.capture.record import NOWHERE, Place

NAMES = "id method params result error name arguments progressToken progress requestId _meta data content isError tools"
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
MESSAGES = st.recursive(
    SCALARS | st.sampled_from(["tools/call", "notifications/progress", "notifications/message", "ping"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES.split()), inner, max_size=6),
)


@pytest.mark.exhaustive
@given(st.binary(max_size=60) | MESSAGES.map(lambda value: json.dumps(value).encode()))
def test_nothing_that_comes_makes_the_reader_fail_and_what_is_moved_is_read_as_what_is_shown(line: bytes) -> None:
    head, moved = read_frame(line, in_words=True).head, read_frame(line)
    assert (head.kind == "malformed") <= bool(head.reason)
    for text in (head.method, head.id, head.words, head.name, head.progress_token, head.request_id):
        assert len(text) <= 6 * WORDS
        text.encode()
    for piece in frames_in(line):
        read_frame(piece, in_words=True)
    assert moved.head == replace(head, words="" if moved.is_message else head.words)
    assert moved.value is None or moved == Frame(head_of(moved.value), moved.value)


def news(method: str, **params: object) -> bytes:
    return rpc(method=f"notifications/{method}", params=params)


def answer(**result: object) -> bytes:
    return rpc(id="a", result=result)


MATH, MCP = {"name": "math", "version": "1"}, "io.modelcontextprotocol"


@pytest.mark.parametrize(
    ("message", "kind", "words"),
    [
        (rpc(id=4, method="tools/call", params={"name": "add", "arguments": {"a": 1}}), "request", 'add {"a":1}'),
        (news("progress", progressToken=1, progress=6, total=10, message="loading"), "notification", "6/10 loading"),
        (news("message", level="info", data={"a": [1, None]}), "notification", 'info: {"a":[1,null]}'),
        (news("cancelled", requestId=4, reason="stopped"), "notification", "stopped"),
        (answer(content=[{"type": "text", "text": "30"}], isError=False), "result", "30"),
        (answer(content=[{"type": "image", "data": "…"}]), "result", "image"),
        (answer(tools=[1, 2], nextCursor=""), "result", "2 tools, and more"),
        (answer(resourceTemplates=[]), "result", "0 resource templates"),
        (answer(resultType="input_required", inputRequests={"q": {"method": "m", "params": {"message": "Seats?"}}}),
         "result", "input required: m Seats?"),
        (answer(resultType="input_required", requestState="s"), "result", "input required: to be sent again"),
        (answer(protocolVersion="2025-11-25", capabilities={"tools": {}, "logging": {}}, serverInfo=MATH), "result",
         "math 1 · 2025-11-25 · tools, logging"),
        (answer(supportedVersions=["2026-07-28"], capabilities={}, _meta={f"{MCP}/serverInfo": MATH}), "result",
         "math 1 · 2026-07-28"),
        (rpc(id=1, error={"code": -32601, "message": "no such method"}), "error", "-32601 no such method"),
        (rpc(id=None, error={"code": -32700, "message": "parse"}), "error", "-32700 parse"),
        (b"[" + rpc(id=1, method="ping") + b"]", "batch", "1 messages"),
    ],
)  # fmt: skip
def test_a_frame_is_put_into_words(message: bytes, kind: str, words: str) -> None:
    head = read_frame(message, in_words=True).head
    assert (head.kind, head.words) == (kind, words)


@pytest.mark.parametrize(
    ("line", "reason", "identity"),
    [
        (b"Listening on port 3000\n", "not JSON", ""),
        (b"\n", "an empty line", ""),
        (b"[]", "an empty batch", ""),
        (b"3", "not a JSON object", ""),
        (b'{"jsonrpc":"2.0","id":3}', "no method", "3"),
        (b'{"jsonrpc":"2.0","id":null,"method":"x"}', "neither text nor a number", ""),
        (b'{"jsonrpc":"2.0","result":{}}', "without an id", ""),
        (b'{"jsonrpc":"2.0","id":7,"result":{"n":NaN}}', "NaN is no number", "7"),
        (b'{"jsonrpc":"2.0","id":7,"result":{"t":"\xff"}}', "not UTF-8 at byte 39", "7"),
        (b'{"jsonrpc":"2.0","id":"seven","result":{"t":"cut', "not JSON", '"seven"'),
        (b'{"id":7,"result":{"n":' + b"9" * 5000 + b"}}", "too long", "7"),
        (b'{"id":7,"result":' + b"[" * 100_000, "nested too deeply", "7"),
        (b'{"id":7,"result":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"}", "nested too deeply", "7"),
    ],
)
def test_what_is_no_message_says_why_and_keeps_the_id_if_there_is_one(line: bytes, reason: str, identity: str) -> None:
    head = read_frame(line, in_words=True).head
    assert head.kind == "malformed"
    assert reason in head.reason
    assert head.id == identity


LARGE = "x" * (WHOLE + 1)
DENSE = [{"type": "text", "text": "a,b"}] * PARTS_LIMIT


@pytest.mark.parametrize("members", [{"content": [{"type": "text", "text": LARGE}]}, {"content": DENSE}])
@pytest.mark.parametrize("failed", [True, False])
@pytest.mark.parametrize("first", ["id", "result"])
def test_a_large_result_is_known_by_its_beginning_and_end(members: dict[str, object], failed: bool, first: str) -> None:  # noqa: FBT001
    result = {**members, "isError": failed}
    message = {"id": 12, "result": result} if first == "id" else {"result": result, "jsonrpc": "2.0", "id": 12}
    head = read_frame(json.dumps(message).encode(), in_words=True).head
    assert (head.kind, head.id, head.is_error) == ("result", "12", failed)


def test_the_members_of_a_batch_are_its_bytes() -> None:
    first, second = b'{"id":1, "method":"a"}', '{"id":2,"method":"工]"}'.encode()
    assert frames_in(b" [" + first + b" , " + second + b"]\n") == [first, second]
    assert (frames_in(first + b"\r\n"), frames_in(b" \n")) == ([first], [])
    for body in (b"[1,", b"[1 2]", b"[", b"[]", b"[" * 100_000, b"[\xff]"):
        assert frames_in(body) == [body], "one that cannot be taken apart stays whole"


PLACE = Place(session="s", turn=1, step=2, call="c1")


def asked(correlator: Correlator, identity: object = 4, place: Place = PLACE, *, token: object = None) -> None:
    meta = {"_meta": {"progressToken": token}} if token is not None else {}
    correlator.see("out", read_frame(rpc(id=identity, method="tools/call", params={"name": "add", **meta})).head, place)


def test_an_answer_progress_and_a_cancellation_are_in_the_place_of_their_call() -> None:
    correlator = Correlator()
    asked(correlator, token=4)
    asked(correlator, 5, NOWHERE)
    assert correlator.see("in", read_frame(news("progress", progressToken=4, progress=1)).head).place == PLACE
    theirs = correlator.see("in", read_frame(rpc(id=4, method="sampling/createMessage")).head)
    assert theirs.place == PLACE, "of the only call under way"
    assert correlator.see("out", read_frame(rpc(id=4, result={})).head).place == PLACE, "the direction is part of an id"
    assert correlator.see("out", read_frame(news("cancelled", requestId=4)).head).place == PLACE
    answered = correlator.see("in", read_frame(rpc(id=4, result={})).head)
    assert (answered.place, answered.odd) == (PLACE, "")
    assert correlator.see("in", read_frame(rpc(id=5, method="roots/list")).head).place == NOWHERE


def test_what_is_odd_about_an_answer_is_said() -> None:
    correlator = Correlator()
    asked(correlator)
    answers = (rpc(id="4", result={}), rpc(id=4, result={}), rpc(id=9, result={}), rpc(id=None, error={"code": 1}))
    assert [correlator.see("in", read_frame(line).head).odd for line in answers] == [
        "an id of the other type",
        "a second answer",
        "an answer to nothing that was asked",
        "",
    ]


@given(st.from_type(Link).filter(lambda link: link.span.exchange != "" and link.span.seq != 0))
def test_a_link_is_read_as_it_was_written(link: Link) -> None:
    assert read_link(link.to_bytes()) == link
