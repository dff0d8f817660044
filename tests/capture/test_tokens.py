"""Secrets that stand in bodies where their name tells what they are, and words that only look like them."""

from __future__ import annotations

import json
import zlib

import pytest

from tui_host.capture.codings import decoder
from tui_host.capture.record import Draft, Head
from tui_host.capture.redact import Redactor
from tui_host.capture.tokens import is_login, without_credentials, without_keys
from tui_host.errors import JSON

MCP_TOOL: JSON = {
    "type": "mcp",
    "authorization": "tok-1",
    "headers": {"X-Key": "k-1", "Authorization": "Bearer b-1", "a": "b"},
}


@pytest.mark.parametrize(
    "name",
    [
        *("api_key", "apiKey", "X-API-Key", "client_secret", "password", "access_token", "refresh_token"),
        *("auth_token", "aws_secret_access_key", "private_key", "connection_string"),
    ],
)
@pytest.mark.parametrize("spaces", [None, 2])
def test_a_key_in_a_request_to_a_model_is_taken_out_and_the_json_stays_json(name: str, spaces: int | None) -> None:
    body = json.dumps({"a": 1, name: 'se"c\\ret', "b": [2]}, indent=spaces).encode()

    kept, (found,) = without_keys(body)

    assert json.loads(kept) == {"a": 1, name: f"⟨secret:{name}⟩", "b": [2]}
    assert (found.where, found.name, found.length) == ("data", name, len(r"se\"c\\ret"))
    assert without_keys(kept) == (kept, ())


def test_what_opens_the_server_of_a_models_tool_is_taken_out() -> None:
    kept, found = without_keys(json.dumps({"tools": [MCP_TOOL]}, indent=1).encode())

    assert json.loads(kept)["tools"][0] == {
        "type": "mcp",
        "authorization": "⟨secret:authorization⟩",
        "headers": {"X-Key": "⟨secret:X-Key⟩", "Authorization": "Bearer ⟨secret:Authorization⟩", "a": "b"},
    }
    assert len(found) == 3


@pytest.mark.parametrize(
    "value",
    [
        {"logprobs": {"content": [{"token": "word", "logprob": -1}]}},
        {"max_tokens": 5, "token": "a", "secret": "b", "key": "c", "code": "d"},
        {"properties": {"password": {"type": "string"}, "api_key": {"type": "string"}}, "required": ["password"]},
        {"arguments": json.dumps({"password": "a", "api_key": "b"})},
        {"password": "", "api_key": None, "headers": {}, "authorization": 7},
        {"headers": {"accept": "*/*", "idempotency-key": "a"}},
    ],
)
def test_words_schemas_and_arguments_of_tools_stay(value: JSON) -> None:
    body = json.dumps(value).encode()
    assert without_keys(body) == (body, ())


def request(data: bytes, *headers: tuple[str, str], encoding: str | None = None, path: str = "/v1/x") -> Draft:
    head = Head(method="POST", url=f"https://a.example{path}?b=c", headers=headers)
    return Draft(wire="llm", kind="request", head=head, data=data, encoding=encoding)


def test_a_login_loses_its_tokens_in_its_form_and_its_answer() -> None:
    form = b"grant_type=refresh_token&refresh_token=abc&client_secret=def&scope=all"
    kept = without_credentials(request(form, ("Content-Type", "application/x-www-form-urlencoded")))
    answer = without_credentials(Draft(wire="llm", kind="chunk", data=b'{"access_token":"a","token_type":"Bearer"}'))

    assert kept.data.decode() == (
        "grant_type=refresh_token&refresh_token=⟨secret:refresh_token⟩&client_secret=⟨secret:client_secret⟩&scope=all"
    )
    assert answer.data.decode() == '{"access_token":"⟨secret:access_token⟩","token_type":"Bearer"}'
    assert [
        is_login(path, b"") for path in (b"/oauth/token", b"/login/", b"/v1/messages/count_tokens", b"/oauth/v1/chat/x")
    ] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_compressed_request_is_compressed_anew_only_where_a_secret_is_in_it(encoding: str) -> None:
    redactor = Redactor([("K", "sk-canary-0123456789")])

    def kept(text: bytes) -> tuple[bytes, bytes]:
        coder = zlib.compressobj(1, wbits=15 if encoding == "deflate" else 31)
        data = coder.compress(text) + coder.flush()
        return data, redactor.draft(without_credentials(request(data, encoding=encoding))).data

    harmless, same = kept(b'{"a": 1}')
    _, changed = kept(b'{"a": "sk-canary-0123456789", "api_key": "b"}')

    assert same == harmless
    assert decoder(encoding).feed(changed).decode() == '{"a": "⟨secret:K⟩", "api_key": "⟨secret:api_key⟩"}'
