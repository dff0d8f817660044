"""A relay passes on what it gets, at once and to the byte, and records the same; it ends as either side does."""

import json
import socket
import struct
from itertools import count

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from tests.cases import first_values, some
from tests.interop.rawhttp import exchanges_in
from tests.kit.peer import Link, peer, until
from tests.tap.relaying import PLACE, answer, relaying, request, rest_of, says, until_has
from tui_host.capture.http.exchange_end import read_ending
from tui_host.capture.redact.redaction import Redactor
from tui_host.tap.exchanges import Connections, TappedExchanges
from tui_host.tap.relay import ASKED, CHUNK, GAP, REQUEST, RESPONSE, SENT
from tui_host.tap.ring import Item
from tui_host.tap.session import TapRecorder

BODY = b'{"model":"m","text":"\xe4\xb8\xad\xe6\x96\x87 \\u2028 \xff not utf-8","messages":[]}'
ANSWER = b'data: {"choices":[{"delta":{"content":"\xe4\xb8\xad"}}]}\r\n\r\ndata: [DONE]\n\n\x00\xff'


async def in_pieces(stream: Link | SocketStream, data: bytes, size: int) -> None:
    for at in range(0, len(data), size):
        await stream.send(data[at : at + size])


def chunked(body: bytes, size: int, trailers: bytes = b"") -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%X;ext=1\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n" + trailers + b"\r\n"


@pytest.mark.parametrize("size", first_values([1, 2, 3, 7, 16, 61, 4096]))
@pytest.mark.parametrize("framing", ["counted", "chunked"])
async def test_both_sides_get_what_the_other_sent_however_it_is_cut(size: int, framing: str) -> None:
    said = b"HTTP/1.1 200 OK\r\nX-Odd_Name: a  b\r\ncontent-TYPE: text/event-stream\r\n"
    if framing == "counted":
        said += b"Content-Length: %d\r\n\r\n" % len(ANSWER) + ANSWER
        asking = b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
    else:
        said += b"Transfer-Encoding: chunked\r\n\r\n" + chunked(ANSWER, size, b"X-Sum: 1\r\n")
        asking = b"Transfer-Encoding: chunked\r\n\r\n" + chunked(BODY, size)

    async def script(stream: Link) -> None:
        await says(until=asking[-20:])(stream)
        await in_pieces(stream, said, size)

    async with peer(connection=script) as up, relaying(up.origin) as relay:
        top = b"POST /v1/x?a=%%41&b=/../c HTTP/1.1\r\nHOST: %s\r\nx-b: 2\r\nX-A: 1\r\nx-b: 3\r\nContent-Type: application/json\r\n"
        async with await relay.client() as client:
            await in_pieces(client, top % relay.host + asking, size)
            assert await rest_of(client) == said
    assert bytes(up.received[0]) == top % up.origin.partition("://")[2].encode() + asking
    (passed,) = exchanges_in(bytes(up.received[0]), said)
    assert passed.request.body == BODY
    assert passed.response is not None
    assert (passed.response.body, passed.response.is_whole) == (ANSWER, True)
    asked = relay.records("request")[0]
    assert (asked.data, some(asked.head).url) == (BODY, f"{up.origin}/v1/x?a=%41&b=/../c")
    assert asked.place.session
    assert (relay.body(), relay.records()[-1].kind) == (ANSWER, "end")


async def test_one_connection_carries_many_requests_each_way_and_those_that_were_sent_ahead() -> None:
    numbers = count()

    async def script(stream: Link) -> None:
        while True:
            await stream.head()
            await stream.send(answer(b"%d" % next(numbers)))

    async with peer(connection=script) as up, relaying(up.origin) as relay, await relay.client() as client:
        asking = request(relay.host, body=b"").replace(b"Connection: close\r\n", b"")
        for wanted in (b"0", b"1"):
            await client.send(asking)
            assert (await until_has(client, b"\r\n\r\n" + wanted)).endswith(b"\r\n\r\n" + wanted)
        await client.send(asking + asking + request(relay.host, body=b""))
        assert [said[-1:] for said in (await rest_of(client)).split(b"HTTP/1.1 200 OK")[1:]] == [b"2", b"3", b"4"]
    assert (len(up.received), len(relay.records("end"))) == (1, 5)


