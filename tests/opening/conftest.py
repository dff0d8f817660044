"""A store to bring files into, and that of another machine."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tui_host.capture.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store.open(tmp_path / "here" / "tui-host.db")) as opened:
        yield opened


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Store]:
    with closing(Store.open(tmp_path / "there" / "tui-host.db")) as opened:
        yield opened
