"""All dialects of the demo model over a real socket: one table of what each of them must do."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass, field

import pytest

from tests.demo.running import Client, Reply
from tests.demo.wire_requests import LONG, PATHS, object_of, objects, question
from tests.llm.recorded.reading import fold_of
from tui_host.errors import JSON

VERSION = {"anthropic-version": "2026-10-21"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    name: str
    headers: dict[str, str] = field(default_factory=dict[str, str])

    def path(self, *, stream: bool) -> str:
        path = PATHS[self.name]
        return path.replace(":generate", ":streamGenerate") + "?alt=sse" if stream and self.name == "gemini" else path

    def body(self, text: str, more: dict[str, JSON], *, stream: bool) -> bytes:
        streamed: dict[str, JSON] = {} if self.name == "gemini" else {"stream": stream}
        return json.dumps({**question(self.name, text), **streamed, **more}).encode()

    def ask(self, client: Client, text: str, more: dict[str, JSON] | None = None, *, stream: bool = False) -> Reply:
        return client.send("POST", self.path(stream=stream), self.body(text, more or {}, stream=stream), self.headers)

    def text(self, reply: Reply) -> str:
        """The answer's text, as our own reader of the dialect takes it."""
        return fold_of(self.name, reply.body).text


DIALECTS = [Dialect(name=name, headers=VERSION if name == "anthropic" else {}) for name in PATHS]
each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=PATHS)


def _words(body: bytes) -> str:
    """An error's words, wherever a vendor puts them."""
    error = object_of(json.loads(body))["error"]
    return str(error if isinstance(error, str) else object_of(error)["message"])


@each_dialect
def test_it_answers_whole_and_streamed(dialect: Dialect, client: Client) -> None:
    whole, stream = dialect.ask(client, "hello"), dialect.ask(client, "hello", stream=True)
    assert whole.status == 200
    assert whole.headers["content-type"].startswith("application/json")
    kind = "application/x-ndjson" if dialect.name == "ollama" else "text/event-stream"
    assert stream.headers["content-type"].startswith(kind)
    assert stream.headers["transfer-encoding"] == "chunked"
    assert dialect.text(whole) == dialect.text(stream)
    assert dialect.text(whole).startswith("I am the demo model")


@each_dialect
def test_errors_come_in_the_vendors_form_also_once_and_in_mid_stream(dialect: Dialect, client: Client) -> None:
    for status in (401, 429, 500, 529):
        reply = dialect.ask(client, f"error {status}", stream=True)
        assert reply.status == status
        assert "demo model was asked for" in _words(reply.body)
    assert "retry-after" not in dialect.ask(client, "error 500").headers
    once = f"error 503 once in {dialect.name}"
    assert dialect.ask(client, once).status == 503
    assert dialect.ask(client, once).status == 200
    reply = dialect.ask(client, "error stream", stream=True)
    assert reply.status == 200
    assert "mid-stream" in fold_of(dialect.name, reply.body).failure
    assert dialect.ask(client, "error stream").status == 500


@each_dialect
def test_a_cut_a_hang_and_a_page_come_on_request(dialect: Dialect, client: Client, model_port: int) -> None:
    for stream in (True, False):
        with Client(model_port) as another, pytest.raises(http.client.IncompleteRead):
            dialect.ask(another, "error cut", stream=stream)
        assert dialect.ask(client, "error html", stream=stream).headers["content-type"].startswith("text/html")
    with Client(model_port, timeout_seconds=0.2) as another:
        body = dialect.body("error hang", {}, stream=True)
        another.connection.request("POST", dialect.path(stream=True), body, dialect.headers)
        response = another.connection.getresponse()
        assert response.status == 200
        with pytest.raises(TimeoutError):
            response.read(1)
        response.close()


@each_dialect
def test_a_limit_of_tokens_and_an_empty_answer(dialect: Dialect, client: Client) -> None:
    assert 0 < len(dialect.text(dialect.ask(client, "", LONG[dialect.name]))) < 200
    assert dialect.text(dialect.ask(client, "error empty")) == ""


@each_dialect
def test_a_wrong_method_a_bad_body_and_an_unknown_model_are_refused_in_the_vendors_form(
    dialect: Dialect, client: Client
) -> None:
    path = dialect.path(stream=False)
    wrong = client.send("GET", path, headers=dialect.headers)
    bad = client.send("POST", path, b"{", dialect.headers)
    assert (wrong.status, bad.status) == (405, 400)
    assert "POST" in _words(wrong.body)
    assert _words(bad.body)
    body = dialect.body("x", {"model": "other"}, stream=False)
    unknown = client.send("POST", path.replace("gemini", "other"), body, dialect.headers)
    assert unknown.status == 404
    assert "other" in _words(unknown.body)


@pytest.mark.parametrize(
    ("path", "headers", "key", "name", "listed"),
    [
        ("/v1/models", {}, "data", "id", ["openai", "openai-responses"]),
        ("/v1/models?limit=1000", VERSION, "data", "id", ["anthropic"]),
        ("/v1beta/models?pageSize=1000", {}, "models", "name", ["models/gemini"]),
        ("/v1/models", {"x-goog-api-key": "x"}, "models", "name", ["models/gemini"]),
        ("/v1/models?key=x", {}, "models", "name", ["models/gemini"]),
        ("/api/tags", {}, "models", "name", ["ollama"]),
    ],
)
def test_each_vendor_has_its_list_of_models(
    client: Client, path: str, headers: dict[str, str], key: str, name: str, listed: list[JSON]
) -> None:
    reply = client.send("GET", path, headers=headers)
    assert reply.status == 200
    assert [model[name] for model in objects(object_of(json.loads(reply.body))[key])] == listed


def test_a_model_is_described_by_its_name(client: Client) -> None:
    for path, headers in (("/v1/models/openai", {}), ("/v1/models/anthropic", VERSION), ("/v1beta/models/gemini", {})):
        assert client.send("GET", path, headers=headers).status == 200
        assert client.send("GET", f"{path}x", headers=headers).status == 404
    shown = object_of(json.loads(client.send("POST", "/api/show", b'{"model":"ollama"}').body))
    assert shown["capabilities"] == ["completion", "tools", "thinking", "vision"]
    assert client.send("POST", "/api/show", b'{"model":"x"}').status == 404


def test_tokens_are_counted_without_an_answer(client: Client) -> None:
    for path, key in (
        ("/v1/messages/count_tokens", "input_tokens"),
        ("/v1beta/models/gemini:countTokens", "totalTokens"),
    ):
        counted = client.send("POST", path, b'{"messages":[]}')
        assert object_of(json.loads(counted.body)).keys() == {key}
        assert client.send("POST", path, b"x").status == 400
