"""A Markdown answer that comes as fast as it can, against Textual's `MarkdownStream`."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from tests.bench import texts
from tests.bench.measure import Goal, Table, at_least, at_most, say
from tests.bench.on_pty import HERE, running
from tests.bench.streaming_app import tokens_of

Kind: TypeAlias = Literal["ours", "stock"]
EARLY, LATE = 2000, 19_000


def streamed(folder: Path, kind: Kind, source: str, *places: int) -> tuple[float, Mapping[str, float]]:
    """Seconds until the end was painted, and what the app saw."""
    file, result = folder / "source.md", folder / "result.json"
    file.write_text(source)
    words = (str(file), str(result), *map(str, places))
    with running((sys.executable, str(HERE / "streaming_app.py"), kind, *words), folder) as program:
        program.settle(1.0)
        program.type("s")
        took = program.until("THE-END", seconds=600) - program.typed
        program.type("q")
        program.ended()
        return took, json.loads(result.read_text())


def compare(table: Table, folder: Path, what: str, source: str, goal: Goal) -> None:
    """The rates of both, in tokens a second, and the longest stall."""
    rounds = 1 if table.is_quick else 3
    count = len(tokens_of(source))
    ours = [streamed(folder, "ours", source) for _ in range(rounds)]
    theirs, their_seen = streamed(folder, "stock", source)  # once: it takes half a minute
    taken = round(their_seen["taken"])
    if taken < count:
        say(f"  (MarkdownStream took in {taken:,} of {count:,} tokens in its time, and it gets slower with each)")
    each = [took / seen["taken"] for took, seen in ours]
    table.ratio(f"{what}, {count:,} tokens: time of one", each, [theirs / taken], goal, swapped=True)
    stall = min(seen["stall"] for _, seen in ours)
    table.figure(
        f"{what}: longest stall", stall, "s", at_most(0.05), note=f"MarkdownStream {their_seen['stall'] * 1000:.0f} ms"
    )


def place_near(source: str, count: int) -> int:
    """The number of the token that begins the part which the given one is in: the same words stand behind each."""
    share = count / len(tokens_of(source))
    return len(tokens_of(source[: source.rindex("## Part", 0, int(share * len(source)))]))


def compare_costs(table: Table, folder: Path, source: str) -> None:
    """CPU time of a token behind many against one behind few."""
    places = place_near(source, EARLY), place_near(source, LATE)
    early, late = (f"cost at {place}" for place in places)
    seen = [streamed(folder, "ours", source, *places)[1] for _ in range(5)]
    stock = streamed(folder, "stock", source, *places)[1]
    costs = [each[late] for each in seen], [each[early] for each in seen]
    table.ratio(f"one more token behind {places[1]:,}, against behind {places[0]:,}", *costs, at_most(1.2))
    table.ratio("  the same of MarkdownStream", [stock[late]], [stock[early]])


def run(table: Table) -> None:
    table.heading("streaming", "an answer as fast as it comes, against MarkdownStream; rates as the time of one token")
    size = 8_000 if table.is_quick else 78_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compare(table, folder, "mixed", texts.mixed(size), at_least(40))
        compare(table, folder, "one fence", texts.fence(30 if table.is_quick else 330), at_least(100))
        compare(table, folder, "one table", texts.table(30 if table.is_quick else 157), at_least(100))
        if not table.is_quick:
            compare_costs(table, folder, texts.mixed(size))
