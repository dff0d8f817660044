"""All dialects of the demo model over a real socket: one table of what each of them must do."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.demo.running import Client, Reply
from tests.demo.wire_requests import object_of, objects
from tui_host.errors import JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a question is asked in a dialect, and where an answer has its text.

    Attributes:
        errors: The key of an error's words.
    """

    name: str
    path: str
    body: Callable[[str], dict[str, JSON]]
    text: Callable[[dict[str, JSON]], str]
    streamed: str = ""
    limit: Callable[[int], dict[str, JSON]] = field(default=lambda most: {"max_tokens": most})
    headers: dict[str, str] = field(default_factory=dict[str, str])
    stream_type: str = "text/event-stream"

    def ask(self, client: Client, question: str, more: dict[str, JSON] | None = None, *, stream: bool = False) -> Reply:
        return client.send(
            "POST", self._path(stream=stream), self._bytes(question, more or {}, stream=stream), self.headers
        )

    def begin(self, client: Client, question: str, *, stream: bool = False) -> http.client.HTTPResponse:
        client.connection.request(
            "POST", self._path(stream=stream), self._bytes(question, {}, stream=stream), self.headers
        )
        return client.connection.getresponse()

    def _path(self, *, stream: bool) -> str:
        return self.streamed if stream and self.streamed else self.path

    def _bytes(self, question: str, more: dict[str, JSON], *, stream: bool) -> bytes:
        body = {**self.body(question), **more}
        return json.dumps(body if self.streamed else {**body, "stream": stream}).encode()


def _said(question: str) -> list[JSON]:
    return [{"role": "user", "content": question}]


def _chat_text(answer: dict[str, JSON]) -> str:
    return str(object_of(objects(answer["choices"])[0]["message"])["content"])


def _responses_text(answer: dict[str, JSON]) -> str:
    parts = [objects(item["content"]) for item in objects(answer["output"]) if item["type"] == "message"]
    return "".join(str(part["text"]) for content in parts for part in content)


def _anthropic_text(answer: dict[str, JSON]) -> str:
    return "".join(str(block.get("text", "")) for block in objects(answer["content"]))


def _gemini_text(answer: dict[str, JSON]) -> str:
    parts = objects(object_of(objects(answer["candidates"])[0]["content"])["parts"])
    return "".join(str(part.get("text", "")) for part in parts)


CHAT = Dialect(
    name="openai",
    path="/v1/chat/completions",
    body=lambda question: {"model": "openai", "messages": _said(question)},
    text=_chat_text,
)
RESPONSES = Dialect(
    name="openai-responses",
    path="/v1/responses",
    body=lambda question: {"model": "openai-responses", "input": question},
    text=_responses_text,
    limit=lambda most: {"max_output_tokens": most},
)
ANTHROPIC = Dialect(
    name="anthropic",
    path="/v1/messages",
    body=lambda question: {"model": "anthropic", "max_tokens": 9_000, "messages": _said(question)},
    text=_anthropic_text,
    headers={"anthropic-version": "2026-10-21"},
)
GEMINI = Dialect(
    name="gemini",
    path="/v1beta/models/gemini:generateContent",
    streamed="/v1/models/gemini:streamGenerateContent?alt=sse",
    body=lambda question: {"contents": [{"role": "user", "parts": [{"text": question}]}]},
    text=_gemini_text,
    limit=lambda most: {"generationConfig": {"maxOutputTokens": most}},
)
OLLAMA = Dialect(
    name="ollama",
    path="/api/chat",
    body=lambda question: {"model": "ollama", "messages": _said(question)},
    text=lambda answer: str(object_of(answer["message"])["content"]),
    limit=lambda most: {"options": {"num_predict": most}},
    stream_type="application/x-ndjson",
)
_EACH = pytest.mark.parametrize(
    "dialect", [CHAT, RESPONSES, ANTHROPIC, GEMINI, OLLAMA], ids=lambda dialect: dialect.name
)


def _words(body: bytes) -> str:
    """An error's words, wherever a vendor puts them."""
    value = object_of(json.loads(body))
    error = value["error"]
    return str(error if isinstance(error, str) else object_of(error)["message"])


