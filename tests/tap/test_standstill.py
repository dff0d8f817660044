"""What a relay tells of one who records and says nothing himself: looked at with a clock of the test's own."""

from collections.abc import Sequence

import pytest

from tui_host.tap.recording import standstill
from tui_host.tap.recording.journal import Journal
from tui_host.tap.recording.standstill import BEGINNING, LOOK_SECONDS, Standstill


class _Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("waits", "told"),
    [
        pytest.param([LOOK_SECONDS] * int(BEGINNING + 1), 1, id="looks each second"),
        pytest.param([*[LOOK_SECONDS] * 3, 600, *[LOOK_SECONDS] * 3], 0, id="was stopped itself"),
    ],
)
def test_only_time_in_which_the_relay_itself_ran_counts(
    waits: Sequence[float], told: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, said = _Clock(), list[str]()
    monkeypatch.setattr(standstill, "time", clock)
    journal = Journal()
    sees = Standstill(journal, said.append)
    journal.add(b"", b"a message that nobody takes")
    for wait in waits:
        clock.now += wait
        sees.look()
    assert len(said) == told
