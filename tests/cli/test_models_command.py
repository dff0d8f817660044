"""`models`: what the providers report, and whose key comes from where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.desk import KEY, desk
from tests.kit.bodies import text
from tests.kit.peer import head
from tests.kit.program import Programs
from tests.settings import keyrings

LISTED = head(kind="application/json") + b'{"object":"list","data":[{"id":"small"},{"id":"large\\u001b[2J"}]}'
DEMO = "demo/openai\ndemo/openai-responses\ndemo/anthropic\ndemo/gemini\ndemo/ollama\n"
STORED = "sk-kept-0123456789abcdef"


def test_the_models_of_every_provider_that_can_be_asked_are_listed_one_a_line(
    program: Programs, tmp_path: Path
) -> None:
    more = '[providers.fixed]\nbase_url = "http://127.0.0.1:9/v1"\nmodels = ["one"]\n'
    with desk(program, tmp_path, LISTED, more=more) as place:
        ended = place.run("models")

        elsewhere = ("ollama/", "lmstudio/", "llamacpp/", "vllm/")  # on whoever's machine this runs
        lines = [line for line in ended.text.splitlines(keepends=True) if not line.startswith(elsewhere)]
        assert "".join(lines) == f"mine/small\nmine/large␛[2J\nfixed/one\n{DEMO}"
        assert (ended.code, ended.told) == (0, "")
        assert place.provider.requests[0].data.startswith(b"GET /v1/models HTTP/1.1\r\n")
        assert f"Bearer {KEY}".encode() in place.provider.requests[0].data
        assert not place.data.exists()  # a list is no session


def test_one_that_cannot_be_asked_is_told_beside_the_others(program: Programs, tmp_path: Path) -> None:
    more = '[providers.gone]\nbase_url = "http://127.0.0.1:9/v1"\n'
    with desk(program, tmp_path, LISTED, LISTED, more=more) as place:
        ended = place.run("models", "gone", "mine")
        as_json = place.run("models", "gone", "mine", "--json")

    assert (ended.code, ended.text) == (1, "mine/small\nmine/large␛[2J\n")
    assert ended.err.startswith("tui-host: gone (http://127.0.0.1:9): cannot connect")
    found = as_json.json["providers"]
    assert isinstance(found, list)
    mine, gone = found
    assert mine == {"name": "mine", "models": ["small", "large\x1b[2J"], "error": None}
    assert isinstance(gone, dict)
    assert isinstance(gone["error"], dict)
    assert (as_json.code, as_json.err, gone["models"]) == (1, "", [])
    assert list(gone["error"]) == ["what", "where", "remedy"]


def test_a_named_preset_without_a_key_says_which_variable_is_missing(program: Programs, tmp_path: Path) -> None:
    with desk(program, tmp_path) as place:
        named, unknown = place.run("models", "deepseek"), place.run("models", "deepsek")

    assert (named.code, named.out) == (1, b"")
    assert "DEEPSEEK_API_KEY is not set" in named.err
    assert (unknown.code, unknown.out) == (2, b"")
    assert unknown.err.startswith("tui-host: models: no provider deepsek (choose from mine, openai,")


# Keys of the system's keyring.


def environment(tmp_path: Path, keyring: str) -> dict[str, str]:
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"tui-host mine": STORED, "tui-host other": "sk-other-0123456789"}))
    return {"PYTHON_KEYRING_BACKEND": keyring, keyrings.FILE: str(file)}


@pytest.fixture
def no_key(tmp_path: Path) -> str:
    """A folder for a provider that names no key."""
    folder = tmp_path / "desk"
    folder.mkdir()
    return str(folder)


def without_key(folder: Path, url: str) -> None:
    (folder / "config.toml").write_text(
        f'model = "mine/m"\n[providers.mine]\nbase_url = "{url}"\n[servers.off]\ncommand = "true"\nenabled = false\n'
    )


def test_a_key_of_the_system_s_keyring_is_sent_and_kept_nowhere(program: Programs, no_key: str, tmp_path: Path) -> None:
    with desk(program, Path(no_key), LISTED, text(f"you sent {STORED}")) as place:
        without_key(place.folder, place.provider.url)
        own = environment(tmp_path, keyrings.WORKS)

        listed, asked = place.run("models", "mine", env=own), place.run("ask", "hello", "--json", env=own)

        assert (listed.code, asked.code) == (0, 0)
        for request in place.provider.requests:
            assert f"Authorization: Bearer {STORED}".encode() in request.head
        assert STORED.encode() not in place.files()
        assert b"secret:mine.api_key" in place.files()
        assert STORED not in asked.text


def test_a_locked_keyring_is_told_and_the_provider_is_asked_without_a_key(
    program: Programs, no_key: str, tmp_path: Path
) -> None:
    with desk(program, Path(no_key), LISTED) as place:
        without_key(place.folder, place.provider.url)

        ended = place.run("models", "mine", env=environment(tmp_path, keyrings.LOCKED))

        assert ended.text.startswith("mine/small\n")
        assert "the system's keyring is locked (KeyringLocked: Failed to unlock the collection!)" in ended.err
        assert b"authorization" not in place.provider.requests[0].data.lower()
