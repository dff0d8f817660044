"""Keys and logins are known by the names of their places; what is said, and what tools are called with, stays."""

import json
from collections.abc import Mapping

import pytest

from tests.capture.wires import Kept, coded
from tui_host.capture.http.observer import Observer
from tui_host.capture.record import NOWHERE, Head
from tui_host.capture.redact.places import Learn, is_login, without_keys, without_tokens
from tui_host.capture.redact.text_stream import LOGIN_LIMIT
from tui_host.errors import JSON

KEY = "sk-0a1b2c3d4e5f60718293"
FORM = "application/x-www-form-urlencoded"


def ignore(_name: str, _value: str) -> None:
    """Nothing is learned."""


def learning() -> tuple[list[str], Learn]:
    learned: list[str] = []
    return learned, lambda _name, value: learned.append(value)


def test_a_key_in_a_request_to_a_model_is_taken_out_and_the_json_stays_json() -> None:
    for name in ("api_key", "apiKey", "X-API-Key", "client_secret", "password", "connection_string"):
        kept, (found,) = without_keys(json.dumps({"a": 1, name: 'se"c\\ret', "b": [2]}, indent=2).encode(), ignore)
        assert json.loads(kept) == {"a": 1, name: f"⟨secret:{name}⟩", "b": [2]}
        assert (found.where, found.name, found.length) == ("data", name, len(r"se\"c\\ret"))
        assert without_keys(kept, ignore) == (kept, ())


def of_server(headers: str) -> str:
    return '{"tools":[{"type":"mcp","authorization":"%s","server_url":"https://a/","headers":' + headers + "}]}"


@pytest.mark.parametrize(
    ("body", "secrets"),
    [
        (of_server('{"X-Team":"%s","Authorization":"Bearer %s"}'), "authorization X-Team Authorization"),
        (of_server('{"Authorization":["Bearer %s","%s"]}'), "authorization Authorization Authorization"),
        ('{"tools":[{"mcpServers":[{"transport":{"url":"https://a/","headers":{"a":"%s"}}}]}]}', "a"),
        ('{"messages":[{"input":{"url":"https://a/","headers":{"a":"b","X-Key":"%s"}}}]}', "X-Key"),
        ('{"extra_headers":{"X-Api-Key":"%s","X-A":"b"}}', "X-Api-Key"),
        ('{"data_sources":[{"authentication":{"type":"api_key","key":"%s"},"top_n_documents":5}]}', "key"),
        ('{"tools":[{"server_url":"https://%s@a.example/mcp?a=b&api_key=%s\\u0026b=c"}]}', "userinfo api_key"),
        ('{"mcp_servers":[{"type":"url","url":"https://a/","authorization_token":"%s"}]}', "authorization_token"),
    ],
)
def test_what_opens_somebodys_door_is_taken_out_of_a_request_to_a_model(body: str, secrets: str) -> None:
    names = secrets.split()
    learned, learn = learning()
    values = [f"u:p-{number}" if name == "userinfo" else f"p-{number}" for number, name in enumerate(names)]
    kept, found = without_keys((body % tuple(values)).encode(), learn)
    assert json.loads(kept) == json.loads(body % tuple(f"⟨secret:{name}⟩" for name in names))
    assert {*learned} == {value.removeprefix("u:") for value in values}
    assert sorted(entry.name for entry in found) == sorted(names)


