"""Software of others, got once."""

import pytest

from tests.interop.others import HOSTS_NPM, Node


@pytest.fixture(scope="session")
def node(pytestconfig: pytest.Config) -> Node:
    return Node(pytestconfig.cache.mkdir("interop"))


@pytest.fixture(scope="session")
def hosts(pytestconfig: pytest.Config) -> Node:
    """Hosts of others from npm, some hundred megabytes."""
    return Node(pytestconfig.cache.mkdir("interop-hosts"), HOSTS_NPM)
