"""Where configuration and data are, what is said of mistakes in them, and what the providers report with whose key."""

import json
from pathlib import Path

import pytest

from tests.cli.desk import KEY, NO_SERVER, desk
from tests.kit.bodies import text
from tests.kit.peer import head
from tests.kit.program import Programs
from tests.settings import keyrings


@pytest.mark.parametrize("words", [(), ("servers", "check"), ("demo-model",)])
def test_every_command_says_its_version_without_a_configuration(program: Programs, words: tuple[str, ...]) -> None:
    ended = program.run(*words, "--version", env={"TUI_HOST_CONFIG": "/nowhere"})
    assert (ended.code, ended.text.split()[0], ended.err) == (0, "tui-host", "")


LISTED = head(kind="application/json") + b'{"object":"list","data":[{"id":"small"},{"id":"large\\u001b[2J"}]}'
DEMO = "demo/openai\ndemo/openai-responses\ndemo/anthropic\ndemo/gemini\ndemo/ollama\n"
STORED = "sk-kept-0123456789abcdef"


def test_the_models_of_every_provider_that_can_be_asked_are_listed_by_line(program: Programs, tmp_path: Path) -> None:
    fixed = '[providers.fixed]\nbase_url = "http://127.0.0.1:9/v1"\nmodels = ["one"]\n'
    gone = '[providers.gone]\nbase_url = "http://127.0.0.1:9/v1"\n'
    with desk(program, tmp_path, LISTED, LISTED, LISTED, more=fixed + gone) as place:
        ended = place.run("models")
        elsewhere = ("ollama/", "lmstudio/", "llamacpp/", "vllm/")  # on whoever's machine this runs
        lines = [line for line in ended.text.splitlines(keepends=True) if not line.startswith(elsewhere)]
        assert "".join(lines) == f"mine/small\nmine/large␛[2J\nfixed/one\n{DEMO}"
        assert place.provider.requests[0].data.startswith(b"GET /v1/models HTTP/1.1\r\n")
        assert f"Bearer {KEY}".encode() in place.provider.requests[0].data
        assert not place.data.exists()  # a list is no session
        named, as_json = place.run("models", "gone", "mine"), place.run("models", "gone", "mine", "--json")
    assert (named.code, named.text) == (1, "mine/small\nmine/large␛[2J\n")
    assert named.err.startswith("tui-host: gone (http://127.0.0.1:9): cannot connect")
    mine, lost = as_json.objects("providers")
    assert mine == {"name": "mine", "models": ["small", "large\x1b[2J"], "error": None}
    assert isinstance(lost["error"], dict)
    assert (as_json.code, as_json.err, lost["models"], list(lost["error"])) == (1, "", [], ["what", "where", "remedy"])


# Keys of the system's keyring.


def environment(tmp_path: Path, keyring: str) -> dict[str, str]:
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"tui-host mine": STORED, "tui-host other": "sk-other-0123456789"}))
    return {"PYTHON_KEYRING_BACKEND": keyring, keyrings.FILE: str(file)}


def without_key(folder: Path, url: str) -> None:
    (folder / "config.toml").write_text(f'model = "mine/m"\n[providers.mine]\nbase_url = "{url}"\n{NO_SERVER}')


def test_a_key_of_the_system_s_keyring_is_sent_and_kept_nowhere(program: Programs, tmp_path: Path) -> None:
    (folder := tmp_path / "desk").mkdir()
    with desk(program, folder, LISTED, text(f"you sent {STORED}"), LISTED) as place:
        without_key(folder, place.provider.url)
        own = environment(tmp_path, keyrings.WORKS)
        listed, asked = place.run("models", "mine", env=own), place.run("ask", "hello", "--json", env=own)
        assert (listed.code, asked.code) == (0, 0)
        for request in place.provider.requests:
            assert f"Authorization: Bearer {STORED}".encode() in request.head
        assert STORED.encode() not in place.files()
        assert b"secret:mine.api_key" in place.files()
        assert STORED not in asked.text
        # A locked one is told, and the provider is asked without a key.
        ended = place.run("models", "mine", env=environment(tmp_path, keyrings.LOCKED))
        assert ended.text.startswith("mine/small\n")
        assert "the system's keyring is locked (KeyringLocked: Failed to unlock the collection!)" in ended.err
        assert b"authorization" not in place.provider.requests[-1].data.lower()
