from __future__ import annotations

import pytest

from tui_host.llm.dialects.table import dialect_at
from tui_host.llm.messages import Ask
from tui_host.llm.model_request import credential_place, join, model_request, models_request
from tui_host.settings.environment_references import Secret
from tui_host.settings.presets import PRESETS
from tui_host.settings.schema import Provider, Template
from tui_host.settings.system_keyring import with_key
from tui_host.settings.urls import proxy_for

ASK = Ask(model="m", messages=())


@pytest.mark.parametrize(
    ("base", "versions", "joined"),
    [
        ("https://a.example/v1", (), "https://a.example/v1/models"),
        ("https://a.example/v1/", (), "https://a.example/v1/models"),
        ("https://a.example", (), "https://a.example/models"),
        ("https://a.example/v1?api-version=7#top", (), "https://a.example/v1/models?api-version=7"),
        ("https://h/", ("v1beta", "v1"), "https://h/v1beta/models"),
        ("https://h/v1", ("v1beta", "v1"), "https://h/v1/models"),
        ("https://h/proxy/v1beta", ("v1beta", "v1"), "https://h/proxy/v1beta/models"),
    ],
)
def test_a_path_is_joined_to_a_base_and_a_version_put_in_where_it_has_none(
    base: str, versions: tuple[str, ...], joined: str
) -> None:
    assert join(base, "models", versions) == joined


def test_no_repr_of_a_request_shows_a_key() -> None:
    provider = Provider(
        name="mine",
        base_url=Template(text="https://a.example/v1?key=${MINE}"),
        api_key=Template(text="${MINE}"),
        headers={"X": Template(text="${MINE}")},
    )

    outgoing = model_request(provider, ASK, {"MINE": "canary-123"})

    assert "canary" not in repr(outgoing)
    assert outgoing.origin == "https://a.example"
    assert ("Authorization", "Bearer canary-123") in outgoing.headers


def test_a_header_of_the_provider_s_own_stands_in_for_ours() -> None:
    provider = Provider(
        name="azure",
        base_url=Template(text="https://a.example/v1"),
        key_variable="AZURE",
        headers={"api-key": Template(text="${K}"), "authorization": Template(text="none")},
    )

    headers = models_request(provider, {"K": "k"}).headers

    assert [value for name, value in headers if name.lower() == "authorization"] == ["none"]
    assert ("api-key", "k") in headers


@pytest.mark.parametrize("name", PRESETS)
def test_a_key_of_the_keyring_is_sent_as_one_of_the_environment_is(name: str) -> None:
    provider = PRESETS[name]
    key = "k-${HOME}"  # whatever is in it

    environment = {"AZURE_OPENAI_RESOURCE": "mine", "HOME": "nowhere"}
    outgoing = model_request(with_key(provider, key), ASK, environment)
    listed = models_request(with_key(provider, key), environment)

    assert any(value.removeprefix("Bearer ") == key for _, value in outgoing.headers)
    assert outgoing.url.startswith(listed.url.partition("/models")[0].removesuffix("/tags"))
    assert outgoing.secret == Secret(f"{name}.api_key", key)
    assert credential_place(with_key(provider, key)) == "the key in the system's keyring, which f4 stores and forgets"


def test_the_place_of_a_key_is_named() -> None:
    url = Template(text="https://a.example")

    assert credential_place(Provider(name="a", base_url=url, api_key=url)) == "providers.a.api_key"
    assert credential_place(Provider(name="a", base_url=url, key_variable="K")) == "the environment variable K"
    assert credential_place(Provider(name="a", base_url=url)) == "providers.a.api_key, which is not set"


@pytest.mark.parametrize(
    ("url", "environment", "proxy"),
    [
        ("https://a.example/v1", {}, None),
        ("https://a.example/v1", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://a.example/v1", {"https_proxy": "http://q:1", "HTTPS_PROXY": "http://p:1"}, "http://q:1"),
        ("https://a.example/v1", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://a.example/v1", {"HTTP_PROXY": "p:1"}, "http://p:1"),
        ("https://a.example/v1", {"ALL_PROXY": "http://p:1"}, "http://p:1"),
        ("https://a.example/v1", {"ALL_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
        ("https://a.example/v1", {"ALL_PROXY": "http://p:1", "NO_PROXY": "b.example, example"}, None),
        ("https://a.example:8/v1", {"ALL_PROXY": "http://p:1", "no_proxy": "a.example:8"}, None),
        ("https://a.example:9/v1", {"ALL_PROXY": "http://p:1", "no_proxy": "a.example:8"}, "http://p:1"),
        ("https://10.1.2.3/v1", {"ALL_PROXY": "http://p:1", "no_proxy": "10.0.0.0/8"}, None),
        ("http://localhost:1/v1", {"ALL_PROXY": "http://p:1"}, None),
    ],
)
def test_the_proxy_is_chosen_as_the_environment_says(url: str, environment: dict[str, str], proxy: str | None) -> None:
    assert proxy_for(url, environment) == proxy


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.openai.com/v1/chat/completions", "openai"),
        ("https://r.openai.azure.com/openai/v1/responses?api-version=1", "openai-responses"),
        ("https://api.deepseek.com/anthropic/v1/messages", "anthropic"),
        ("http://127.0.0.1:11434/api/chat", "ollama"),
        ("https://g.example/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse", "gemini"),
        ("https://api.openai.com/v1/models", None),
        ("", None),
        ("http://[", None),
    ],
)
def test_a_request_s_dialect_is_known_by_its_address(url: str, name: str | None) -> None:
    found = dialect_at(url)

    assert (None if found is None else found.name) == name
