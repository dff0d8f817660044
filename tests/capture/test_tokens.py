"""Secrets that stand in bodies where their name tells what they are, and words that only look like them."""

from __future__ import annotations

import json

import pytest

from tui_host.capture.record import Draft, Head
from tui_host.capture.redact.by_place import without_keys
from tui_host.capture.redact.login_bodies import without_tokens
from tui_host.capture.redact.login_exchanges import LIMIT, BodyBuffer, is_login, without_credentials
from tui_host.errors import JSON


def ignore(_name: str, _value: str) -> None:
    """Nothing is learned."""


def taken(value: JSON, *, login: bool = False) -> tuple[JSON, list[str]]:
    """A body without its keys, and what was taken out of it."""
    learned: list[str] = []
    data, found = (without_tokens if login else without_keys)(
        json.dumps(value, indent=1).encode(), lambda _name, told: learned.append(told)
    )
    assert len(found) >= len(learned)
    kept: JSON = json.loads(data)
    return kept, learned


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

    kept, (found,) = without_keys(body, ignore)

    assert json.loads(kept) == {"a": 1, name: f"⟨secret:{name}⟩", "b": [2]}
    assert (found.where, found.name, found.length) == ("data", name, len(r"se\"c\\ret"))
    assert without_keys(kept, ignore) == (kept, ())


BEARER = "Bearer ⟨secret:Authorization⟩"
PLACES: list[tuple[JSON, JSON, list[str]]] = [
    (
        {"tools": [{"type": "mcp", "authorization": "t-1", "headers": {"X-Team": "a", "Authorization": "Bearer b-1"}}]},
        {
            "tools": [
                {
                    "type": "mcp",
                    "authorization": "⟨secret:authorization⟩",
                    "headers": {"X-Team": "⟨secret:X-Team⟩", "Authorization": BEARER},
                }
            ]
        },
        ["a", "b-1", "t-1"],
    ),
    (
        {
            "mcp_servers": [
                {"url": "https://a/", "headers": {"Accept": "text/event-stream, application/json", "B": "b-1"}}
            ]
        },
        {"mcp_servers": [{"url": "https://a/", "headers": {"Accept": "⟨secret:Accept⟩", "B": "⟨secret:B⟩"}}]},
        ["b-1"],
    ),
    (
        {"tools": [{"mcpServers": [{"name": "a", "transport": {"url": "https://a/", "headers": {"a": "b"}}}]}]},
        {
            "tools": [
                {"mcpServers": [{"name": "a", "transport": {"url": "https://a/", "headers": {"a": "⟨secret:a⟩"}}}]}
            ]
        },
        ["b"],
    ),
    (
        {"messages": [{"input": {"url": "https://a/", "headers": {"a": "b", "X-Key": "c"}}}]},
        {"messages": [{"input": {"url": "https://a/", "headers": {"a": "b", "X-Key": "⟨secret:X-Key⟩"}}}]},
        ["c"],
    ),
    (
        {"data_sources": [{"parameters": {"authentication": {"type": "api_key", "key": "k-1"}, "top_n_documents": 5}}]},
        {
            "data_sources": [
                {"parameters": {"authentication": {"type": "api_key", "key": "⟨secret:key⟩"}, "top_n_documents": 5}}
            ]
        },
        ["k-1"],
    ),
    (
        {
            "tools": [{"server_url": "https://me:p%40ss@a.example/mcp?a=b&api_key=k-1"}],
            "image_url": "https://a.example/?a=b",
        },
        {
            "tools": [{"server_url": "https://⟨secret:userinfo⟩@a.example/mcp?a=b&api_key=⟨secret:api_key⟩"}],
            "image_url": "https://a.example/?a=b",
        },
        ["p@ss", "k-1"],
    ),
]


@pytest.mark.parametrize(("body", "kept", "learned"), PLACES)
def test_what_opens_somebodys_door_is_taken_out_of_a_request_to_a_model(
    body: JSON, kept: JSON, learned: list[str]
) -> None:
    assert taken(body) == (kept, learned)


