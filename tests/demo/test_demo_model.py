"""The demo model as a process, over real sockets."""

from __future__ import annotations

import json
import re
import signal
import socket
import time

import pytest

from tests.demo.running import Client, line_of, model_at, started
from tests.ports import unused_port
from tui_host.demo.model.serve import main


def test_its_first_line_says_where_it_is() -> None:
    with started("-m", "tui_host.demo.model") as process:
        line = line_of(process)
        url = line["url"]
        assert isinstance(url, str)
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        assert line == {
            "url": url,
            "dialects": {
                "openai": f"{url}/v1",
                "openai-responses": f"{url}/v1",
                **dict.fromkeys(("anthropic", "gemini", "ollama"), url),
            },
        }
        with Client(int(url.rpartition(":")[2])) as client:
            assert client.send("GET", "/").status == 200


def test_it_listens_on_the_port_that_it_is_given_and_says_when_it_cannot() -> None:
    port = unused_port()
    with (
        socket.create_server(("127.0.0.1", port)),
        started("-m", "tui_host.demo.model", "--port", str(port)) as process,
    ):
        output, errors = process.communicate(timeout=90)
        assert process.returncode == 1
        assert output == b""
        assert f"127.0.0.1:{port}".encode() in errors
        assert b"Traceback" not in errors
    with model_at("--port", str(port)) as (_, given):
        assert given == port


@pytest.mark.parametrize(
    "arguments", [["--port", "x"], ["--port", "70000"], ["--pace", "-1"], ["--pace", "nan"], ["more"]]
)
def test_a_wrong_use_ends_with_2(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    output, errors = capfd.readouterr()
    assert output == ""
    assert errors.startswith("tui-host: demo-model: ")


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0_at_once_also_in_mid_stream(kind: signal.Signals) -> None:
    with model_at("--pace", "9") as (process, port), Client(port) as client:
        assert client.begin("write 5000 words", stream=True).read(20)
        process.send_signal(kind)
        assert process.wait(90) == 0  # the answer takes some minutes


def test_it_ends_with_its_lifeline_also_in_mid_stream() -> None:
    with model_at("--lifeline", "--pace", "9") as (process, port), Client(port) as client:
        assert client.begin("write 5000 words", stream=True).read(20)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(90) == 0


def test_other_paths_and_methods_are_refused_in_json(client: Client) -> None:
    for method, path, status in (
        ("GET", "/v1/chat/completions", 405),
        ("POST", "/v1/models", 404),
        ("GET", "/favicon.ico", 404),
        ("POST", "/v1/completions", 404),
    ):
        reply = client.send(method, path)
        assert (reply.status, bool(reply.error["message"])) == (status, True)
    assert client.send("HEAD", "/").body == b""
    assert b"no AI" in client.send("GET", "/").body


def test_a_bad_body_is_refused_and_the_connection_goes_on(client: Client) -> None:
    for body in (b"", b"{", b"\x00" * 100):
        assert client.send("POST", "/v1/chat/completions", body).status == 400
    before = client.connection.sock
    assert client.ask("hello").status == 200
    assert client.connection.sock is before


def test_a_page_on_the_web_cannot_reach_it_under_its_own_name(client: Client) -> None:
    assert client.send("GET", "/", headers={"Host": "evil.test"}).status == 403
    for host in ("localhost", "localhost:80", "127.0.0.1:1", "[::1]:5"):
        assert client.send("GET", "/", headers={"Host": host}).status == 200


def _raw(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=90) as link:
        link.sendall(data)
        link.shutdown(socket.SHUT_WR)
        received = bytearray()
        while piece := link.recv(65_536):
            received += piece
        return bytes(received)


def test_what_is_no_http_ends_the_connection(model_port: int) -> None:
    assert _raw(model_port, b"hello there\r\n\r\n") == b""
    assert _raw(model_port, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nab") == b""


def test_bodies_in_chunks_and_an_expected_100_are_understood(model_port: int) -> None:
    body = json.dumps({"model": "openai", "messages": [{"role": "user", "content": "hello"}]}).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (body[:5], body[5:6], body[6:])) + b"0\r\n\r\n"
    assert _raw(model_port, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks).startswith(b"HTTP/1.1 200")
    with socket.create_connection(("127.0.0.1", model_port), timeout=90) as link:
        link.sendall(head + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body))
        assert link.recv(100).startswith(b"HTTP/1.1 100")
        link.sendall(body)
        assert link.recv(100).startswith(b"HTTP/1.1 200")


def test_clients_that_leave_in_mid_stream_harm_no_other() -> None:
    with model_at("--pace", "0.2") as (process, port):
        for _ in range(5):
            with Client(port) as client:
                response = client.begin("write 5000 words", stream=True)
                assert response.read(10)
                response.close()
        with Client(port) as client:
            assert client.ask("hello", stream=True).body.endswith(b"data: [DONE]\n\n")
        process.terminate()
        assert process.wait(90) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_the_pace_is_a_models_and_can_be_set() -> None:
    def seconds(pace: str, words: int) -> float:
        with model_at("--pace", pace) as (_, port), Client(port) as client:
            begun = time.monotonic()
            assert client.ask(f"write {words} words", stream=True).status == 200
            return time.monotonic() - begun

    one = seconds("1", 50)
    assert one > 0.3
    assert seconds("0", 4000) < 80 * one
