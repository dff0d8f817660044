"""Software of others, got once, and the figures of what was compared."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.interop.comparison import Figures
from tests.interop.others import EVERYTHING, HOSTS_NPM, Node, fetch

TOLD = pytest.StashKey[dict[str, Figures]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TOLD] = {}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    told = config.stash[TOLD]
    if told:
        terminalreporter.section("compared, and the same to the byte")
        for name, figures in told.items():
            terminalreporter.line(f"{name}: {figures}")
        terminalreporter.line(f"in all: {sum(told.values(), start=Figures())}")


@pytest.fixture(scope="session")
def node(pytestconfig: pytest.Config) -> Node:
    """The npm packages."""
    return Node(pytestconfig.cache.mkdir("interop"))


@pytest.fixture(scope="session")
def hosts(pytestconfig: pytest.Config) -> Node:
    """Hosts of others from npm, some hundred megabytes."""
    return Node(pytestconfig.cache.mkdir("interop-hosts"), HOSTS_NPM)


@pytest.fixture(scope="session")
def fetched() -> None:
    """What the tests start with `npx`, so that none of them waits for a registry."""
    fetch(EVERYTHING)


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Callable[[str, Figures], None]:
    """Say what was compared, for the end of the run."""

    def tell_one(name: str, figures: Figures) -> None:
        told = request.config.stash[TOLD]
        told[name] = told.get(name, Figures()) + figures

    return tell_one