@pytest.mark.parametrize(
    "body",
    [
        '{"tools":[{"type":"mcp"},{"function":{"parameters":{"properties":{"headers":{"type":"array"},"keys":["a","b"]}}}}]}',
        '{"headers":[{"name":"X-Team","value":"blue"}],"api_keys":17,"stop_tokens":["a"],"authorization":7}',
        '{"properties":{"password":{"type":"string"},"api_key":{"type":"string"}},"required":["password"]}',
        '{"arguments":"{\\"password\\":\\"a\\",\\"api_key\\":\\"b\\"}","logprobs":[{"token":"word"}]}',
        '{"max_tokens":5,"token":"a","secret":"b","key":"c","code":"d","signature":"c2lnbmVk"}',
        '{"text":"see https://a.example/?key=b, it is open","url":"https://a.example/@me"}',
        '{"headers":[{"headers":{"a":["b","headers":["',
        '{"content":[{"type":"tool_use","id":"toolu_1","name":"get","input":{"key":"KEY","token":"KEY"}}]}',
        '{"tools":[{"input_schema":{"properties":{"key":{"type":"string","examples":[{"key":"KEY"}]}}}}]}',
        '{"metadata":{"user_id":"KEY","key":"PROJ-17","token":"yes","token_type":"KEY","reset_password":"not in 3"}}',
    ],
)
def test_what_is_said_schemas_and_what_tools_are_called_with_stay(body: str) -> None:
    learned, learn = learning()
    data = body.replace("KEY", KEY).encode()
    assert (without_keys(data, learn), learned) == ((data, ()), [])


