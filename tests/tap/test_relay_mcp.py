"""A relay before an MCP server: what the server names as its own leads back, and its messages are found in the bodies."""

import pytest

from tests.kit.peer import Link, peer
from tests.tap.relaying import answer, origin_of, relaying, request, until_has
from tui_host.capture.exports.jsonl_export import record_line

CALL = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}'
RESULT = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}'
GET = b"GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
NAMED = (b"ORIGIN/messages?session_id=1", b"/messages?session_id=1", b"https://other.example/m", b"ORIGINX/m")


@pytest.mark.parametrize("named", [*NAMED, b"http://[x/m", b"//["])
async def test_an_endpoint_that_is_announced_leads_back_and_is_recorded_as_it_was(named: bytes) -> None:
    said = b""

    async def script(stream: Link) -> None:
        nonlocal said
        origin = origin_of(await stream.head())
        said = b": hello\r\n\r\nevent: endpoint\r\ndata: %s\r\n\r\n" % named.replace(b"ORIGIN", origin)
        said += b"event: x\ndata: %s/later\n\ndata: " % origin + RESULT % 1 + b"\n\n"
        await stream.send(STREAM)
        for at in range(0, len(said), 5):
            await stream.send(said[at : at + 5])

    async with peer(connection=script) as up, relaying(up.origin + "/sse", is_mcp=True) as relay:
        answered = await relay.ask(GET % (b"/sse", relay.host))
    origin = up.origin.encode()
    changed = named.replace(b"ORIGIN/", relay.origin.encode() + b"/").replace(b"ORIGIN", origin)
    before = b"data: " + named.replace(b"ORIGIN", origin)
    assert answered.partition(b"\r\n\r\n")[2] == said.replace(before, b"data: " + changed, 1)
    assert relay.body() == said
    assert [record.data for record in relay.records("frame")] == [RESULT % 1]
    assert relay.told == []


async def test_two_clients_with_the_same_ids_are_two_connections() -> None:
    sessions = iter((b"one", b"two"))

    async def script(stream: Link) -> None:
        asked = await stream.request()
        if b"initialize" in asked.body:
            await stream.send(answer(RESULT % 0, more=b"Mcp-Session-Id: %s\r\n" % next(sessions)))
        else:
            await stream.send(answer(RESULT % 7))

    async with peer(connection=script) as up, relaying(up.origin + "/mcp", is_mcp=True) as relay:
        begun = [(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}', b"")] * 2
        for body, more in (*begun, *((CALL % 7, b"Mcp-Session-Id: %s\r\n" % session) for session in (b"two", b"one"))):
            await relay.ask(request(relay.host, target=b"/mcp", body=body, more=more))
    frames = [(record.connection, record.malformed) for record in relay.records("frame")]
    assert frames == [(f"srv#{number}", None) for number in (1, 1, 2, 2, 2, 2, 1, 1)]


async def test_messages_to_an_announced_endpoint_belong_to_the_stream_that_announced_it() -> None:
    """The session's id passes, and is not kept, as the one in the header."""
    session, streams = b"0123456789abcdef0123456789abcde", list[Link]()

    async def script(stream: Link) -> None:
        if not (await stream.head()).startswith(b"GET"):
            await stream.send(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
            return
        streams.append(stream)
        await stream.send(STREAM + b"event: endpoint\ndata: /messages/?sessionId=%s%d\n\n" % (session, len(streams)))
        await stream.receive()

    async with (
        peer(connection=script) as up,
        relaying(up.origin + "/sse", is_mcp=True) as relay,
        await relay.client() as first,
        await relay.client() as second,
    ):
        for client in (first, second):
            await client.send(GET % (b"/sse", relay.host))
            await until_has(client, b"data: /messages/?")
        for number in (2, 1):
            await relay.ask(request(relay.host, target=b"/messages/?sessionId=%s%d" % (session, number), body=CALL % 1))
    assert [record.connection for record in relay.records("frame")] == ["srv#2", "srv#1"]
    assert [asked.split()[1].rpartition(b"=")[2][:-1] for asked in up.received[2:]] == [session] * 2
    kept = b"".join(map(record_line, relay.records()))
    assert session not in kept
    assert kept.count("=⟨secret:sessionId".encode()) == 4