@_EACH
def test_it_answers_whole_and_streamed(dialect: Dialect, client: Client) -> None:
    whole = dialect.ask(client, "hello")
    assert whole.status == 200
    assert whole.headers["content-type"].startswith("application/json")
    assert dialect.text(object_of(json.loads(whole.body))).startswith("I am the demo model")
    stream = dialect.ask(client, "hello", stream=True)
    assert stream.headers["content-type"].startswith(dialect.stream_type)
    assert stream.headers["transfer-encoding"] == "chunked"
    assert stream.body.count(b"\n") > 50


@_EACH
def test_errors_come_in_the_vendors_form_also_once(dialect: Dialect, client: Client) -> None:
    for status in (401, 429, 500, 529):
        reply = dialect.ask(client, f"error {status}", stream=True)
        assert reply.status == status
        assert "demo model was asked for" in _words(reply.body)
    assert "retry-after" not in dialect.ask(client, "error 500").headers
    once = f"error 503 once in {dialect.name}"
    assert dialect.ask(client, once).status == 503
    assert dialect.ask(client, once).status == 200


@_EACH
def test_an_error_in_mid_stream_comes_under_200(dialect: Dialect, client: Client) -> None:
    reply = dialect.ask(client, "error stream", stream=True)
    assert reply.status == 200
    last = reply.body.strip().split(b"\n")[-1].removeprefix(b"data: ")
    assert b"error" in last
    assert b"mid-stream" in last
    assert dialect.ask(client, "error stream").status == 500


@_EACH
def test_a_cut_a_hang_and_a_page_come_on_request(dialect: Dialect, client: Client, model_port: int) -> None:
    for stream in (True, False):
        with Client(model_port) as another, pytest.raises(http.client.IncompleteRead):
            dialect.ask(another, "error cut", stream=stream)
        assert dialect.ask(client, "error html", stream=stream).headers["content-type"].startswith("text/html")
    with Client(model_port, timeout_seconds=0.2) as another:
        response = dialect.begin(another, "error hang", stream=True)
        assert response.status == 200
        with pytest.raises(TimeoutError):
            response.read(1)
        response.close()


@_EACH
def test_a_limit_of_tokens_and_an_empty_answer(dialect: Dialect, client: Client) -> None:
    short = dialect.ask(client, "write 500 words", dialect.limit(20))
    assert 0 < len(dialect.text(object_of(json.loads(short.body)))) < 200
    empty = dialect.ask(client, "error empty")
    assert dialect.text(object_of(json.loads(empty.body))) == ""


@_EACH
def test_a_wrong_method_a_bad_body_and_an_unknown_model_are_refused_in_the_vendors_form(
    dialect: Dialect, client: Client
) -> None:
    wrong = client.send("GET", dialect.path, headers=dialect.headers)
    bad = client.send("POST", dialect.path, b"{", dialect.headers)
    assert (wrong.status, bad.status) == (405, 400)
    assert "POST" in _words(wrong.body)
    assert _words(bad.body)
    other = dialect.path.replace("gemini", "other")
    unknown = client.send("POST", other, json.dumps({**dialect.body("x"), "model": "other"}).encode(), dialect.headers)
    assert unknown.status == 404
    assert "other" in _words(unknown.body)


def _models(reply: Reply, key: str, name: str) -> list[JSON]:
    assert reply.status == 200
    return [model[name] for model in objects(object_of(json.loads(reply.body))[key])]


