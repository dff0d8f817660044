"""A relay before an MCP server: what the server names as its own leads back, and its messages are found in the bodies."""

from __future__ import annotations

import json

import anyio
import pytest

from tests.tap.relaying import Kept, Relaying, answer, peer, relaying, request, rest_of
from tui_host.tap.rewriting import EndpointFilter

CALL = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}'
RESULT = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}'
INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}'
GET = b"GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


@pytest.mark.parametrize(
    "named", [b"ORIGIN/messages?session_id=1", b"/messages?session_id=1", b"https://other.example/m", b"ORIGINX/m"]
)
async def test_an_endpoint_that_is_announced_leads_back_and_is_recorded_as_it_was(named: bytes) -> None:
    said = b""

    async def script(stream: Kept) -> None:
        nonlocal said
        asked = await stream.head()
        origin = b"http://" + asked.partition(b"Host: ")[2].partition(b"\r\n")[0]
        said = b": hello\r\n\r\nevent: endpoint\r\ndata: %s\r\n\r\n" % named.replace(b"ORIGIN", origin)
        said += b"event: endpoint\ndata: %s/later\n\ndata: " % origin + RESULT % 1 + b"\n\n"
        await stream.send(STREAM + b"\r\n")
        for at in range(0, len(said), 5):
            await stream.send(said[at : at + 5])

    async with peer(script) as up, relaying(up.origin + "/sse", is_mcp=True) as relay:
        answered = await relay.ask(GET % (b"/sse", relay.host))
    origin = up.origin.encode()
    changed = named.replace(b"ORIGIN/", relay.origin.encode() + b"/").replace(b"ORIGIN", origin)
    before = b"data: " + named.replace(b"ORIGIN", origin)
    assert answered.partition(b"\r\n\r\n")[2] == said.replace(before, b"data: " + changed, 1)
    assert relay.body() == said
    assert [record.draft.data for record in relay.records("frame")] == [RESULT % 1]


@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
def test_an_endpoint_is_found_however_its_event_is_cut_and_nothing_else_is_touched(ends: bytes) -> None:
    stream = ends.join(
        [
            b"retry: 5",
            b"",
            b"event: endpoint",
            b"data: http://a/m",
            b"",
            b"event: message",
            b"data: http://a/m",
            b"",
            b"",
        ]
    )
    wanted = stream.replace(b"http://a/m", b"http://b/m", 1)
    for size in range(1, len(stream) + 1):
        one = EndpointFilter(lambda url: url.replace(b"//a", b"//b"))
        pieces = [one.feed(stream[at : at + size]) for at in range(0, len(stream), size)]
        assert b"".join([*pieces, one.finish()]) == wanted, size


@pytest.mark.parametrize(
    "stream", [b"id: 1\ndata:\n\nevent: endpoint\ndata: http://a/m\n\n", b"data: 1\n\n: x", b"event: endpo", b""]
)
def test_a_stream_that_begins_with_another_event_is_none_that_names_an_endpoint(stream: bytes) -> None:
    one = EndpointFilter(lambda url: url.replace(b"//a", b"//b"))
    assert one.feed(stream) + one.finish() == stream


async def test_a_servers_metadata_names_what_the_client_was_given_so_that_it_signs_in() -> None:
    def document(origin: str) -> bytes:
        return json.dumps({"resource": f"{origin}/mcp", "authorization_servers": [f"{origin}"]}).encode()

    async def script(stream: Kept) -> None:
        asked = await stream.head()
        origin = "http://" + asked.partition(b"Host: ")[2].partition(b"\r\n")[0].decode()
        if b"/.well-known/" in asked:
            assert b"Accept-Encoding" not in asked
            await stream.send(answer(document(origin)))
            return
        challenge = (
            f'Bearer error="x", resource_metadata="{origin}/.well-known/oauth-protected-resource/mcp", scope="a"'
        )
        moved = f"Location: {origin}/mcp/\r\n"
        more = f"WWW-Authenticate: {challenge}\r\n{moved}".encode()
        await stream.send(answer(b"", status=b"401 Unauthorized", more=more))

    async with peer(script) as up, relaying(up.origin + "/mcp", is_mcp=True) as relay:
        refused = await relay.ask(request(relay.host, target=b"/mcp", body=INITIALIZE))
        answered = await relay.ask(GET % (b"/.well-known/oauth-protected-resource/mcp", relay.host))
    own = relay.origin.encode()
    assert b'resource_metadata="%s/.well-known/oauth-protected-resource/mcp", scope="a"' % own in refused
    assert b"Location: %s/mcp/\r\n" % own in refused
    body = answered.partition(b"\r\n\r\n")[2].partition(b"\r\n")[2].partition(b"\r\n")[0]
    assert json.loads(body) == {"resource": f"{relay.origin}/mcp", "authorization_servers": [up.origin]}
    assert relay.body() == document(up.origin)
    assert relay.origin not in repr([record.draft.head for record in relay.records("response")])