CHUNKS = b"\r\n2\r\nok\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("method", "said", "body"),
    [
        (b"HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", b""),
        (b"GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", b""),
        (b"GET", b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nX  Y: \xff\r\nContent-Length: 2\r\n\r\nok", b"ok"),
        (b"GET", b"HTTP/1.0 200\r\n\r\nuntil the end", b"until the end"),
        (b"GET", b"HTTP/1.1 500 Internal Server Error\nContent-Length: 2\n\nno", b"no"),
        (b"PURGE", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n" + CHUNKS, b"ok"),
        (b"GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, Chunked\r\n" + CHUNKS, b"ok"),
        (b"GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n" + CHUNKS, b"ok"),
    ],
)
async def test_every_way_to_frame_an_answer_is_read(method: bytes, said: bytes, body: bytes) -> None:
    async with peer(connection=says(said)) as up, relaying(up.origin) as relay:
        assert await relay.ask(method + b" / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % relay.host) == said
    assert (relay.body(), relay.records()[-1].kind) == (body, "end")


@pytest.mark.parametrize("kind", [b"application/json", b"application/x-www-form-urlencoded"])
async def test_a_client_that_asks_before_it_sends_hears_the_upstreams_word(kind: bytes) -> None:
    async def script(stream: Link) -> None:
        await stream.head()
        await says(b"HTTP/1.1 100 Continue\r\n\r\n", until=b"")(stream)
        await says(answer(), until=b"body")(stream)

    async with peer(connection=script) as up, relaying(up.origin, is_mcp=True) as relay, await relay.client() as client:
        asked = request(relay.host, body=b"body", more=b"Expect: 100-continue\r\n")
        await client.send(asked.replace(b"application/json", kind)[:-4])
        assert await until_has(client, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await client.send(b"body")
        assert (await rest_of(client)).startswith(b"HTTP/1.1 200 OK\r\n")


async def test_a_websocket_passes_as_it_is() -> None:
    switch = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81"

    async def script(stream: Link) -> None:
        assert b"Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n" in await stream.head()
        await stream.send(switch)
        await says(b"\x05GET /", until=b"\x00\r\n\r\n\xff")(stream)

    async with peer(connection=script) as up, relaying(up.origin) as relay, await relay.client() as client:
        more = b"Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n"
        await client.send(b"GET /v1/realtime HTTP/1.1\r\nHost: %s\r\n" % relay.host + more)
        assert await until_has(client, b"\r\n\r\n\x81") == switch
        await client.send(b"\x00\r\n\r\n\xff")
        assert await rest_of(client) == b"\x05GET /"
    assert relay.body() == b"\x81\x05GET /"


SIZE, PART, KERNEL = 64 << 20, 256 << 10, 48 << 20
"""Bytes to send, in parts, and most of what the kernel's own buffers hold of them, of both connections."""


async def test_what_one_side_does_not_take_is_not_read_from_the_other() -> None:
    sent = 0

    async def script(stream: Link) -> None:
        nonlocal sent
        await stream.head()
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % SIZE)
        while sent < SIZE:
            await stream.send(bytes(PART))
            sent += PART

    async with peer(connection=script) as up, relaying(up.origin) as relay, await relay.client() as client:
        await client.send(request(relay.host))
        seen = -1
        with anyio.fail_after(90):
            while seen != sent or not seen:
                seen = sent
                await anyio.sleep(0.05)
        assert seen < KERNEL
        got = len(await client.receive())
        while got < SIZE:
            got += len(await client.receive(1 << 20))


# However one side ends, the other ends the same way; what the relay itself has to say is plainly its own.

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
WAYS = {"closed": anyio.EndOfStream, "reset": anyio.BrokenResourceError}  # what the other side gets


@pytest.mark.parametrize("way", WAYS)
async def test_a_client_that_goes_takes_the_upstreams_connection_with_it_in_the_same_way(way: str) -> None:
    async def script(stream: Link) -> None:
        await stream.head()
        await stream.send(CHUNKED)
        with pytest.raises(WAYS["reset"] if way == "reset" else (*WAYS.values(),)):
            await stream.receive()

    async with peer(connection=script) as up, relaying(up.origin) as relay:
        async with await relay.client() as client:
            await client.send(request(relay.host))
            await until_has(client, b"hello")
            if way == "reset":
                raw = client.extra(SocketAttribute.raw_socket)  # noqa: S610 - anyio's, not Django's
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await until(lambda: up.ended == 1 and len(relay.records()) == 4)
    assert (relay.body(), relay.ending().reason) == (b"hello", "closed by host")


@pytest.mark.parametrize(
    "wrong", [b"\r\nzz\r\nx", b"\r\nXX\r\n", b"\r\n0\r\nA: 1\r\nno trailer\r\n", b"3\r\nabc\r\n0\r\n\r\n"]
)
@pytest.mark.parametrize("size", [1, 1000])
async def test_what_an_upstream_frames_wrongly_passes_as_it_is_for_the_client_to_judge(wrong: bytes, size: int) -> None:
    said = CHUNKED[:-2] + wrong + b"and more"
    script = says(*(said[at : at + size] for at in range(0, len(said), size)))
    async with peer(connection=script) as up, relaying(up.origin) as relay:
        assert await relay.ask(request(relay.host)) == said
    assert (relay.body(), relay.ending().reason) == (b"hello", "cut by peer")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 20",
        b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nContent-Le",
        CHUNKED,
        HEAD + b"Content-Length: 9\r\n\r\nhello",
    ],
)
async def test_an_upstream_that_ends_in_the_middle_ends_the_client_in_the_same_way(said: bytes, way: str) -> None:
    taken = anyio.Event()

    async def script(stream: Link) -> None:
        await stream.head()
        await stream.send(said)
        await taken.wait()
        if way == "reset":
            stream.reset()

    async with peer(connection=script) as up, relaying(up.origin) as relay, await relay.client() as client:
        await client.send(request(relay.host))
        got = b""
        if b"\r\n\r\n" in said:
            got = await until_has(client, said[: said.index(b"\r\n\r\n") + 4])
        taken.set()
        with anyio.fail_after(90):
            while got != said:
                got += await client.receive()
            with pytest.raises(WAYS[way]):
                await client.receive()
    assert (relay.ending().reason, relay.ending().size) == ("cut by peer", 5 * said.endswith((b"hello", CHUNKED)))


