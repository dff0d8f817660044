"""What one more costs when there are many already. Run by name: `uv run pytest tests/bench`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tests.capture.test_ladder import many_calls
from tui_host.capture.ladder import Ladder
from tui_host.capture.record import Record
from tui_host.capture.sse import SseDecoder
from tui_host.capture.visible import visible


def cost(work: Callable[[], object]) -> float:
    """Seconds of this process's time, the best of three."""
    found: list[float] = []
    for _ in range(3):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def test_a_text_four_times_as_long_takes_four_times_as_long() -> None:
    texts = ["\x1bé" * size for size in (50_000, 200_000)]
    short, long = (cost(lambda text=text: visible(text)) for text in texts)
    assert long < 10 * short


def test_an_event_four_times_as_long_takes_four_times_as_long_byte_by_byte() -> None:
    def read(size: int) -> None:
        decoder = SseDecoder()
        for _ in range(size):
            decoder.feed(b"x")
        decoder.finish()

    assert cost(lambda: read(400_000)) < 10 * cost(lambda: read(100_000))


def test_a_record_costs_the_same_however_many_rows_there_are() -> None:
    records = many_calls(40_000)
    tenth = len(records) // 10

    def feed(ladder: Ladder, some: Sequence[Record]) -> float:
        start = time.process_time()
        for place in range(0, len(some), 50):
            ladder.feed(some[place : place + 50])
        return time.process_time() - start

    ladder = Ladder()
    costs = [feed(ladder, records[place : place + tenth]) for place in range(0, len(records), tenth)]
    assert sorted(costs[-3:])[1] < 1.5 * sorted(costs[:3])[1]


def test_twenty_thousand_rows_are_filtered_within_two_frames_and_again_at_once() -> None:
    ladder = Ladder()
    ladder.feed(many_calls(20_000))
    texts = iter(["question dir:in", "answer dir:in", "somebody dir:in"])
    assert cost(lambda: ladder.filter(next(texts))) < 0.07
    assert cost(lambda: ladder.filter("somebody dir:in")) < 0.01