async def test_what_a_login_is_made_of_goes_through_and_is_not_kept() -> None:
    tokens = b'{"access_token": "abc", "token_type": "Bearer", "refresh_token":"d\\"ef", "expires_in": 3600}'

    async def script(stream: Kept) -> None:
        await stream.head()
        await stream.send(answer(tokens))

    form = b"grant_type=authorization_code&code=xyz%2F1&code_verifier=verify&client_id=me&resource=http%3A%2F%2Fx"
    async with peer(script) as up, relaying(up.origin + "/mcp", is_mcp=True) as relay:
        asking = request(relay.host, target=b"/token", body=form)
        asking = asking.replace(b"application/json", b"application/x-www-form-urlencoded")
        assert (await relay.ask(asking)).endswith(tokens)
    assert form in up.received[0]
    asked = relay.records("request")[0].draft
    assert (
        asked.data
        == (
            "grant_type=authorization_code&code=⟨secret:code⟩&code_verifier=⟨secret:code_verifier⟩&client_id=me"
            "&resource=http%3A%2F%2Fx"
        ).encode()
    )
    assert (
        relay.body()
        == (
            '{"access_token": "⟨secret:access_token⟩", "token_type": "Bearer", '
            '"refresh_token":"⟨secret:refresh_token⟩", "expires_in": 3600}'
        ).encode()
    )
    assert [(each.name, each.length) for each in relay.records("chunk")[0].draft.redacted] == [
        ("access_token", 3),
        ("refresh_token", 5),
    ]


async def test_two_clients_with_the_same_ids_are_two_connections() -> None:
    sessions = iter((b"one", b"two"))

    async def script(stream: Kept) -> None:
        asked = await stream.head()
        while not asked.endswith(b"}}"):
            asked += await stream.receive()
        if b"initialize" in asked:
            await stream.send(answer(RESULT % 0, more=b"Mcp-Session-Id: %s\r\n" % next(sessions)))
        else:
            await stream.send(answer(RESULT % 7))

    async with peer(script) as up, relaying(up.origin + "/mcp", is_mcp=True) as relay:
        for _ in range(2):
            await relay.ask(request(relay.host, target=b"/mcp", body=INITIALIZE + b" " * 0))
        for session in (b"two", b"one"):
            more = b"Mcp-Session-Id: %s\r\n" % session
            await relay.ask(request(relay.host, target=b"/mcp", body=CALL % 7, more=more))
    frames = [(record.draft.connection, record.draft.malformed) for record in relay.records("frame")]
    assert frames == [(f"srv#{number}", None) for number in (1, 1, 2, 2, 2, 2, 1, 1)]


async def test_messages_to_an_announced_endpoint_belong_to_the_stream_that_announced_it() -> None:
    streams: list[Kept] = []

    async def script(stream: Kept) -> None:
        asked = await stream.head()
        if asked.startswith(b"GET"):
            streams.append(stream)
            await stream.send(STREAM + b"\r\nevent: endpoint\ndata: /messages/?session_id=%d\n\n" % len(streams))
            await stream.receive()
        else:
            await stream.send(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")

    async def listen(relay: Relaying, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        async with await relay.client() as client:
            await client.send(GET % (b"/sse", relay.host))
            data = b""
            while b"session_id" not in data:
                data += await client.receive()
            task_status.started()
            await rest_of(client)

    async with (
        peer(script) as up,
        relaying(up.origin + "/sse", is_mcp=True) as relay,
        anyio.create_task_group() as group,
    ):
        await group.start(listen, relay)
        await group.start(listen, relay)
        for number in (2, 1):
            target = b"/messages/?session_id=%d" % number
            await relay.ask(request(relay.host, target=target, body=CALL % 1))
        group.cancel_scope.cancel()
    assert [record.draft.connection for record in relay.records("frame")] == ["srv#2", "srv#1"]
