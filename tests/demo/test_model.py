"""The demo model as a process, in five dialects over real sockets, and in each tool protocol with our host."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.demo.running import Client, Reply, line_of, model_at, started
from tests.kit.program import Programs, zygote
from tests.ports import unused_port
from tui_host.demo.model.__main__ import main
from tui_host.errors import JSON


@pytest.fixture(scope="module")
def model_port() -> Iterator[int]:
    with model_at("--pace", "0") as (process, port):
        yield port
        process.terminate()
        output, errors = process.communicate(timeout=90)
        assert (process.returncode, output, errors) == (0, b"", b"")


@pytest.fixture
def client(model_port: int) -> Iterator[Client]:
    with Client(model_port) as client:
        yield client


def _at(value: JSON, *places: str | int) -> JSON:
    for place in places:
        if isinstance(value, dict) and isinstance(place, str):
            value = value.get(place)
        elif isinstance(value, list) and isinstance(place, int):
            value = value[place] if place < len(value) else None
        else:
            return None
    return value


def _openai(text: str, **more: JSON) -> dict[str, JSON]:
    return {"messages": [{"role": "user", "content": text}], **more}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a question is asked, and where the text of an answer stands, whole and in a piece of a stream."""

    name: str
    path: str
    ask: Callable[[str], dict[str, JSON]]
    whole: tuple[str | int, ...]
    piece: tuple[str | int, ...]
    limit: dict[str, JSON]

    def send(self, client: Client, text: str, *, stream: bool, more: dict[str, JSON] | None = None) -> Reply:
        path, body = self.path, {**self.ask(text), **(more or {})}
        if self.name == "gemini":
            path = path.replace(":generate", ":streamGenerate") if stream else path
        else:
            body |= {"model": self.name, "stream": stream, **(more or {})}
        return client.send("POST", path, json.dumps(body).encode())

    def text(self, reply: Reply) -> str:
        lines = [line.removeprefix("data: ") for line in reply.body.decode().splitlines()]
        events: list[JSON] = [json.loads(line) for line in lines if line.startswith("{")]
        if len(events) == 1:
            return str(_at(events[0], *self.whole) or "")
        # In Responses, `delta` is the text itself; in the others it stands further inside.
        return "".join(piece for event in events if isinstance(piece := _at(event, *self.piece), str))


DIALECTS = (
    Dialect(
        name="openai",
        path="/v1/chat/completions",
        ask=_openai,
        whole=("choices", 0, "message", "content"),
        piece=("choices", 0, "delta", "content"),
        limit={"max_tokens": 16},
    ),
    Dialect(
        name="openai-responses",
        path="/v1/responses",
        ask=lambda text: {"input": [{"role": "user", "content": text}]},
        whole=("output", 0, "content", 0, "text"),
        piece=("delta",),
        limit={"max_output_tokens": 16},
    ),
    Dialect(
        name="anthropic",
        path="/v1/messages",
        ask=_openai,
        whole=("content", 0, "text"),
        piece=("delta", "text"),
        limit={"max_tokens": 16},
    ),
    Dialect(
        name="gemini",
        path="/v1beta/models/gemini:generateContent",
        ask=lambda text: {"contents": [{"role": "user", "parts": [{"text": text}]}]},
        whole=("candidates", 0, "content", "parts", 0, "text"),
        piece=("candidates", 0, "content", "parts", 0, "text"),
        limit={"generationConfig": {"maxOutputTokens": 16}},
    ),
    Dialect(
        name="ollama",
        path="/api/chat",
        ask=_openai,
        whole=("message", "content"),
        piece=("message", "content"),
        limit={"options": {"num_predict": 16}},
    ),
)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_dialect_answers_refuses_and_breaks_off_in_the_vendors_form(
    dialect: Dialect, client: Client, model_port: int
) -> None:
    whole, stream = (dialect.send(client, "hello", stream=stream) for stream in (False, True))
    assert (whole.status, whole.headers["content-type"]) == (200, "application/json")
    kind = "application/x-ndjson" if dialect.name == "ollama" else "text/event-stream"
    assert stream.headers["content-type"].startswith(kind)
    assert dialect.text(whole) == dialect.text(stream)
    assert dialect.text(whole).startswith("I am the demo model")
    assert 0 < len(dialect.text(dialect.send(client, "write 500 words", stream=False, more=dialect.limit))) < 200

    for status in (401, 429, 500, 529):
        reply = dialect.send(client, f"error {status}", stream=True)
        error = _at(json.loads(reply.body), "error")
        message = error if isinstance(error, str) else _at(error, "message")
        assert (reply.status, message) == (status, f"Error {status}. (The demo model was asked for it.)")
    assert dialect.send(client, f"error 503 once in {dialect.name}", stream=True).status == 503
    assert dialect.send(client, f"error 503 once in {dialect.name}", stream=True).status == 200
    assert b"The server had an error in mid-stream." in dialect.send(client, "error stream", stream=True).body
    with Client(model_port) as another, pytest.raises(http.client.IncompleteRead):
        dialect.send(another, "error cut", stream=True)
    with Client(model_port, timeout_seconds=0.2) as another, pytest.raises(TimeoutError):
        dialect.send(another, "error hang", stream=True)

    for path, body, status, words in (
        (dialect.path, b"{", 400, "not valid JSON"),
        (dialect.path, b"[]", 400, "must be a JSON object"),
        (dialect.path.replace("gemini", "other"), b'{"model": "other"}', 404, 'The model \\"other\\" was not found'),
    ):
        reply = client.send("POST", path, body)
        assert reply.status == status
        assert words in reply.body.decode()


