"""The demo model as a process, in five dialects over real sockets, and in each tool protocol with our host."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import time
from collections.abc import Iterator

import pytest

from tests.demo.running import Client, Reply, line_of, model_at, started
from tests.kit.app import PATIENT, fast
from tests.kit.bodies import DIALECTS as WRITERS
from tests.kit.bodies import User
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
    name: str, client: Client, model_port: int
) -> None:
    def sent(text: str, *, to: Client = client, stream: bool = True, more: dict[str, JSON] | None = None) -> Reply:
        body = {**json.loads(form.request([User(text)], model=name)), "stream": stream, **(more or {})}
        return to.send("POST", path if stream else path_of_whole, json.dumps(body).encode())

    form, (place, piece, limit) = WRITERS[name], DIALECTS[name]
    path = form.path.replace("gemini-x", "gemini")
    path_of_whole = path.replace("streamGenerateContent?alt=sse", "generateContent")
    whole, stream = (sent("hello", stream=stream) for stream in (False, True))
    assert (whole.status, whole.headers["content-type"]) == (200, "application/json")
    kind = "application/x-ndjson" if name == "ollama" else "text/event-stream"
    assert stream.headers["content-type"].startswith(kind)
    answer = str(_at(json.loads(whole.body), *place))
    lines = [line.removeprefix("data: ") for line in stream.body.decode().splitlines()]
    events: list[JSON] = [json.loads(line) for line in lines if line.startswith("{")]
    # In Responses, `delta` is the text itself; in the others it stands further inside.
    assert answer == "".join(found for event in events if isinstance(found := _at(event, *piece), str))
    assert answer.startswith("I am the demo model")
    cut = sent("write 500 words", stream=False, more=limit)
    assert 0 < len(str(_at(json.loads(cut.body), *place))) < 200

    for status in (401, 429, 500, 529):
        reply = sent(f"error {status}")
        error = _at(json.loads(reply.body), "error")
        message = error if isinstance(error, str) else _at(error, "message")
        assert (reply.status, message) == (status, f"Error {status}. (The demo model was asked for it.)")
    assert sent(f"error 503 once in {name}").status == 503
    assert sent(f"error 503 once in {name}").status == 200
    assert b"The server had an error in mid-stream." in sent("error stream").body
    with Client(model_port) as another, pytest.raises(http.client.IncompleteRead):
        sent("error cut", to=another)
    with Client(model_port, timeout_seconds=0.2) as another, pytest.raises(TimeoutError):
        sent("error hang", to=another)

    for asked, body, status, words in (
        (path, b"{", 400, "not valid JSON"),
        (path, b"[]", 400, "must be a JSON object"),
        (path.replace("gemini", "other"), b'{"model": "other"}', 404, 'The model \\"other\\" was not found'),
    ):
        reply = client.send("POST", asked, body)
        assert reply.status == status
        assert words in reply.body.decode()


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
def program(tmp_path_factory: pytest.TempPathFactory, model_port: int) -> Iterator[Programs]:
    folder = tmp_path_factory.mktemp("zygote")
    own = f'{fast(f"http://127.0.0.1:{model_port}/v1")}[servers.weather]\nbundled = "weather"\n'
    (folder / "config.toml").write_text(own + PATIENT)
    with zygote(folder) as program:
        yield program


@pytest.mark.parametrize("protocol", ["cline", "cherry", "json", "function", "react", "hermes", "hub", "hub+cline"])
def test_our_host_and_the_demo_model_understand_each_other(program: Programs, protocol: str) -> None:
    options = ("--yes", "--json", "--protocol", protocol, "--config", program.folder / "config.toml")
    ended = program.run("ask", "weather in Paris and Tokyo", *options)
    calls = [_at(ended.json, "calls", number) for number in range(2)]
    assert [(_at(call, "tool"), _at(call, "asked")) for call in calls] == [
        ("get_forecast", {"city": "Paris"}),
        ("get_forecast", {"city": "Tokyo"}),
    ]
    assert _at(ended.json, "calls", 2) is None
    assert re.search(r"Paris: 17 °C.*Tokyo: 21 °C", str(ended.json["answer"]), re.DOTALL)
