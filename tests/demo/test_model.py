"""The demo model as a process: where it listens, what it refuses, and how it ends."""

import signal
import socket
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import httpx
import pytest

from tests.demo.running import line_of, model_at, started
from tests.kit.bodies import DIALECTS as WRITERS
from tests.kit.bodies import User
from tests.ports import unused_port


@pytest.fixture(scope="module")
def model_port() -> Iterator[int]:
    with model_at("--pace", "0") as (process, port):
        yield port
        process.terminate()
        output, errors = process.communicate(timeout=90)
        assert (process.returncode, output, errors) == (0, b"", b"")


def client_of(port: int, *, timeout: float = 90) -> httpx.Client:
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=timeout, trust_env=False)


@pytest.fixture
def client(model_port: int) -> Iterator[httpx.Client]:
    with client_of(model_port) as client:
        yield client


def test_it_listens_on_the_port_that_it_is_given_and_says_when_it_cannot() -> None:
    port = unused_port()
    words = ("-m", "tui_host.demo.model", "--port", str(port))
    with socket.create_server(("127.0.0.1", port)), started(*words) as process:
        output, errors = process.communicate(timeout=90)
        assert (process.returncode, output) == (1, b"")
        assert f"cannot listen on 127.0.0.1:{port}".encode() in errors
    with started(*words) as process:  # its first line says where it is
        line, url = line_of(process), f"http://127.0.0.1:{port}"
    others = dict.fromkeys(("anthropic", "gemini", "ollama"), url)
    assert line["url"] == url
    assert line["dialects"] == {"openai": f"{url}/v1", "openai-responses": f"{url}/v1", **others}


@contextmanager
def writing(port: int, words: int) -> Generator[httpx.Response]:
    body = WRITERS["openai"].request([User(f"write {words} words")], model="openai")
    with client_of(port) as client, client.stream("POST", "/v1/chat/completions", content=body) as stream:
        yield stream


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, "lifeline"])
def test_a_signal_or_its_lifeline_ends_it_with_0_also_in_mid_stream(ending: signal.Signals | str) -> None:
    with model_at("--lifeline", "--pace", "9") as (process, port), writing(port, 5000) as stream:
        assert next(stream.iter_raw(20))
        if isinstance(ending, signal.Signals):
            process.send_signal(ending)
        else:
            assert process.stdin is not None
            process.stdin.close()
        assert process.wait(90) == 0  # the answer takes some minutes


def test_other_paths_and_names_are_refused_in_json(client: httpx.Client) -> None:
    for method, path, headers, status in (
        ("GET", "/v1/chat/completions", {}, 404),
        ("POST", "/v1/models", {}, 404),
        ("GET", "/v1/models", {}, 200),
        ("GET", "/v1/models", {"Host": "evil.test"}, 403),
        ("GET", "/v1/models", {"Host": "localhost:80"}, 200),
    ):
        reply = client.request(method, path, headers=headers)
        assert (reply.status_code, "error" in reply.json()) == (status, status != 200)