@pytest.mark.parametrize(
    ("path", "answer", "learned"),
    [
        (
            "/v1/realtime/client_secrets",
            {"value": "ek_0123456789abcdef", "session": {"type": "realtime"}},
            ["ek_0123456789abcdef"],
        ),
        (
            "/v1/realtime/sessions",
            {"client_secret": {"value": "ek_0123456789abcdef", "expires_at": 1}},
            ["ek_0123456789abcdef"],
        ),
        ("/v1/chatkit/sessions", {"client_secret": "ck-1", "id": "cksess_1", "max_requests": 10}, ["ck-1"]),
        ("/api/v1/keys", {"data": {"name": "a", "hash": "h", "limit": 1}, "key": "sk-or-1"}, ["sk-or-1"]),
        (
            "/key/generate",
            {"key": "sk-1", "token": "t-1", "key_alias": "a", "token_type": "b", "max_tokens": 1},
            ["sk-1", "t-1"],
        ),
        (
            "/x/service_accounts",
            {"api_key": {"value": "sk-0123456789abcdef", "name": "a", "id": "key_1"}},
            ["sk-0123456789abcdef"],
        ),
        ("/accounts/a/listKeys", {"key1": "k-1", "key2": "k-2"}, ["k-1", "k-2"]),
        ("/v1alpha/auth_tokens", {"name": "auth_tokens/0123456789"}, ["auth_tokens/0123456789"]),
        ("/oauth/token", {"access_token": "a", "id_token": "b", "scope": "s", "expires_in": 1}, ["a", "b"]),
        ("/register", {"client_id": "c", "client_secret": "d", "token_endpoint_auth_method": "none"}, ["d"]),
    ],
)
def test_an_answer_that_makes_a_key_is_kept_without_it(path: str, answer: JSON, learned: list[str]) -> None:
    assert is_login(path.encode(), b"application/json", b"{}")
    kept, found = taken(answer, login=True)
    assert found == learned
    assert not [each for each in learned if f'"{each}"' in json.dumps(kept)]
    assert json.dumps(kept).count("secret:") == len(learned)


@pytest.mark.parametrize(
    "value",
    [
        {"logprobs": {"content": [{"token": "word", "logprob": -1}]}},
        {"max_tokens": 5, "token": "a", "secret": "b", "key": "c", "code": "d"},
        {"properties": {"password": {"type": "string"}, "api_key": {"type": "string"}}, "required": ["password"]},
        {"arguments": json.dumps({"password": "a", "api_key": "b"})},
        {"password": "", "api_key": None, "headers": {}, "authorization": 7},
        {"headers": {"accept": "*/*", "idempotency-key": "a"}},
        {"tools": [{"parameters": {"properties": {"headers": {"type": "object", "description": "a key: b"}}}}]},
        {"signature": "c2lnbmVk", "prompt_cache_key": "a", "max_tokens": 5, "eos_token": "b", "foreign_key": "c"},
        {"text": "see https://a.example/?key=b, it is open", "url": "https://a.example/@me"},
    ],
)
def test_words_schemas_and_arguments_of_tools_stay(value: JSON) -> None:
    body = json.dumps(value).encode()
    assert without_keys(body, ignore) == (body, ())


def request(data: bytes, *headers: tuple[str, str], encoding: str | None = None, path: str = "/v1/x") -> Draft:
    head = Head(method="POST", url=f"https://a.example{path}?b=c", headers=headers)
    return Draft(wire="llm", kind="request", head=head, data=data, encoding=encoding)


def test_a_login_loses_its_tokens_in_its_form_and_its_answer() -> None:
    form = b"grant_type=refresh_token&refresh_token=abc&client_secret=def&scope=all"
    kept = without_credentials(request(form, ("Content-Type", "application/x-www-form-urlencoded")), ignore)
    told = b'{"access_token":"a","token_type":"Bearer"}'
    answer = without_credentials(Draft(wire="llm", kind="chunk", data=told), ignore)

    assert kept.data.decode() == (
        "grant_type=refresh_token&refresh_token=⟨secret:refresh_token⟩&client_secret=⟨secret:client_secret⟩&scope=all"
    )
    assert answer.data.decode() == '{"access_token":"⟨secret:access_token⟩","token_type":"Bearer"}'
    assert [
        is_login(path, b"", b"")
        for path in (
            b"/oauth/token",
            b"/login/",
            b"/m/count_tokens",
            b"/m:countTokens",
            b"/oauth/v1/x",
            b"/v1/sessions",
        )
    ] == [True, True, False, False, False, False]


def test_what_is_handed_about_around_a_login_is_not_kept_and_what_says_of_what_kind_it_is_stays() -> None:
    secret = (
        "token",
        "id_token_hint",
        "user_code",
        "device_code",
        "registration_client_uri",
        "registration_access_token",
    )
    secret += ("verification_uri_complete", "subject_token", "logout_token", "pre-authorized_code", "tx_code", "ticket")
    words = ("token_type_hint", "subject_token_type", "code_challenge", "login_hint", "verification_uri", "expires_in")
    told = dict.fromkeys((*secret, *words), "abc")
    kept = {**{name: f"⟨secret:{name}⟩" for name in secret}, **dict.fromkeys(words, "abc")}
    form = "&".join(f"{name}={value}" for name, value in told.items()).encode()

    assert without_tokens(form, ignore)[0].decode() == "&".join(f"{name}={value}" for name, value in kept.items())
    assert json.loads(without_tokens(json.dumps(told).encode(), ignore)[0]) == kept


def test_a_body_is_held_to_its_end_and_one_that_is_too_large_goes_on_whole() -> None:
    small, large = BodyBuffer(), BodyBuffer()
    assert [small.feed(b"a" * (LIMIT - 1)), small.feed(b"b")] == [b"", b""]
    assert small.finish() == b"a" * (LIMIT - 1) + b"b"
    assert [large.feed(b"a" * LIMIT), large.feed(b"b"), large.feed(b"c")] == [b"", b"a" * LIMIT + b"b", b"c"]
    assert large.finish() == b""
