"""The scripted MCP server over HTTP: an answer for `peer(always=…, path="/mcp")`, which plays the scripts of `mcp_server.py`.

    async with peer(always=mcp_http({"tools": [tool("echo")]}), path="/mcp") as there:      # there.url is the server's
    mcp_http(script, **{"tools/call": hangs(head())})                                        # a request answered by hand, or
    mcp_http(script, GET=b"HTTP/1.1 405 Method Not Allowed\\r\\nContent-Length: 0\\r\\n\\r\\n")      # a method of HTTP

A request that sets off one message gets JSON, one that sets off more of them gets an event stream. In the handshake era there is a
session, `s1`. Steps about processes have no sense here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import copy

import anyio

from tests.kit.mcp_server import McpScript, Message
from tests.kit.peer import Answer, Exchange, Script, give, head, response

NOT_ALLOWED = response(b"", status="405 Method Not Allowed", kind="")
ACCEPTED = response(b"", status="202 Accepted", kind="")


def mcp_http(script: Mapping[str, object], **by_hand: Answer) -> Script:
    state = McpScript(script)

    async def answer(exchange: Exchange) -> None:
        request = exchange.request
        given = by_hand.get(request.rpc) or by_hand.get(request.method)
        if given is not None:
            await give(given, exchange)
        elif request.method != "POST":
            await exchange.send(NOT_ALLOWED)
        elif not request.rpc:
            state.take_answer(dict(request.json))
            await exchange.send(ACCEPTED)
        elif "id" not in request.json:
            await exchange.send(ACCEPTED)
        else:
            await _play(state, exchange)

    return answer


async def _play(state: McpScript, exchange: Exchange) -> None:
    """Play in a thread, as steps may wait for what the client answers on another connection."""
    frames: list[Message] = []
    steps = state.steps(exchange.request.json)
    waits = any("ask" in step or "wait" in step for step in steps)
    own = copy(state)
    own.send = frames.append
    if not waits:
        own.play(steps, exchange.request.json)
        await _finish(exchange, frames)
        return
    await exchange.send(head())
    async with anyio.create_task_group() as group:
        is_over = anyio.Event()

        async def play() -> None:
            await anyio.to_thread.run_sync(own.play, steps, exchange.request.json, abandon_on_cancel=True)
            is_over.set()

        group.start_soon(play)
        while frames or not is_over.is_set():
            if frames:
                await exchange.send(b"data: " + json.dumps(frames.pop(0)).encode() + b"\n\n")
            else:
                await anyio.sleep(0.002)


async def _finish(exchange: Exchange, frames: list[Message]) -> None:
    is_handshake = exchange.request.rpc == "initialize"
    session = "Mcp-Session-Id: s1\r\n" if is_handshake else ""
    if len(frames) == 1:
        await exchange.send(response(json.dumps(frames[0]).encode(), more=session))
    elif frames:
        await exchange.send(head(more=session), *(b"data: " + json.dumps(frame).encode() + b"\n\n" for frame in frames))
    else:
        await exchange.link.until_closed()