def test_each_vendor_has_its_list_of_models(client: Client) -> None:
    version, key = {"anthropic-version": "2023-06-01"}, {"x-goog-api-key": "x"}
    assert _models(client.send("GET", "/v1/models"), "data", "id") == ["openai", "openai-responses"]
    assert _models(client.send("GET", "/v1/models?limit=1000", headers=version), "data", "id") == ["anthropic"]
    assert _models(client.send("GET", "/v1beta/models?pageSize=1000"), "models", "name") == ["models/gemini"]
    assert _models(client.send("GET", "/v1/models", headers=key), "models", "name") == ["models/gemini"]
    assert _models(client.send("GET", "/v1/models?key=x"), "models", "name") == ["models/gemini"]
    assert _models(client.send("GET", "/api/tags"), "models", "name") == ["ollama"]
    assert _models(client.send("GET", "/api/ps"), "models", "context_length") == [262_144]
    for path, headers in (("/v1/models/openai", {}), ("/v1/models/anthropic", version), ("/v1beta/models/gemini", {})):
        assert client.send("GET", path, headers=headers).status == 200
        assert client.send("GET", f"{path}x", headers=headers).status == 404
    assert object_of(json.loads(client.send("GET", "/api/version").body))["version"]
    shown = object_of(json.loads(client.send("POST", "/api/show", b'{"model":"ollama"}').body))
    assert shown["capabilities"] == ["completion", "tools", "thinking", "vision"]
    assert client.send("POST", "/api/show", b'{"model":"x"}').status == 404


def test_tokens_are_counted_without_an_answer(client: Client) -> None:
    body = json.dumps({"model": "anthropic", "messages": _said("hello")}).encode()
    told = client.send("POST", "/v1/messages/count_tokens", body, ANTHROPIC.headers)
    assert object_of(json.loads(told.body)).keys() == {"input_tokens"}
    body = json.dumps(GEMINI.body("hello")).encode()
    told = client.send("POST", "/v1beta/models/gemini:countTokens", body)
    assert object_of(json.loads(told.body)).keys() == {"totalTokens"}
    assert client.send("POST", "/v1beta/models/gemini:countTokens", b"x").status == 400


def test_protocols_of_plain_text_work_over_every_dialect(client: Client) -> None:
    prompt = 'Tool: math__add\nArguments:\n- a (number)\n- b (number)\n\nAnswer with {"tool": "NAME", "arguments": {}}.'
    system: dict[str, dict[str, JSON]] = {
        "openai": {"messages": [{"role": "system", "content": prompt}, *_said("what is 2 + 3?")]},
        "openai-responses": {"instructions": prompt},
        "anthropic": {"system": prompt},
        "gemini": {"systemInstruction": {"parts": [{"text": prompt}]}},
        "ollama": {"messages": [{"role": "system", "content": prompt}, *_said("what is 2 + 3?")]},
    }
    for dialect in (CHAT, RESPONSES, ANTHROPIC, GEMINI, OLLAMA):
        reply = dialect.ask(client, "what is 2 + 3?", system[dialect.name])
        text = dialect.text(object_of(json.loads(reply.body)))
        assert json.loads(text) == {"tool": "math__add", "arguments": {"a": 2, "b": 3}}


def _offered(dialect: Dialect, *names: str) -> dict[str, JSON]:
    """These tools of two numbers, in a dialect's form."""
    number: JSON = {"type": "number"}
    schema: JSON = {"type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"]}
    match dialect.name:
        case "anthropic":
            return {"tools": [{"name": name, "input_schema": schema} for name in names]}
        case "gemini":
            declared: list[JSON] = [{"name": name, "parametersJsonSchema": schema} for name in names]
            return {"tools": [{"functionDeclarations": declared}]}
        case "openai-responses":
            return {"tools": [{"type": "function", "name": name, "parameters": schema} for name in names]}
        case _:
            functions: list[JSON] = [{"name": name, "parameters": schema} for name in names]
            return {"tools": [{"type": "function", "function": function} for function in functions]}


@_EACH
@pytest.mark.parametrize("sign", ["_", "__", "-", ".", ":"])
def test_it_asks_for_a_tool_by_the_name_under_which_a_host_offers_it(
    dialect: Dialect, sign: str, client: Client
) -> None:
    others = f"notes{sign}multiply", f"math{sign}premultiply"
    for name in (f"math{sign}multiply", f"mcp__math{sign}multiply", f"mcp{sign}math{sign}multiply", "multiply"):
        more = _offered(dialect, *(others if name != "multiply" else others[1:]), name)
        reply = dialect.ask(client, "what is 6 * 7?", more)
        assert reply.status == 200
        assert re.findall(r'"name": ?"([^"]*)"', reply.body.decode()) == [name]
