"""Credentials by their place and by their form, what keeps a provider from being asked, and the secrets that the environment gives."""

import copy
import traceback
from pathlib import Path

import pytest

from tests.settings.reading import NOTHING, read
from tui_host.errors import SettingsError
from tui_host.llm.provider_check import check_provider, resolve_options
from tui_host.servers.server_endpoint import child_environment
from tui_host.settings.credential_places import in_url, in_variables, in_words
from tui_host.settings.environment_references import (
    CHILD_VARIABLES,
    Secret,
    credential,
    resolve,
    resolve_headers,
    secrets_of,
)
from tui_host.settings.model_options import Options
from tui_host.settings.presets import DEMO_PROVIDER, PRESETS
from tui_host.settings.schema import ModelRef, Provider, ServerSpec, Template
from tui_host.settings.sensitivity import pieces

BEARER = "Authorization: Bearer abc-12345"
ON_COMMAND_LINES: list[tuple[list[str], dict[str, str]]] = [
    (["srv", "--api-key", "abc-12345"], {"api-key": "abc-12345"}),
    (["env", "GITHUB_TOKEN=abc-12345", "srv"], {"GITHUB_TOKEN": "abc-12345"}),
    (["docker", "run", "-e", "GH_PAT=abc-12345"], {"GH_PAT": "abc-12345"}),
    (["mcp-remote", "--header", BEARER], {"Authorization": "abc-12345"}),
    (["srv", "postgres://me:p%40ss-12345@h/db"], {"userinfo": "p@ss-12345"}),
    (["srv", "--db=https://abc-12345@h/"], {"userinfo": "abc-12345"}),
    (["srv", "https://h/mcp?api_key=abc-12345&a=b"], {"api_key": "abc-12345"}),
    (["srv", "--config", '{"apiKey": "abc-12345", "max_tokens": "1"}'], {"apiKey": "abc-12345"}),
    (["srv", "Server=h;User Id=me;Password=correcthorse"], {"Password": "correcthorse"}),
    (["srv", f"--opts=header={BEARER}"], {"Authorization": "abc-12345"}),
    (["srv", "My Api-Key = abc-12345; User=me"], {"Api-Key": "abc-12345"}),
    (["srv", "--headers", "{'Authorization':'Bearer abc-12345'}"], {"Authorization": "abc-12345"}),
    (["curl", "-u", "me:abc-12345"], {"u": "abc-12345"}),
    (["srv", "host=h user = me password='a \\'b\\' 12345' dbname=d"], {"password": "a 'b' 12345"}),
    (["srv", "root:abc@:/-12345@tcp(h:3306)/db"], {"login": "abc@:/-12345"}),
    (["srv", "--broker", "me:abc-12345@h:5672"], {"login": "abc-12345"}),
    (["--password", "$tr5ng-12345!", "--secret", "$str5ng"], {"password": "$tr5ng-12345!", "secret": "$str5ng"}),
    (["--secret-key=/bPxRfiCYKEY7MDENGwJalrXUtnFEK12345"], {"secret-key": "/bPxRfiCYKEY7MDENGwJalrXUtnFEK12345"}),
    (["srv", "--password=~Px-12345", "--token", "./abc12345"], {"password": "~Px-12345", "token": "./abc12345"}),
]
NONE = [
    ["srv", "--auth", "interactive", "--token", "--port", "12345678"],
    ["srv", "--key-file", "keys/a-12345.pem", "--token-env", "TOKEN_12345", "--secret", "/run/secrets/12345"],
    ["srv", "--max-tokens=12345678", "--api-key=12345678", "--token", "${TOKEN_12345}", "--api-key", "$KEY_12345"],
    ["docker", "run", "--user", "1000:1000", "-u", "root:wheel", "redis:7.2.5-alpine3.20@sha256:0123456789abcdef"],
    ["npx", "-y", "npm:left-pad2@latest", "@scope/pkg-12345@1.2.3", "mailto:somebody-12345@example.org"],
    ["srv", "https://h/mcp?page_token=abc-12345", "user@example.org:8080", "author=somebody-12345"],
]


def test_a_credential_on_a_command_line_is_known_by_its_place_and_what_only_sounds_like_one_is_none() -> None:
    for words, expected in ON_COMMAND_LINES:
        assert dict(in_words(words)) == expected
    assert [list(in_words(words)) for words in NONE] == [[]] * len(NONE)


def test_what_is_a_credential_in_a_url_goes_to_where_another_part_begins() -> None:
    for url, hidden in (
        ("https://h/?a=;token=abc-12345&b=1", ["abc-12345"]),
        ("https://h/?token=abc>12345;6", ["abc>12345;6"]),
        ("<https://h?token=a1>; rel=next, <https://h/?token=b2>,<https://h/?token=c3>", ["a1", "b2", "c3"]),
        ("https://h/?token=a1;key=b2?secret=c3", ["a1", "b2", "c3"]),
    ):
        assert [url[span.start : span.end] for span in in_url(url)] == hidden


