"""Credentials by their place and by their form, and what keeps a provider from being asked, known before anything is sent."""

from __future__ import annotations

import pytest

from tests.settings.reading import NOTHING
from tui_host.errors import SettingsError
from tui_host.settings.credential_places import in_url, in_variables, in_words
from tui_host.settings.environment_references import check_provider
from tui_host.settings.model_options import Options
from tui_host.settings.presets import DEMO_PROVIDER, PRESETS
from tui_host.settings.schema import Provider, Template
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


def mine(
    base_url: str = "https://a.example/v1", *, headers: str = "", key: str = "", variable: str | None = None
) -> Provider:
    return Provider(
        name="mine",
        base_url=Template(text=base_url),
        api_key=Template(text=key) if key else None,
        key_variable=variable,
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
    other = [f": OTHER {again.format('OTHER')}, or choose a model with f4, which asks for the key)"]
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
