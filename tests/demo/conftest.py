"""One demo model without delays for the tests that only talk to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.demo.running import Client, model_at


@pytest.fixture(scope="session")
def model_port() -> Iterator[int]:
    with model_at("--pace", "0") as (process, port):
        yield port
        process.terminate()
        output, errors = process.communicate(timeout=90)
        assert (process.returncode, output, errors) == (0, b"", b"")


@pytest.fixture
def client(model_port: int) -> Iterator[Client]:
    with Client(model_port) as client:
        yield client