@pytest.mark.exhaustive
def test_a_credential_in_an_encoded_url_is_found_where_it_stands_whatever_is_encoded_before_it() -> None:
    url = "https://h/?b=%41%&next=https%3A%2F%2Fme%3Aabc-12345%40i%2F%3Ftoken%3D%61bc%2525-12345%26c%3D1"
    assert [url[span.start : span.end] for span in in_url(url)] == ["me%3Aabc-12345", "%61bc%2525-12345"]


NAMED = "GH_PAT PAT MYSQL_PWD PGPASSWORD REDISCLI_AUTH API_KEYS DB_PASS SSHPASS APIKEY_PROD HF_TOKEN JWT SESSION_COOKIE"


def test_variables_are_known_by_their_names_and_by_what_stands_in_them() -> None:
    given = {
        **dict.fromkeys((*NAMED.split(), "AWS_SECRET_ACCESS_KEY"), "abc-12345"),
        "STORAGE_CONNECTION_STRING": "Name=me;AccountKey=abc-12345",
        "DATABASE_URL": "postgres://me:abc-12345@h/db",
        "SENTRY_DSN": "https://abc-12345@h/1",
        "MCP_URL": "https://h/mcp?token=abc-12345",
        "HEADERS": "x-api-key=abc-12345",
        "PG_DSN": "host=h user=me password=abc-12345",
        "MYSQL_DSN": "root:abc-12345@tcp(h:3306)/db",
        "REDIS_LOGIN": "me:abc-12345@h:6379",
    }
    other = {
        "PWD": "/workspace",
        "OLDPWD": "/home-12345",
        "SSH_AUTH_SOCK": "/private/tmp/com.apple.launchd.x3Y7kQ9aZ1/Listeners",
        "GOOGLE_APPLICATION_CREDENTIALS": "/home/me/key-12345.json",
        "NO_PROXY_BYPASS": "host-12345",
        "SSH_ASKPASS": "x11-ssh-askpass-12345",
        "GIT_AUTHOR_NAME": "somebody 12345",
        "SSL_KEY_FILE": "key-12345.pem",
        "LS_COLORS": "di=01;34:ln=01;36:*.tar=01;31",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1000/bus,guid=0123456789abcdef",
        "NPM_CONFIG_REGISTRY": "https://registry.example/a-12345",
    }
    found = list(in_variables(given | other))
    assert {name for name, _ in found} == set(given)
    assert {value for _, value in found} == {"abc-12345", given["STORAGE_CONNECTION_STRING"]}


HALF = "aB3dE5gH7jK9mN1p"


def mine(base_url: str = "https://a.example/v1", *, headers: str = "", key: str = "", variable: str = "") -> Provider:
    return Provider(
        name="mine",
        base_url=Template(text=base_url),
        api_key=Template(text=key) if key else None,
        key_variable=variable or None,
        headers={"Authorization": Template(text=headers)} if headers else {},
        options=Options(extra_body={"user": {"id": "${WHO:-me}", "org": "${ORG:-mine}"}}),
        file="config.toml",
    )


def test_what_needs_no_variable_can_be_asked() -> None:
    for provider in (
        DEMO_PROVIDER,
        PRESETS["ollama"],
        mine(),
        mine("http://127.0.0.1:1/v1", variable="KEY"),
        mine(headers="Bearer x", variable="KEY"),
        mine(key="${KEY:-none}"),
    ):
        check_provider(provider, NOTHING)
    check_provider(PRESETS["openai"], {"OPENAI_API_KEY": "sk-1"})


def test_all_mistakes_are_told_with_file_and_key() -> None:
    wrong = mine("https://${HOST}/v1", headers="Bearer ${TOKEN}", key="${KEY}")
    again = "is not set (set the environment variable {} and start again"
    told = [
        f".headers.Authorization: TOKEN {again.format('TOKEN')})",
        f".base_url: HOST {again.format('HOST')})",
        ".api_key: the key has a character that is invalid in a header (check the environment variable KEY)",
    ]
    other = [f": OTHER {again.format('OTHER')}, or choose a model with /model, which asks for the key)"]
    for provider, lines in ((wrong, told), (mine(variable="OTHER"), other)):
        with pytest.raises(SettingsError) as caught:
            check_provider(provider, {"KEY": "clé"})
        found = [str(one) for one in (caught.value, *caught.value.more)]
        assert found == [f"config.toml: providers.mine{line}" for line in lines]


