"""The demo model as a process, in five dialects over real sockets, and in each tool protocol with our host."""

import json
import os
import re
import signal
import socket
import time
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import contextmanager

import httpx
import pytest

from tests.cli.desk import rule
from tests.demo.running import line_of, model_at, started
from tests.host.test_host import asked, serving, settled
from tests.kit.app import fast
from tests.kit.bodies import DIALECTS as WRITERS
from tests.kit.bodies import User
from tests.ports import unused_port
from tui_host.capture.json.narrowing import items, mapping
from tui_host.demo.model.__main__ import main
from tui_host.demo.servers.__main__ import main as servers
from tui_host.errors import JSON
from tui_host.host.host import Host
from tui_host.settings.load import Overrides, load


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


def _at(value: JSON, *places: str | int) -> JSON:
    for place in places:
        value = mapping(value).get(place) if isinstance(place, str) else next(iter(items(value)[place:]), None)
    return value


PARTS = ("candidates", 0, "content", "parts", 0, "text")
DIALECTS: dict[str, tuple[tuple[str | int, ...], tuple[str | int, ...], dict[str, JSON]]] = {
    "openai": (("choices", 0, "message", "content"), ("choices", 0, "delta", "content"), {"max_tokens": 16}),
    "openai-responses": (("output", 0, "content", 0, "text"), ("delta",), {"max_output_tokens": 16}),
    "anthropic": (("content", 0, "text"), ("delta", "text"), {"max_tokens": 16}),
    "gemini": (PARTS, PARTS, {"generationConfig": {"maxOutputTokens": 16}}),
    "ollama": (("message", "content"), ("message", "content"), {"options": {"num_predict": 16}}),
}
"""Where the text of an answer stands, whole and in a piece of a stream, and what limits it."""


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_answers_refuses_and_breaks_off_in_the_vendors_form(
    name: str, client: httpx.Client, model_port: int
) -> None:
    def sent(
        text: str, *, to: httpx.Client = client, stream: bool = True, more: dict[str, JSON] | None = None
    ) -> httpx.Response:
        body = {**json.loads(form.request([User(text)], model=name)), "stream": stream, **(more or {})}
        return to.post(path if stream else path_of_whole, json=body)

    form, (place, piece, limit) = WRITERS[name], DIALECTS[name]
    path = form.path.replace("gemini-x", "gemini")
    path_of_whole = path.replace("streamGenerateContent?alt=sse", "generateContent")
    whole, stream = (sent("hello", stream=stream) for stream in (False, True))
    assert (whole.status_code, whole.headers["content-type"]) == (200, "application/json")
    kind = "application/x-ndjson" if name == "ollama" else "text/event-stream"
    assert stream.headers["content-type"].startswith(kind)
    answer = str(_at(whole.json(), *place))
    lines = [line.removeprefix("data: ") for line in stream.text.splitlines()]
    events: list[JSON] = [json.loads(line) for line in lines if line.startswith("{")]
    # In Responses, `delta` is the text itself; in the others it stands further inside.
    assert answer == "".join(found for event in events if isinstance(found := _at(event, *piece), str))
    assert answer.startswith("I am the demo model")
    cut = sent("write 500 words", stream=False, more=limit)
    assert 0 < len(str(_at(cut.json(), *place))) < 200

    for status in (401, 429, 500, 529):
        reply = sent(f"error {status}")
        error = _at(reply.json(), "error")
        message = error if isinstance(error, str) else _at(error, "message")
        assert (reply.status_code, message) == (status, f"Error {status}. (The demo model was asked for it.)")
    assert sent(f"error 503 once in {name}").status_code == 503
    assert sent(f"error 503 once in {name}").status_code == 200
    assert "The server had an error in mid-stream." in sent("error stream").text
    with client_of(model_port) as another, pytest.raises(httpx.RemoteProtocolError):
        sent("error cut", to=another)
    with client_of(model_port, timeout=0.2) as another, pytest.raises(httpx.ReadTimeout):
        sent("error hang", to=another)

    for target, body, status, words in (
        (path, b"{", 400, "not valid JSON"),
        (path, b"[]", 400, "must be a JSON object"),
        (path.replace("gemini", "other"), b'{"model": "other"}', 404, 'The model \\"other\\" was not found'),
    ):
        reply = client.post(target, content=body)
        assert (reply.status_code, words in reply.text) == (status, True)


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


def test_a_wrong_use_ends_with_2(capfd: pytest.CaptureFixture[str]) -> None:
    for wrong in ("", "time", "math --port x"):
        with pytest.raises(SystemExit, match="2"):
            servers(wrong.split())
    capfd.readouterr()
    for wrong in ("--port x", "--port 70000", "--pace -1", "--pace nan", "more"):
        with pytest.raises(SystemExit, match="2"):
            main(wrong.split())
        output, errors = capfd.readouterr()
        assert output == ""
        assert errors.startswith("tui-host: demo-model: ")


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


def test_the_pace_is_a_models_and_can_be_set() -> None:
    def seconds(pace: str, words: int) -> float:
        with model_at("--pace", pace) as (_, port):
            begun = time.monotonic()
            with writing(port, words) as stream:
                stream.read()
            return time.monotonic() - begun

    one = seconds("1", 50)
    assert one > 0.3
    assert seconds("0", 4000) < 80 * one


@pytest.fixture(scope="module")
async def host(tmp_path_factory: pytest.TempPathFactory, model_port: int) -> AsyncGenerator[Host]:
    folder = tmp_path_factory.mktemp("host")
    own = f'{fast(f"http://127.0.0.1:{model_port}/v1")}[servers.weather]\nbundled = "weather"\n'
    (folder / "config.toml").write_text(own + rule("*.*", "allow"))
    async with serving(load(Overrides(config=folder / "config.toml", data_dir=folder), os.environ)) as host:
        await settled(host)
        yield host


@pytest.mark.parametrize("protocol", ["cline", "cherry", "json", "function", "react", "hermes", "hub", "hub+cline"])
async def test_our_host_and_the_demo_model_understand_each_other(host: Host, protocol: str) -> None:
    session = host.sessions.new()
    session.protocol = protocol
    result = await asked(host, session, "weather in Paris and Tokyo")
    calls = [outcome.to_json() for outcome in result.outcomes]
    assert [(call["tool"], call["asked"]) for call in calls] == [
        ("get_forecast", {"city": "Paris"}),
        ("get_forecast", {"city": "Tokyo"}),
    ]
    assert re.search(r"Paris: 17 °C.*Tokyo: 21 °C", str(result.answer), re.DOTALL)
