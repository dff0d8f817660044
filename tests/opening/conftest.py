"""A store to bring files into, and that of another machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tui_host.capture.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path / "here" / "tui-host.db")
    yield opened
    opened.close()


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path / "there" / "tui-host.db")
    yield opened
    opened.close()
