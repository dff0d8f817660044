"""One app for all tests that share it, a new session for each; and one demo model without delays."""

from collections.abc import AsyncIterator

import pytest

from tests.kit.app import BROKEN, MATH, SMALL, Running, fast, running
from tests.servers.running import fork_bundled_servers
from tests.tui.waiting import let_pilots_wait
from tui_host.tui.markdown.parser import load

let_pilots_wait()
fork_bundled_servers()


@pytest.fixture(autouse=True, scope="session")
def markdown_parser() -> None:
    """Markdown is read from the first look on; the app loads the parser in a thread."""
    load()


@pytest.fixture(scope="session")
async def shared_app(tmp_path_factory: pytest.TempPathFactory, model_url: str) -> AsyncIterator[Running]:
    async with running(tmp_path_factory.mktemp("app"), config=fast(model_url) + BROKEN + MATH, size=SMALL) as app:
        await app.until_ready()
        yield app


@pytest.fixture
async def app(shared_app: Running) -> Running:
    await shared_app.renew()
    return shared_app
