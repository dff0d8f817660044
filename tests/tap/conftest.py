"""What every test of taps gets: no process and no pipe of it is left."""

from collections.abc import Iterator

import pytest

from tests.tap.stdio_taps import STARTED


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    while STARTED:
        process = STARTED.pop()
        if process.poll() is None:
            process.kill()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()