@pytest.mark.parametrize("missing", [0, 5], ids=["all", "half"])
async def test_a_client_may_end_its_side_and_still_hears_the_answer(missing: int) -> None:
    async def script(stream: Link) -> None:
        await rest_of(stream)
        await stream.send(CHUNKED + b"0\r\n\r\n")

    async with peer(connection=script) as up, relaying(up.origin) as relay, await relay.client() as client:
        asking = request(relay.host, body=b"0123456789")
        await client.send(asking[: len(asking) - missing])
        await client.send_eof()
        assert (await rest_of(client)).endswith(b"hello\r\n0\r\n\r\n")
    assert relay.ending().reason == "complete"


@pytest.mark.parametrize(
    "said",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno header\r\n\r\n",
        pytest.param(b"HTTP/1.1 200 OK\r\nX-A:" + b" \t" * 100_000 + b"\rb\r\n\r\n", id="blanks in a header"),
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        pytest.param(b"", id="nobody is there"),
    ],
)
async def test_what_the_upstream_says_that_is_no_answer_is_told_as_the_taps_own_words(said: bytes) -> None:
    async with (
        peer(connection=says(said, waits=True)) as up,
        relaying(up.origin if said else "http://127.0.0.1:1") as relay,
        await relay.client() as client,
    ):
        await client.send(request(relay.host))
        answered = await until_has(client, b"}\n")
        assert relay.ending().reason == "not connected"
    top, _, body = answered.partition(b"\r\n\r\n")
    assert top.startswith(b"HTTP/1.1 502 Bad Gateway\r\nServer: tui-host tap\r\nX-Tui-Host-Tap: ")
    assert json.loads(body)["error"]["message"].startswith("tui-host tap: ")


@pytest.mark.parametrize("unasked", [b"", answer(b"poison")], ids=["ends", "says more"])
async def test_an_upstream_that_ends_or_speaks_between_requests_closes_the_clients_connection(unasked: bytes) -> None:
    script = says(answer() + unasked, waits=bool(unasked))
    async with peer(connection=script) as up, relaying(up.origin) as relay, await relay.client() as client:
        await client.send(request(relay.host).replace(b"Connection: close\r\n", b""))
        assert (await rest_of(client)).endswith(b"{}")


def test_what_a_gap_or_the_end_cuts_says_so_and_what_follows_a_gap_of_the_same_exchange_is_not_kept() -> None:
    recorder = TapRecorder(None, Redactor(), capture="c", kind="tap")
    exchanges = TappedExchanges(recorder, Connections(recorder, "peer", is_mcp=False), PLACE)
    head = b"http://127.0.0.1:1\nPOST /v1 HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n"
    items = [(REQUEST, 3, head), (SENT, 3, b"ab"), (ASKED, 3, b""), (RESPONSE, 3, HEAD + b"\r\n"), (CHUNK, 3, b"one")]
    items += [(GAP, 0, b"5000"), (CHUNK, 3, b"two"), (REQUEST, 4, head)]
    for at, (kind, number, data) in enumerate(items):
        exchanges.take(Item(kind, number, 1000 + at, data))
    exchanges.finish()
    records = recorder.since(0)
    assert [record.data for record in records if record.kind in {"request", "chunk"}] == [b"ab", b"one", b""]
    assert records[0].malformed == "the body is kept up to 2 of its 8 bytes"
    assert [read_ending(record.data).error for record in records if record.kind == "error"] == [
        "not recorded to its end: 5,000 bytes of the traffic came too fast",
        "the tap was ended",
    ]
    assert [record.mono_ns for record in records][:3] == [1002, 1003, 1004]