def test_a_vendors_key_is_recognised_between_other_words_and_words_are_no_keys() -> None:
    for key in (
        f"sk-{HALF}{HALF}",
        f"sk-proj-{HALF}_{HALF}-{HALF}",
        f"sk-ant-api03-{HALF}{HALF}-AA",
        f"ghp_{HALF}{HALF}0123",
        f"github_pat_11ABC{HALF}_{HALF}",
        f"glpat-{HALF}2345",
        f"xoxb-123456789012-{HALF}",
        f"sk_live_{HALF}",
        "AKIAIOSFODNN7EXAMPLE",
        f"AIza{HALF}{HALF}123",
        f"hf_{HALF}{HALF}",
    ):
        text = f'the key "{key}", in a text'
        assert list(pieces(text)) == [('the key "', False), (key, True), ('", in a text', False)]
    for text in (
        "skeleton sk-learn ask-0123456789abcdef0123456789 sk-learn-tutorial-2024-part-01-of-12-introduction",
        "xai-grok-4-fast-non-reasoning-0709-latest hf_hub_download_with_2_retries ghp_ ghost_story_of_2024",
        "AKIARABLE0 AKIAIOSFODNN7EXAMPLEANDMORE ⟨secret:vendor-key⟩",
        "",
    ):
        assert "".join(piece for piece, is_key in pieces(text) if not is_key) == text


# References to environment variables, and the secrets among them: filled in once, never shown, all known to the redactor.

CANARY = "canary-7f3a9c51"


def test_references_are_filled_in_once_and_nothing_else_is_and_one_that_is_not_set_is_named() -> None:
    environment = {"A": "one", "B": "two", "EMPTY": "", "NESTED": "${A}"}
    no_references = "$A $(touch x) ${input:key} ${A:?x} ${} ${"
    for text, filled in {
        "x${A}y${B}z${A}": "xoneytwozone",
        "${UNSET:-default}[${UNSET:-}]": "default[]",
        "${EMPTY:-default}[${EMPTY}]": "default[]",
        "${NESTED} ${UNSET:-$A}": "${A} $A",
        no_references: no_references,
    }.items():
        assert resolve(Template(text=text), environment, where="").text == filled
    typed = Template(text="${HOME}", literal=True)
    assert (resolve(typed, {"HOME": "/h"}, where="").text, typed.references) == ("${HOME}", ())
    spec = ServerSpec(name="s", env={"TOKEN": Template(text="${NOPE}")})
    with pytest.raises(SettingsError) as caught:
        child_environment(spec, {})
    remedy = "set the environment variable NOPE and start again"
    assert str(caught.value) == f"servers.s.env.TOKEN: NOPE is not set ({remedy})"


def test_strings_in_json_are_filled_in_at_any_depth() -> None:
    given = Options(extra_body={"a": ["${X}", 1, {"b": "${X}!"}], "${X}": None})
    filled = {"a": [CANARY, 1, {"b": f"{CANARY}!"}], "${X}": None}
    assert resolve_options(given, {"X": CANARY}, where="p").extra_body == filled
    with pytest.raises(SettingsError, match=r"p\.extra_body\.a\.b: Y is not set"):
        resolve_options(Options(extra_body={"a": {"b": "${Y}"}}), {}, where="p")


def test_a_secret_shows_itself_only_when_it_is_asked_to() -> None:
    secret = Secret("NAME", CANARY)
    assert secret.reveal() == CANARY
    shown = [repr(secret), str(secret), f"{secret}", f"{secret!r}", str([secret]), repr({secret: 1})]
    assert all(CANARY not in text and "Secret(NAME, 15 characters)" in text for text in shown)
    assert secret == copy.deepcopy(secret) != Secret("OTHER", CANARY)


def test_a_record_made_without_a_field_that_it_needs_names_the_field() -> None:
    with pytest.raises(TypeError, match="ModelRef needs model"):
        ModelRef(provider="mine")  # pyright: ignore[reportCallIssue]


def test_no_repr_and_no_traceback_shows_a_secret(tmp_path: Path) -> None:
    text = f"""
    [providers.p]
    base_url = "https://e.example/v1"
    api_key = "{CANARY}"
    headers = {{ X-Token = "Bearer {CANARY}", X = "${{V}}" }}
    options = {{ user = "{CANARY}" }}
    extra_body = {{ key = "{CANARY}", other = "${{V}}" }}
    [servers.s]
    command = "x"
    args = ["--key={CANARY}", "${{V}}", "${{U:-{CANARY}}}"]
    env = {{ A_KEY = "{CANARY}" }}
    [servers.t]
    url = "https://${{V}}:{CANARY}@e.example/?key={CANARY}"
    """
    settings = read(tmp_path, text, {"V": CANARY, "OPENAI_API_KEY": CANARY})
    key = credential(settings.providers["p"], settings.environment)
    resolved = resolve(Template(text="${V}"), settings.environment, where="")
    assert all(CANARY not in repr(value) for value in (settings, resolved, key, secrets_of(settings)))
    with pytest.raises(SettingsError) as caught:
        resolve(Template(text=f"{CANARY} ${{V}} ${{NOT_THERE}}"), settings.environment, where="here")
    assert CANARY not in "".join(traceback.TracebackException.from_exception(caught.value).format())


