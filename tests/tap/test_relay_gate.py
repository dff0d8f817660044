"""A relay takes what programs send, and nothing that a web page could; nothing that can be read in two ways."""

import re
import socket

import pytest

from tests.kit.peer import Link, peer
from tests.tap.relaying import answer, relaying, request, says, until_has
from tui_host.capture.exports.jsonl_export import record_line

POST = b"POST /v1/x HTTP/1.1\r\n"
JSON = b"Content-Type: application/json\r\n"
FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"
BROWSER = b"User-Agent: Mozilla/5.0 (X11)\r\n"
EMPTY = b"Content-Length: 0\r\n\r\n"
TWO = b"Content-Length: 2\r\n\r\n{}"
HERE = b"Host: 127.0.0.1:PORT\r\n"
SENT = POST + HERE + JSON
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"

REFUSED = {
    "a name that leads here": (403, POST + b"Host: evil.test:PORT\r\n" + JSON + TWO),
    "another port": (403, POST + b"Host: localhost:1\r\n" + JSON + TWO),
    "two hosts": (400, POST + HERE + b"Host: evil.test\r\n" + JSON + TWO),
    "a page without an origin": (403, POST + HERE + b"Origin: null\r\n" + JSON + TWO),
    "a page's origin": (403, POST + HERE + b"Origin: https://evil.test\r\n" + JSON + TWO),
    "a page that asks first": (403, b"OPTIONS /v1/x HTTP/1.1\r\n" + HERE + b"Origin: https://evil.test\r\n\r\n"),
    "a browser's text": (415, POST + HERE + BROWSER + b"Content-Type: text/plain\r\n" + TWO),
    "a page's form": (415, POST + HERE + b"Referer: http://a.test/\r\n" + FORM + TWO),
    "a page's body without a type": (415, POST + HERE + b"Sec-Fetch-Mode: no-cors\r\n" + TWO),
    "a whole URL": (400, b"GET http://internal.test/ HTTP/1.1\r\n" + HERE + b"\r\n"),
    "a star": (400, b"GET * HTTP/1.1\r\n" + HERE + b"\r\n"),
    "both framings": (400, SENT + b"Content-Length: 5\r\n" + CHUNKED + b"0\r\n\r\n"),
    "two lengths": (400, SENT + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} "),
    "another coding": (400, SENT + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    "chunks of HTTP/1.0": (400, b"POST / HTTP/1.0\r\n" + HERE + JSON + CHUNKED),
    "a folded host": (400, POST + b"Host:\r\n 127.0.0.1:PORT\r\n" + JSON + TWO),
    "a folded line": (400, SENT + b"X-A: 1\r\n b\r\n" + TWO),
    "a space before the colon": (400, SENT + b"Content-Length : 2\r\n\r\n{}"),
    "a bare carriage return": (400, SENT + b"X-A: 1\rX-B: 2\r\n" + EMPTY),
    "blanks that nobody gets through": (400, SENT + b"X-A:" + b" \t" * 100_000 + b"\rb\r\n" + EMPTY),
    "a head without end": (431, SENT + b"X-A: " + b"a" * (300 << 10)),
    "a chunk without a size": (400, SENT + CHUNKED + b"zz\r\n"),
    "a chunk that is too long": (400, SENT + CHUNKED + b"1\r\nab\r\n"),
}
TAKEN = {
    "a name of this machine": POST + b"Host: LocalHost:PORT\r\n" + JSON + TWO,
    "a name that was allowed": POST + b"Host: host.docker.internal:PORT\r\n" + JSON + TWO,
    "its own origin": SENT + b"Origin: http://127.0.0.1:PORT\r\n" + TWO,
    "an origin that was allowed": SENT + b"Origin: app://cherry\r\n" + TWO,
    "a credential": POST + HERE + BROWSER + b"Authorization: Bearer x\r\nContent-Type: multipart/form-data\r\n" + TWO,
    "what curl -d sends": POST + HERE + b"User-Agent: curl/8.5.0\r\nAccept: */*\r\n" + FORM + TWO,
    "a program's text": POST + HERE + b"Content-Type: text/plain\r\n" + TWO,
    "a program's body without a type": POST + HERE + TWO,
    "nothing to send": POST + HERE + EMPTY,
    "bare line feeds": SENT.replace(b"\r", b"") + b"Content-Length: 2\r\n\n{}",
    "what the server can do": b"OPTIONS * HTTP/1.1\r\n" + HERE + b"\r\n",
}


async def answering(stream: Link) -> None:
    while True:
        await stream.head()
        await stream.send(answer(b"ok"))


@pytest.mark.parametrize("name", REFUSED)
async def test_of_what_is_refused_the_upstream_sees_nothing(name: str) -> None:
    status, asking = REFUSED[name]
    async with peer(connection=answering) as up, relaying(up.origin) as relay, await relay.client() as client:
        await client.send(asking.replace(b"PORT", b"%d" % relay.port))
        answered = await until_has(client, b"}\n")
    top, _, body = answered.partition(b"\r\n\r\n")
    assert top.startswith(b"HTTP/1.1 %d " % status)
    assert b"Server: tui-host tap\r\n" in top
    assert b"tui-host tap: " in body
    assert b"access-control" not in top.lower()
    assert not any(b"/v1/x" in each and b"chunked" not in each for each in up.received)
    assert relay.told
    if status == 403 or name == "both framings":
        assert [record.kind for record in relay.records()] == ["request", "response", "chunk", "end"]
        assert (b"--allow-host evil.test" in body) == (name == "a name that leads here")
        assert relay.records()[0].malformed is None  # no byte of a body was looked at, so none is missing


@pytest.mark.parametrize("name", TAKEN)
async def test_what_programs_send_is_passed_on(name: str) -> None:
    asking = TAKEN[name]
    async with (
        peer(connection=says(answer(b"ok"), until=asking.splitlines(keepends=True)[-1])) as up,
        relaying(up.origin, allowed_origins=("app://cherry",), allowed_hosts=("Host.Docker.internal",)) as relay,
        await relay.client() as client,
    ):
        await client.send(asking.replace(b"PORT", b"%d" % relay.port))
        assert (await until_has(client, b"ok")).endswith(b"ok")
    sent = asking.replace(b"http://127.0.0.1:PORT", up.origin.encode())
    host = b"Host: %s" % up.origin.partition("://")[2].encode()
    assert bytes(up.received[0]) == re.sub(rb"Host: [^\r\n]*", host, sent)


async def test_what_belongs_to_one_hop_alone_goes_no_farther_and_nothing_is_added() -> None:
    async with peer(connection=answering) as up, relaying(up.origin) as relay:
        more = b"Proxy-Authorization: Basic x\r\nTE: trailers\r\nX-Mine: 1\r\nUpgrade: h2c\r\nHTTP2-Settings: y\r\n"
        asking = request(relay.host, more=more).replace(b"Connection: close", b"Connection: close, X-Mine, Upgrade")
        await relay.ask(asking)
    assert bytes(up.received[0]) == request(up.origin.partition("://")[2].encode(), more=b"HTTP2-Settings: y\r\n")


async def test_it_listens_on_the_loopback_interface_alone() -> None:
    async with relaying("http://127.0.0.1:1") as relay:
        others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
        for address in (*others, "127.0.0.2"):
            with socket.socket() as attempt:
                assert attempt.connect_ex((str(address), relay.port)) != 0


async def test_of_an_origin_that_is_refused_nothing_is_told_or_kept_but_scheme_host_and_port() -> None:
    async with relaying("http://127.0.0.1:1") as relay:
        answered = await relay.ask(request(relay.host, more=b"Origin: http://u:pass-1@evil.example:8/?key=key-1\r\n"))
    everything = answered + b"".join(map(record_line, relay.records())) + "".join(relay.told).encode()
    everything += b"".join(record.data for record in relay.records())
    assert b"Origin is http://evil.example:8: a web page" in everything
    assert not [secret for secret in (b"pass-1", b"key-1") if secret in everything]
