"""How known hosts are started for one run: where they go to now, and by what words, variables and files they go elsewhere."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tui_host.errors import JSON, SettingsError
from tui_host.settings.hosts.host_runs import HostStart, Override, Table, host_in, table_at

SERVER = {"command": "uvx", "args": ["mcp-server-time"], "env": {"TZ": "UTC"}}
TAPPED = {"command": "/bin/tui-host", "args": ["tap", "stdio", "time", "--", "uvx", "mcp-server-time"]}
TAP = "http://127.0.0.1:4321"


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("claude -p hi", 0),
        ("/usr/bin/codex exec", 0),
        ("npx -y @google/gemini-cli@latest -p hi", 2),
        ("uvx --from aider-chat aider", 2),
        ("python3 claude", 1),
        ("agent run claude", None),
        ("my-claude", None),
    ],
)
def test_a_host_is_known_by_its_program_or_package(command: str, place: int | None) -> None:
    at, host = host_in(command.split())
    assert (None if host is None else at) == place


class Home:
    """A home with the files of hosts, and what a host's run becomes there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {"HOME": str(folder)}
        self.project = folder / "project"
        self.project.mkdir()

    def write(self, name: str, content: JSON) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    def file(self, override: Override, variable: str) -> Table:
        """What the run's file says to which a variable leads."""
        return json.loads(Path(override.variables[variable]).read_bytes())

    def run(
        self, command: str, servers: Mapping[str, JSON] | None = None, llm_env: str = ""
    ) -> tuple[Mapping[str, str], Override]:
        """Where it goes to, and its override when all of its models and these servers are tapped."""
        models = dict[str, str]()

        def tap_models(found: Mapping[str, str]) -> Mapping[str, str]:
            models.update(found)
            return dict.fromkeys(found, TAP)

        def tap_servers(found: Table) -> Table:
            assert servers is None or set(found) == set(servers)
            return servers or {}

        _, host = host_in(command.split())
        assert host is not None
        start = HostStart(
            words=tuple(command.split()[1:]),
            environment=self.environment,
            private=self.folder,
            llm_env=llm_env,
            tap_models=tap_models,
            tap_servers=tap_servers,
        )
        return models, host(start)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    home = Home(tmp_path)
    monkeypatch.chdir(home.project)
    return home


def test_claude_code_gets_the_servers_that_its_person_approved_and_an_address_above_its_settings(home: Home) -> None:
    own = {"mcpServers": {"own": SERVER}, "enabledMcpjsonServers": ["shared"], "disabledMcpServers": ["off"]}
    home.write(".claude.json", {"mcpServers": {"time": SERVER, "off": SERVER}, "projects": {str(home.project): own}})
    home.write("project/.mcp.json", {"mcpServers": {"shared": SERVER, "unapproved": SERVER}})
    servers: dict[str, JSON] = {"time": TAPPED, "own": TAPPED, "shared": TAPPED}
    models, override = home.run("claude", servers)
    assert models == {"ANTHROPIC_BASE_URL": "https://api.anthropic.com"}
    assert override.words == (f"--mcp-config={home.folder}/mcp.json",)
    assert override.variables == {"ANTHROPIC_BASE_URL": TAP}
    assert json.loads((home.folder / "mcp.json").read_bytes()) == {"mcpServers": servers}
    home.write(".claude/settings.json", {"env": {"ANTHROPIC_BASE_URL": "https://api.deepseek.com/anthropic"}})
    models, override = home.run("claude")
    assert models == {"ANTHROPIC_BASE_URL": "https://api.deepseek.com/anthropic"}
    assert override.words == (f'--settings={{"env": {{"ANTHROPIC_BASE_URL": "{TAP}"}}}}',)


def test_codex_gets_a_provider_of_ours_for_the_built_in_one_and_an_address_for_its_own(home: Home) -> None:
    home.write(".codex/config.toml", '[mcp_servers.time]\ncommand = "uvx"\nargs = ["mcp-server-time"]\n')
    models, override = home.run("codex", {"time": TAPPED})
    assert models == {"tui-host": "https://api.openai.com/v1"}
    assert override.words[:2] == ("-c", f'model_providers.tui-host.base_url="{TAP}"')
    assert 'model_provider="tui-host"' in override.words
    assert f"mcp_servers.time.args={json.dumps(TAPPED['args'])}" in override.words
    home.write(".codex/auth.json", {"OPENAI_API_KEY": None, "tokens": {"access_token": "t"}})
    assert home.run("codex")[0] == {"tui-host": "https://chatgpt.com/backend-api/codex"}
    home.write(".codex/config.toml", 'model_provider = "x"\n[model_providers.x]\nbase_url = "https://x.example/v1"\n')
    models, override = home.run("codex")
    assert (models, override.words) == ({"x": "https://x.example/v1"}, ("-c", f'model_providers.x.base_url="{TAP}"'))


