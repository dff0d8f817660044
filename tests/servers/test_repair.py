"""What a server wrote reaches the SDK as one message, whoever read it, and no flood piles up before it."""

from __future__ import annotations

import json

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from tests.capture.test_frames import MESSAGES
from tui_host.capture.frames.frame_heads import read_frame
from tui_host.errors import JSON
from tui_host.servers.outgoing_request import OutgoingRequest
from tui_host.servers.repair import Counts, Inbox, Repair


def spelled(value: JSON) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"text": value}}).encode()


LINES = st.one_of(
    MESSAGES.map(lambda value: json.dumps({**value, "jsonrpc": "2.0"}).encode()),
    MESSAGES.map(lambda value: json.dumps(value, ensure_ascii=False).encode()),
    st.text().map(spelled),
    st.binary(max_size=20),
)


def message(line: bytes, *, is_read: bool) -> JSONRPCMessage | None:
    repair = Repair(lambda: None)
    for number in (1, 5, 7):
        repair.sending(JSONRPCRequest(jsonrpc="2.0", id=number, method="tools/call"), OutgoingRequest())
    return repair.read(line, read_frame(line).value if is_read else None)


@given(LINES)
def test_a_line_that_the_tap_has_read_means_what_the_sdk_would_read(line: bytes) -> None:
    assert message(line, is_read=True) == message(line, is_read=False)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"result":{"n":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"t":"\\ud800"}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"t":"\xff"}}',
        b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}',
        b'{"jsonrpc":"1.0","id":1,"result":{}}',
        b'[{"jsonrpc":"2.0","id":1,"result":{}}]',
        b'{"jsonrpc":"2.0","id":1.0,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"n":' + b"9" * 5000 + b"}}",
    ],
)
def test_odd_lines_mean_the_same_too(line: bytes) -> None:
    assert repr(message(line, is_read=True)) == repr(message(line, is_read=False))


def test_the_result_of_a_call_goes_to_its_caller_and_only_a_sign_to_the_sdk() -> None:
    repair, outgoing = Repair(lambda: None), OutgoingRequest()
    repair.sending(JSONRPCRequest(jsonrpc="2.0", id=4, method="tools/call"), outgoing)
    answer, reply = repair.received(JSONRPCResponse(jsonrpc="2.0", id=4, result={"content": "of the wrong shape"}))
    assert outgoing.is_sent
    assert outgoing.result == {"content": "of the wrong shape"}
    assert (answer, reply) == (
        JSONRPCResponse(jsonrpc="2.0", id=4, result={"content": [], "resultType": "complete"}),
        None,
    )


def progress(number: int) -> JSONRPCNotification:
    params = {"progressToken": 1, "progress": number}
    return JSONRPCNotification(jsonrpc="2.0", method="notifications/progress", params=params)


async def test_the_inbox_keeps_the_order_and_of_each_news_the_newest() -> None:
    counts = Counts()
    inbox = Inbox(counts)
    answer = JSONRPCResponse(jsonrpc="2.0", id=1, result={})
    for each in (progress(1), answer, progress(2), answer):
        inbox.put(each)
    inbox.close()
    with anyio.fail_after(90):
        got = [item async for item in inbox]
    assert [getattr(item, "message", None) for item in got] == [progress(2), answer, answer]
    assert counts.merged == 1


async def test_an_inbox_that_nobody_reads_any_more_holds_nobody_up() -> None:
    inbox = Inbox(Counts())
    for number in range(2_000):
        inbox.put(JSONRPCResponse(jsonrpc="2.0", id=number, result={}))
    with anyio.move_on_after(0.01) as scope:
        await inbox.has_room()
    assert scope.cancelled_caught
    await inbox.aclose()
    inbox.put(progress(1))
    with anyio.fail_after(90):
        await inbox.has_room()
        assert [item async for item in inbox] == []
