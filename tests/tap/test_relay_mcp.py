"""A relay before an MCP server: what the server names as its own leads back, and its messages are found in the bodies."""

from __future__ import annotations

import json

import anyio
import pytest

from tests.interop.rawhttp import exchanges_in
from tests.kit.peer import Link, peer
from tests.tap.relaying import Relaying, answer, origin_of, relaying, request, until_has
from tui_host.capture.exports.jsonl_export import record_line
from tui_host.tap.http.logins import EndpointEvent

CALL = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}'
RESULT = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}'
INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}'
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


U, T = b"http://a:1/m?s=1", b"http://b/m?s=1"


@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize(
    ("stream", "is_changed"),
    [
        (b": hi\n\n: again\n\nid: 3\nevent: endpoint\nretry: 5\ndata: @U\n\ndata: @U\n\n", True),
        (b"event:endpoint\ndata:@U\n\nevent: endpoint\ndata: @U\n\n", True),
        (b"event: message\ndata: @U\n\ndata: @U\n\n", False),
        (b"event: endpoint\ndata: @U", False),
    ],
)
def test_the_endpoint_that_begins_a_stream_is_found_and_nothing_else_is_touched(
    stream: bytes, ends: bytes, *, is_changed: bool
) -> None:
    stream = stream.replace(b"\n", ends)
    wanted = (stream.replace(b"@U", T, 1) if is_changed else stream).replace(b"@U", U)
    stream = stream.replace(b"@U", U)
    for size in (1, 2, 3, 5, 8, 13, len(stream)):
        event = EndpointEvent(lambda url: url.replace(b"//a:1/", b"//b/"))
        pieces = [event.feed(stream[at : at + size], is_last=False) for at in range(0, len(stream), size)]
        assert b"".join([*pieces, event.feed(b"", is_last=True)]) == wanted, size
        assert event.url == (U if is_changed else b"")


async def test_a_servers_metadata_names_what_the_client_was_given_wherever_the_server_says_it_is() -> None:
    def document(origin: str) -> bytes:
        return json.dumps({"resource": f"{origin}/mcp", "authorization_servers": [origin], "a": f"{origin}/a"}).encode()

    async def script(stream: Link) -> None:
        asked = await stream.head()
        origin = origin_of(asked).decode()
        if asked.startswith(b"GET"):
            assert (b"Accept-Encoding" in asked) is (b"/other" in asked)
            await stream.send(answer(document(origin)))
            return
        challenge = (
            f'Bearer error="x", resource_metadata="{origin}/.well-known/oauth-protected-resource/mcp", scope="a"'
        )
        more = f"WWW-Authenticate: {challenge}\r\nLocation: {origin}/mcp/\r\n".encode()
        await stream.send(answer(b"", status=b"401 Unauthorized", more=more))

    async with peer(connection=script) as up, relaying(up.origin + "/mcp", is_mcp=True) as relay:
        refused = await relay.ask(request(relay.host, target=b"/mcp", body=INITIALIZE))
        plain = GET.replace(b"Accept: text/event-stream\r\n", b"")
        for target in (b"/.well-known/oauth-protected-resource/mcp", b"/other"):
            (passed,) = exchanges_in(b"GET / HTTP/1.1\r\n\r\n", await relay.ask(plain % (target, relay.host)))
            assert passed.response is not None
            own = up.origin if target == b"/other" else relay.origin
            changed = {"resource": f"{own}/mcp", "authorization_servers": [own], "a": f"{up.origin}/a"}
            assert json.loads(passed.response.body) == changed
    assert b'metadata="%s/.well-known/oauth-protected-resource/mcp", scope="a"' % relay.origin.encode() in refused
    assert b"Location: %s/mcp/\r\n" % relay.origin.encode() in refused
    assert relay.body() == document(up.origin) * 2
    assert relay.origin not in repr([record.head for record in relay.records("response")])


async def test_two_clients_with_the_same_ids_are_two_connections() -> None:
    sessions = iter((b"one", b"two"))

    async def script(stream: Link) -> None:
        asked = await stream.request()
        if b"initialize" in asked.body:
            await stream.send(answer(RESULT % 0, more=b"Mcp-Session-Id: %s\r\n" % next(sessions)))
        else:
            await stream.send(answer(RESULT % 7))

    async with peer(connection=script) as up, relaying(up.origin + "/mcp", is_mcp=True) as relay:
        for body, more in (
            (INITIALIZE, b""),
            (INITIALIZE, b""),
            (CALL % 7, b"Mcp-Session-Id: two\r\n"),
            (CALL % 7, b"Mcp-Session-Id: one\r\n"),
        ):
            await relay.ask(request(relay.host, target=b"/mcp", body=body, more=more))
    frames = [(record.connection, record.malformed) for record in relay.records("frame")]
    assert frames == [(f"srv#{number}", None) for number in (1, 1, 2, 2, 2, 2, 1, 1)]


@pytest.mark.parametrize("session", [b"", b"0123456789abcdef0123456789abcde"])
@pytest.mark.parametrize("key", [b"session_id", b"sessionId"])
async def test_messages_to_an_announced_endpoint_belong_to_the_stream_that_announced_it(
    session: bytes, key: bytes
) -> None:
    """The session's id passes, and where it is one it is not kept, as the one in the header."""
    streams: list[Link] = []

    async def script(stream: Link) -> None:
        if not (await stream.head()).startswith(b"GET"):
            await stream.send(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
            return
        streams.append(stream)
        event = b"event: endpoint\ndata: /messages/?%s=%s%d\n\n" % (key, session, len(streams))
        await stream.send(STREAM + event)
        await stream.receive()

    async def listen(relay: Relaying, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        async with await relay.client() as client:
            await client.send(GET % (b"/sse", relay.host))
            await until_has(client, b"data: /messages/?")
            task_status.started()
            await client.receive()

    async with (
        peer(connection=script) as up,
        relaying(up.origin + "/sse", is_mcp=True) as relay,
        anyio.create_task_group() as group,
    ):
        await group.start(listen, relay)
        await group.start(listen, relay)
        for number in (2, 1):
            target = b"/messages/?%s=%s%d" % (key, session, number)
            await relay.ask(request(relay.host, target=target, body=CALL % 1))
        group.cancel_scope.cancel()
    assert [record.connection for record in relay.records("frame")] == ["srv#2", "srv#1"]
    if session:
        assert [asked.split()[1].rpartition(b"=")[2][:-1] for asked in up.received[2:]] == [session] * 2
        kept = b"".join(map(record_line, relay.records()))
        assert session not in kept
        assert kept.count("=⟨secret:".encode() + key) == 4
