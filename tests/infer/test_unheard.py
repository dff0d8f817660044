"""Whose every request was heard, of that nothing is taken for news."""

from __future__ import annotations

import pytest

from tests.infer.forms import NAMES
from tests.infer.plays import play


@pytest.mark.parametrize("name", NAMES)
def test_where_all_was_heard_nothing_is_unheard_whatever_hosts_do_with_what_was_said(name: str) -> None:
    exchanges = [each for seed in range(3) for each in play(seed, name).story().exchanges]
    assert len(exchanges) > 20
    assert not [each.asking.key for each in exchanges if each.unheard]
