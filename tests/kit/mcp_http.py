"""The scripted MCP server over HTTP: an answer for `peer(always=…, path="/mcp")`, which plays the scripts of `mcp_server.py`.

    async with peer(always=mcp_http({"tools": [tool("echo")]}), path="/mcp") as there:      # there.url is the server's
    mcp_http(script, **{"tools/call": hangs(head())})                                        # a request answered by hand, or
    mcp_http(script, GET=b"HTTP/1.1 405 Method Not Allowed\\r\\nContent-Length: 0\\r\\n\\r\\n")      # a method of HTTP

Each request sets off one message, which is sent as JSON. In the handshake era there is a session, `s1`.
"""

import json
from collections.abc import Mapping

from tests.kit.mcp_server import McpScript, Message
from tests.kit.peer import Answer, Exchange, Script, give, response


def mcp_http(script: Mapping[str, object], **by_hand: Answer) -> Script:
    state = McpScript(script)

    async def answer(exchange: Exchange) -> None:
        request = exchange.request
        given = by_hand.get(request.rpc) or by_hand.get(request.method)
        if given is not None:
            await give(given, exchange)
        elif request.method != "POST":
            await exchange.send(response(b"", status="405 Method Not Allowed", kind=""))
        elif not request.rpc or "id" not in request.json:
            await exchange.send(response(b"", status="202 Accepted", kind=""))
        else:
            frames: list[Message] = []
            state.send = frames.append
            state.play(state.steps(request.json), request.json)
            (frame,) = frames
            session = "Mcp-Session-Id: s1\r\n" if request.rpc == "initialize" else ""
            await exchange.send(response(json.dumps(frame).encode(), more=session))

    return answer
