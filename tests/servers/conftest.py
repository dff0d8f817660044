"""The server made with the SDK, over HTTP, for all tests here."""

from collections.abc import Generator

import pytest

from tests.servers.running import listening


@pytest.fixture(scope="session")
def http_url() -> Generator[str]:
    with listening("http") as (url, _):
        yield url
