"""References to environment variables, and the secrets among them: filled in once, never shown, all known to the redactor."""

from __future__ import annotations

import copy
import traceback
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.settings.reading import NOTHING, read
from tui_host.errors import SettingsError
from tui_host.settings.environment_references import (
    CHILD_VARIABLES,
    Secret,
    child_environment,
    credential,
    resolve,
    resolve_headers,
    resolve_options,
    secrets_of,
)
from tui_host.settings.model_options import Options
from tui_host.settings.schema import Provider, ServerSpec, Template

CANARY = "canary-7f3a9c51"


def provider(
    api_key: str | None = None, key_variable: str | None = None, headers: Mapping[str, str] = NOTHING
) -> Provider:
    own = {name: Template(text=text) for name, text in headers.items()}
    key = None if api_key is None else Template(text=api_key)
    url = Template(text="https://e.example/v1")
    return Provider(name="p", base_url=url, api_key=key, key_variable=key_variable, headers=own)


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
        (provider("${MINE}", "PRESET"), Secret("MINE", "mine-key")),  # the line end of a file is not meant
        (provider(None, "PRESET"), Secret("PRESET", "preset-key")),
        (provider("written", "PRESET"), Secret("p.api_key", "written")),
        (provider("x-${MINE}"), Secret("MINE", "x-mine-key")),
        (provider(None, "UNSET"), None),
        (provider(None, "EMPTY"), None),
        (provider("${UNSET:-}", "PRESET"), None),
        (provider(), None),
    ):
        assert credential(asked, environment) == key


def test_a_configured_key_that_is_missing_or_that_no_header_can_hold_is_refused_without_showing_it() -> None:
    with pytest.raises(SettingsError, match="MINE is not set"):
        credential(provider("${MINE}", "PRESET"), {"PRESET": "preset-key"})
    with pytest.raises(SettingsError, match="MINE is empty"):
        credential(provider("${MINE}", "PRESET"), {"MINE": " ", "PRESET": "preset-key"})
    for value in (f"{CANARY}\nX-Evil: 1", f"{CANARY}é", f"{CANARY}\x00"):
        with pytest.raises(SettingsError, match="check the environment variable K") as caught:
            credential(provider("${K}"), {"K": value})
        assert "canary" not in repr(caught.value)
    headers = provider(headers={"A": "x ${V}", "B": "b"}).headers
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