def test_the_credential_is_the_configured_one_else_the_presets_variable() -> None:
    environment = {"MINE": "mine-key\n", "PRESET": "preset-key", "EMPTY": ""}
    for asked, key in (
        (mine(key="${MINE}", variable="PRESET"), Secret("MINE", "mine-key")),  # the line end of a file is not meant
        (mine(variable="PRESET"), Secret("PRESET", "preset-key")),
        (mine(key="written", variable="PRESET"), Secret("mine.api_key", "written")),
        (mine(key="x-${MINE}"), Secret("MINE", "x-mine-key")),
        (mine(variable="UNSET"), None),
        (mine(variable="EMPTY"), None),
        (mine(key="${UNSET:-}", variable="PRESET"), None),
        (mine(), None),
    ):
        assert credential(asked, environment) == key


def test_a_configured_key_that_is_missing_or_that_no_header_can_hold_is_refused_without_showing_it() -> None:
    with pytest.raises(SettingsError, match="MINE is not set"):
        credential(mine(key="${MINE}", variable="PRESET"), {"PRESET": "preset-key"})
    with pytest.raises(SettingsError, match="MINE is empty"):
        credential(mine(key="${MINE}", variable="PRESET"), {"MINE": " ", "PRESET": "preset-key"})
    for value in (f"{CANARY}\nX-Evil: 1", f"{CANARY}é", f"{CANARY}\x00"):
        with pytest.raises(SettingsError, match="check the environment variable K") as caught:
            credential(mine(key="${K}"), {"K": value})
        assert "canary" not in repr(caught.value)
    headers = {"A": Template(text="x ${V}"), "B": Template(text="b")}
    assert resolve_headers(headers, {"V": "1"}, where="p") == {"A": "x 1", "B": "b"}
    with pytest.raises(SettingsError, match=r"p\.A: ") as caught:
        resolve_headers(headers, {"V": f"{CANARY}\r\n"}, where="p")
    assert CANARY not in str(caught.value)


def test_every_value_that_the_contract_calls_a_secret_is_known_to_the_redactor(tmp_path: Path) -> None:
    text = """
    [providers.p]
    base_url = "https://${BASE}.example/v1"
    api_key = "pre-${KEY}"
    headers = { A = "Bearer ${HEADER} ${HOME}" }
    extra_body = { a = [{ b = "${EXTRA}" }] }
    options = { a = "${OPTION}" }
    [providers.literal]
    base_url = "https://e.example"
    api_key = "written-out"
    [providers.lost]
    base_url = "https://e.example"
    api_key = "${UNSET}"
    [servers.s]
    command = "${COMMAND}"
    args = ["--k=${ARG}", "${UNSET}", "${PATH}", "--api-key", "abc-12345", "--port", "8080"]
    env = { E = "${ENV}", F = "${TZ:-UTC}", GH_PAT = "def-12345", LEVEL = "debug-12345" }
    [servers.t]
    url = "https://e.example/${URL}"
    headers = { H = "${ENV}" }
    enabled = false
    """
    names = ("BASE", "KEY", "HEADER", "EXTRA", "OPTION", "COMMAND", "ARG", "ENV", "URL", "HOME", "PATH", "TZ")
    environment = {name: f"value of {name}" for name in names}
    environment |= {"GROQ_API_KEY": "gsk", "UNUSED": "u", "XAI_API_KEY": ""}
    known = {(secret.name, secret.reveal()) for secret in secrets_of(read(tmp_path, text, environment))}
    given = {(name, f"value of {name}") for name in ("BASE", "KEY", "HEADER", "EXTRA", "ARG", "ENV", "URL")}
    assert known == given | {
        ("KEY", "pre-value of KEY"),
        ("literal.api_key", "written-out"),
        ("GROQ_API_KEY", "gsk"),
        ("api-key", "abc-12345"),
        ("GH_PAT", "def-12345"),
    }


def test_a_child_gets_the_contracts_list_and_its_own_env_and_nothing_else() -> None:
    environment = {name: f"our {name}" for name in CHILD_VARIABLES if name != "TMPDIR"}
    own = {"OPENAI_API_KEY": CANARY, "LD_PRELOAD": "x", "PYTHONPATH": "y", "GIVEN": "g"}
    spec = ServerSpec(name="s", env={"TZ": Template(text="UTC"), "TOKEN": Template(text="t-${GIVEN}")})
    assert child_environment(spec, environment | own) == environment | {"TZ": "UTC", "TOKEN": "t-g"}