@pytest.mark.parametrize("size", [500, pytest.param(500_000, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize(
    ("begin", "part", "end"),
    [
        (b"{", b'"headers":[', b""),
        (b'{"text":"https://a.example/', b"%20", b' b"}'),
        (b'"headers":{', b'"a":[\\"', b'"}'),
        (b'{"model":"m",', b'"key":{"a":[', b""),
        (b"a=", b"name=a&", b""),
    ],
)
def test_a_long_body_is_looked_at_in_linear_time(begin: bytes, part: bytes, end: bytes, size: int) -> None:
    body = begin + part * (size // len(part)) + end
    assert without_keys(body, ignore) == (body, ())
    without_tokens(body, ignore)


@pytest.mark.parametrize(
    ("path", "asked", "is_one"),
    [
        ("/api/auth/exchange", {"grant_type": "authorization_code"}, True),
        ("/api/auth/exchange", {"refreshToken": "a"}, True),
        ("/api/auth/exchange", {"model": "m", "messages": [], "api_key": "a"}, False),
        ("/api/auth/exchange", {"jsonrpc": "2.0", "method": "a", "password": "b"}, False),
        ("/api/auth/exchange", {"key": "theme", "value": "dark"}, False),
        ("/api/auth/exchange", {"code": "print('hello')", "language": "python"}, False),
        ("/api/auth/exchange", "grant_type=a&code=b", True),
        ("/oauth/token", {}, True),
        ("/m:countTokens", {}, False),
    ],
)
def test_a_login_is_known_by_its_path_or_by_what_is_asked(path: str, asked: JSON, *, is_one: bool) -> None:
    head = Head(method="POST", url=f"https://a{path}?b=c", headers=(("Content-Type", FORM),))
    body = asked.encode() if isinstance(asked, str) else json.dumps(asked).encode()  # JSON may be called a form by curl
    assert is_login(head, body) is is_one


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("user[password]=p-1&user[name]=a", "user[password]=⟨secret:user_password_⟩&user[name]=a"),
        ("totp=p-1&pin=p-2&mfa_code=p-3&mfaCode=p-4", "totp=⟨secret:totp⟩&pin=⟨secret:pin⟩&mfa_code=⟨secret:mfa_code⟩&mfaCode=⟨secret:mfaCode⟩"),
        ('{"keys":[{"kid":"a"}],"secrets":["p-1"]}', '{"keys":[{"kid":"a"}],"secrets":["⟨secret:secrets⟩"]}'),
        ('{"code":"123456","password":"7"}', '{"code":"⟨secret:code⟩","password":"⟨secret:password⟩"}'),
        ('{"code":40001,"scopes":["a"],"expires_in":3600,"error_code":"otpx"}', ""),
    ],
)  # fmt: skip
def test_a_login_in_a_form_or_json_is_kept_without_its_secrets(body: str, kept: str) -> None:
    found, redacted = without_tokens(body.encode(), ignore)
    assert found.decode() == (kept or body)
    assert len(redacted) == kept.count("⟨secret:")
    assert without_tokens(found, ignore) == (found, ())


def test_what_is_handed_about_around_a_login_is_not_kept_and_what_says_of_what_kind_it_is_stays() -> None:
    secret = ["token", "id_token_hint", "user_code", "device_code", "registration_client_uri", "ticket", "tx_code"]
    secret += ["verification_uri_complete", "subject_token", "logout_token", "pre-authorized_code", "code_verifier"]
    words = ["token_type_hint", "subject_token_type", "code_challenge", "login_hint", "verification_uri", "expires_in"]
    told = dict.fromkeys((*secret, *words), "abc")
    kept = {**{name: f"⟨secret:{name}⟩" for name in secret}, **dict.fromkeys(words, "abc")}
    form = "&".join(f"{name}={value}" for name, value in told.items()).encode()
    assert without_tokens(form, ignore)[0].decode() == "&".join(f"{name}={value}" for name, value in kept.items())
    assert json.loads(without_tokens(json.dumps(told).encode(), ignore)[0]) == kept


def test_an_answer_that_makes_a_key_is_kept_without_it() -> None:
    long = "ek_0123456789abcdef"
    answers: Mapping[str, tuple[JSON, list[str]]] = {
        "/v1/realtime/client_secrets": ({"value": long, "session": {"type": "realtime"}}, [long]),
        "/api/v1/keys": ({"data": {"name": "a", "hash": "h", "limit": 1}, "key": "sk-or-1"}, ["sk-or-1"]),
        "/key/generate": ({"key": "k-1", "token": "t-1", "key_alias": "a", "token_type": "b"}, ["k-1", "t-1"]),
        "/register": ({"client_id": "c", "client_secret": "d", "token_endpoint_auth_method": "none"}, ["d"]),
    }
    for path, (answer, learned) in answers.items():
        assert is_login(Head(method="POST", url=f"https://a{path}"), b"{}")
        found, learn = learning()
        kept = without_tokens(json.dumps(answer).encode(), learn)[0].decode()
        assert (found, kept.count("secret:")) == (learned, len(learned))
        assert not [value for value in learned if f'"{value}"' in kept]


BROUGHT = "at-0123456789-abcdef"
TOLD = b'{"access_token": "%s", "token_type": "Bearer"}' % BROUGHT.encode()


@pytest.mark.parametrize("encoding", [None, "gzip"])
def test_a_login_through_a_tap_is_kept_without_its_secrets_and_they_are_known_from_then_on(
    encoding: str | None,
) -> None:
    kept = Kept()
    observer = Observer(kept, wire="mcp", peer="there", logins="some")
    login = observer.begin(
        "POST", "https://a/x", [("Content-Type", FORM)], b"grant_type=authorization_code&code=c-1", NOWHERE
    )
    login.response(200, [("Content-Encoding", encoding or "identity")])
    body = coded(TOLD, encoding or "")
    for piece in (body[:20], body[20:]):
        login.chunk(piece)
    login.end()
    assert kept.of("request")[0].data == "grant_type=authorization_code&code=⟨secret:code⟩".encode()
    assert kept.body() == TOLD.replace(BROUGHT.encode(), "⟨secret:access_token⟩".encode())
    assert BROUGHT not in kept.redactor.text(f"no such token: {BROUGHT}")


def test_what_is_no_answer_of_a_login_goes_on_as_it_comes() -> None:
    for content_type, body in (("text/event-stream", b"data: 1\n\n"), ("text/html", b"<p>" + b"a" * LOGIN_LIMIT)):
        kept = Kept()
        observer = Observer(kept, wire="llm", peer="there", logins="some")
        exchange = observer.begin("GET", "https://a/token", (), b"", NOWHERE)
        exchange.response(200, [("Content-Type", content_type)])
        exchange.chunk(body)
        assert kept.body() == body