def test_its_first_line_says_where_it_is() -> None:
    with started("-m", "tui_host.demo.model") as process:
        line = line_of(process)
        url = str(line["url"])
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        others = dict.fromkeys(("anthropic", "gemini", "ollama"), url)
        assert line["dialects"] == {"openai": f"{url}/v1", "openai-responses": f"{url}/v1", **others}


def test_it_listens_on_the_port_that_it_is_given_and_says_when_it_cannot() -> None:
    port = unused_port()
    words = ("-m", "tui_host.demo.model", "--port", str(port))
    with socket.create_server(("127.0.0.1", port)), started(*words) as process:
        output, errors = process.communicate(timeout=90)
        assert (process.returncode, output) == (1, b"")
        assert f"cannot listen on 127.0.0.1:{port}".encode() in errors
    with model_at("--port", str(port)) as (_, given):
        assert given == port


def test_a_wrong_use_ends_with_2(capfd: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--port", "x"], ["--port", "70000"], ["--pace", "-1"], ["--pace", "nan"], ["more"]):
        with pytest.raises(SystemExit, match="2"):
            main(arguments)
        output, errors = capfd.readouterr()
        assert output == ""
        assert errors.startswith("tui-host: demo-model: ")


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, "lifeline"])
def test_a_signal_or_its_lifeline_ends_it_with_0_also_in_mid_stream(ending: signal.Signals | str) -> None:
    with model_at("--lifeline", "--pace", "9") as (process, port), Client(port) as client:
        assert client.begin("/v1/chat/completions", _openai("write 5000 words", model="openai", stream=True)).read(20)
        if isinstance(ending, signal.Signals):
            process.send_signal(ending)
        else:
            assert process.stdin is not None
            process.stdin.close()
        assert process.wait(90) == 0  # the answer takes some minutes


def test_other_paths_and_names_are_refused_in_json(client: Client) -> None:
    for method, path, headers, status in (
        ("GET", "/v1/chat/completions", {}, 404),
        ("POST", "/v1/models", {}, 404),
        ("GET", "/v1/models", {}, 200),
        ("GET", "/v1/models", {"Host": "evil.test"}, 403),
        ("GET", "/v1/models", {"Host": "localhost:80"}, 200),
    ):
        reply = client.send(method, path, headers=headers)
        assert (reply.status, "error" in json.loads(reply.body)) == (status, status != 200)


def test_the_pace_is_a_models_and_can_be_set() -> None:
    def seconds(pace: str, words: int) -> float:
        with model_at("--pace", pace) as (_, port), Client(port) as client:
            begun = time.monotonic()
            client.begin("/v1/chat/completions", _openai(f"write {words} words", model="openai", stream=True)).read()
            return time.monotonic() - begun

    one = seconds("1", 50)
    assert one > 0.3
    assert seconds("0", 4000) < 80 * one


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    with zygote(tmp_path_factory.mktemp("zygote")) as program:
        yield program


@pytest.mark.parametrize("protocol", ["cline", "cherry", "json", "function", "react", "hermes", "hub", "hub+cline"])
def test_our_host_and_the_demo_model_understand_each_other(program: Programs, protocol: str) -> None:
    ended = program.run("ask", "weather in Paris and Tokyo", "--yes", "--json", "--protocol", protocol)
    calls = [(_at(call, "tool"), _at(call, "asked")) for call in _calls(ended.json)]
    assert calls == [("get_forecast", {"city": "Paris"}), ("get_forecast", {"city": "Tokyo"})]
    assert re.search(r"Paris: 17 °C.*Tokyo: 21 °C", str(ended.json["answer"]), re.DOTALL)


def _calls(value: dict[str, JSON]) -> list[JSON]:
    calls = value["calls"]
    assert isinstance(calls, list)
    return calls
