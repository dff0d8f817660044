"""A configuration, a data folder and a scripted provider, asked as often as a test likes."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.capture.drafts import everything_in
from tests.kit.mcp_server import mcp_server, tool
from tests.kit.peer import Answer, Peer, peer_in_thread
from tests.kit.program import Ended, Programs, Running
from tests.servers.hostile import hostile_server
from tui_host.errors import JSON

NO_SERVER = '[servers.off]\ncommand = "true"\nenabled = false\n'
KEY = "sk-test-0123456789abcdef"


def server(name: str, mode: str, *more: str) -> str:
    """A configured stdio server that behaves as `tests/servers/hostile.py` says."""
    return hostile_server(mode).table(name, *more)


CLEARS = "\x1b[2J\x1b]52;c;Y3VybA==\x1b\\\u202ereversed\x9b31m\a"


def loud() -> str:
    """A server whose every word tries to act on a terminal."""
    script: dict[str, object] = {
        "name": f"loud {CLEARS}",
        "at start": [{"stderr": f"stderr {CLEARS}"}],
        "tools": [tool("shout", description=f"described {CLEARS}"), tool(f"odd{CLEARS}")],
        "on": {"tools/call": [{"text": f"result {CLEARS}"}]},
    }
    return mcp_server(script).table("loud")


def rule(where: str, action: str) -> str:
    name, _, tool = where.partition(".")
    return f'[[rules]]\nserver = "{name}"\ntool = "{tool}"\naction = "{action}"\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a person has before them; `provider` is who answers."""

    program: Programs
    provider: Peer
    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def places(self) -> tuple[str | Path, ...]:
        return ("--config", self.folder / "config.toml", "--data-dir", self.data)

    def run(self, *words: object, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Ended:
        return self.program.run(*self.places, *words, stdin=stdin, env={"MY_KEY": KEY, **(env or {})})

    def ask(self, *words: object, stdin: bytes = b"") -> Ended:
        return self.run("ask", *words, stdin=stdin)

    def start(self, *words: object, terminal: bool = False, file_limit: int = 0) -> Running:
        return self.program.start(*words, *self.places, terminal=terminal, file_limit=file_limit, env={"MY_KEY": KEY})

    def files(self) -> bytes:
        return everything_in(self.data)

    def listed(self) -> list[dict[str, JSON]]:
        return self.run("sessions", "list", "--json").objects("sessions")


ENTRY_IN_CONTRACT = ["server", "tool", "asked", "sent", "decision", "by", "reason", "result", "is_error", "ms"]
ENTRY = [*ENTRY_IN_CONTRACT, "schema_errors", "output_errors", "changed_numbers"]


def calls_of(ended: Ended) -> list[dict[str, JSON]]:
    calls = ended.objects("calls")
    assert all(list(call) == ENTRY for call in calls)
    return calls


@contextmanager
def desk(program: Programs, at: Path, *answers: Answer, servers: str = NO_SERVER, more: str = "") -> Generator[Desk]:
    """A desk in this folder, for its configuration and data."""
    # The provider says `answers` one after the other; `servers` are their tables, `more` what else stands in the configuration.
    with peer_in_thread(*answers) as found:
        own = f'[providers.mine]\nbase_url = "{found.url}"\napi_key = "${{MY_KEY}}"\n'
        (at / "config.toml").write_text(f'model = "mine/m"\n{own}{servers}{more}[limits]\nconnect_wait = 240\n')
        yield Desk(program=program, provider=found, folder=at)
