"""One zygote for all tests of the command line in this process."""

import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.kit.program import Programs, end_programs, zygote


@pytest.fixture(scope="session")
def program() -> Generator[Programs]:
    with tempfile.TemporaryDirectory(prefix="tui-host-") as folder, zygote(Path(folder)) as programs:
        yield programs


@pytest.fixture(autouse=True)
def nothing_runs_on() -> Generator[None]:
    yield
    end_programs()
