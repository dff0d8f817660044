"""What every test gets: asyncio as anyio's backend, no home and no keyring of a person, no inherited keys."""

import gc
import itertools
import os
import signal
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test, settings

from tests.demo.running import model_at

settings.register_profile("project", deadline=None, max_examples=15)
settings.register_profile("exhaustive", deadline=None, max_examples=60)
settings.load_profile("project")

# Behind a shell's `&` it is ignored, and would be by every program that is tried.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Each worker would rewrite the asserts of every test module anew, which takes longer than all the rest of its start.
sys.dont_write_bytecode = False
# For the whole process: the first who asks for the keyring, which may be a fixture of a session, decides for all.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"

PLACES = "XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME TUI_HOST_CONFIG TUI_HOST_DATA_DIR"
KEYS_OF_PROVIDERS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "DEEPSEEK_API_KEY")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Five workers for two cores for the whole suite, since tests wait half of their time. Tests that are named run here."""
    # Without a worker between them a debugger reaches them, and `tests/bench` and `tests/interop` have the machine for themselves.
    if os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS"):
        return None
    whole = {Path(__file__).parent, Path(__file__).parents[1]}
    if not any(Path(each.partition("::")[0]).resolve() in whole for each in config.args):
        return 0
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(max(cores, 2) * 5 // 2, 16)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the gate run some of the exhaustive tests at each commit, others at the next."""
    parser.addoption(
        "--exhaustive-tenth",
        metavar="SEED",
        help="run a tenth of the exhaustive tests, chosen by SEED (the gate takes the commit's hash), and no others",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Try more examples of each property where time is no object."""
    if config.option.markexpr == "exhaustive":
        settings.load_profile("exhaustive")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a long value by its beginning: names are sent between processes with each result, and a value may have megabytes."""
    return f"{val[:80]!a}..." if isinstance(val, str | bytes) and len(val) > 80 else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Count properties among the exhaustive tests too, and keep the tenth of these that `--exhaustive-tenth` chooses."""
    # The same seed chooses the same tests on any machine.
    seed = config.getoption("exhaustive_tenth")
    if config.option.markexpr == "exhaustive":
        for item in items:
            if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj):
                item.add_marker("exhaustive")
    if seed is None:
        return
    chosen = [item for item in items if zlib.crc32(f"{seed} {item.nodeid}".encode("utf-8", "replace")) % 10 == 0]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


def pytest_collection_finish() -> None:
    """Spare the collector what was imported, which stays: else it looks through all of it again and again. And let it look rarely."""
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)  # a tenth less time than with 700


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def model_url() -> Iterator[str]:
    """The demo model without delays."""
    with model_at("--pace", "0") as (_, port):
        yield f"http://127.0.0.1:{port}/v1"


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Home folders that nobody has used. Counted here: pytest would look through all folders there are for each new one."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def no_home(monkeypatch: pytest.MonkeyPatch, homes: Iterator[Path]) -> Path:
    """A home folder of the test's own, so that nothing of the person at the keyboard is read or written."""
    home = next(homes)
    home.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(home))
    for name in (*KEYS_OF_PROVIDERS, *PLACES.split()):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    return home