def test_gemini_cli_gets_settings_of_the_system_with_the_login_that_it_has(home: Home) -> None:
    home.environment["GEMINI_CLI_SYSTEM_SETTINGS_PATH"] = str(home.folder / "system.json")
    home.write("system.json", {"ui": {"theme": "x"}, "mcpServers": {"other": SERVER}})
    home.write(".gemini/settings.json", {"mcpServers": {"time": SERVER}})
    home.write("project/.env", "GOOGLE_GEMINI_BASE_URL=https://g.example\n")
    models, override = home.run("gemini", {"other": TAPPED, "time": TAPPED})
    assert models == {"GOOGLE_GEMINI_BASE_URL": "https://g.example"}
    assert home.file(override, "GEMINI_CLI_SYSTEM_SETTINGS_PATH") == {
        "ui": {"theme": "x"},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "mcpServers": {"other": TAPPED, "time": TAPPED},
    }
    home.write(".gemini/settings.json", {"security": {"auth": {"selectedType": "oauth-personal"}}})
    assert home.run("gemini")[0] == {"CODE_ASSIST_ENDPOINT": "https://cloudcode-pa.googleapis.com"}


def test_opencode_gets_a_configuration_with_commands_in_its_own_form(home: Home) -> None:
    mine = {"options": {"baseURL": "http://127.0.0.1:1/v1"}}
    mcp = {"time": {"type": "local", "command": ["uvx", "mcp-server-time"], "timeout": 9}}
    home.write(".config/opencode/opencode.jsonc", json.dumps({"provider": {"mine": mine}, "mcp": mcp}) + " // mine")
    home.environment |= {
        "DEEPSEEK_API_KEY": "k",
        "OPENCODE_CONFIG_CONTENT": '{"share": "disabled", "provider": {"mine": {"npm": "x"}}}',
    }
    models, override = home.run(
        "opencode run -m anthropic/claude-x", {"time": {"type": "local", **TAPPED, "timeout": 9}}
    )
    assert models == {
        "anthropic": "https://api.anthropic.com/v1",
        "deepseek": "https://api.deepseek.com/v1",
        "mine": "http://127.0.0.1:1/v1",
    }
    content = json.loads(override.variables["OPENCODE_CONFIG_CONTENT"])
    assert (content["share"], content["provider"]["mine"]) == ("disabled", {"npm": "x", "options": {"baseURL": TAP}})
    words = [TAPPED["command"], *TAPPED["args"]]
    assert content["mcp"] == {"time": {"type": "local", "timeout": 9, "command": words}}


def test_cline_gets_copies_and_a_provider_with_a_login_is_left(home: Home) -> None:
    home.write(".cline/data/settings/cline_mcp_settings.json", {"mcpServers": {"time": SERVER}})
    settings = {"apiKey": "k", "baseUrl": "https://m.example/v1"}
    providers = {"a": {"settings": settings}, "cline": {"settings": {"auth": "a"}}}
    home.write(".cline/data/settings/providers.json", {"lastUsedProvider": "a", "providers": providers})
    models, override = home.run("cline hi", {"time": TAPPED})
    assert models == {"a": "https://m.example/v1"}
    copied = home.file(override, "CLINE_PROVIDER_SETTINGS_PATH")
    assert table_at(copied, "providers", "a", "settings") == {"apiKey": "k", "baseUrl": TAP}
    assert table_at(copied, "providers", "cline") == {"settings": {"auth": "a"}}
    assert home.file(override, "CLINE_MCP_SETTINGS_PATH") == {"mcpServers": {"time": TAPPED}}
    models, override = home.run("cline -P cline hi")
    assert (models, "CLINE_PROVIDER_SETTINGS_PATH" in override.variables) == ({}, False)


def test_goose_goes_where_its_provider_is_and_aider_by_a_variable_each(home: Home) -> None:
    home.write(".config/goose/config.yaml", "GOOSE_PROVIDER: openai\nOPENAI_HOST: 'https://m.exam'\nextensions: {}\n")
    models, override = home.run("goose session")
    assert (models, override.variables) == ({"OPENAI_HOST": "https://m.exam"}, {"OPENAI_HOST": TAP})
    home.environment["GOOSE_PROVIDER"] = "bedrock"
    with pytest.raises(SettingsError, match="bedrock"):
        home.run("goose session")
    assert home.run("goose session", llm_env="BEDROCK_URL")[1].left == "its extensions"
    home.environment["OPENAI_API_BASE"] = "http://127.0.0.1:9/v1"
    models, _ = home.run("aider")
    assert models["OPENAI_API_BASE"] == "http://127.0.0.1:9/v1"
    assert models["ANTHROPIC_API_BASE"] == "https://api.anthropic.com"
