"""A Markdown answer that comes as fast as it can, against Textual's `MarkdownStream`."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from tests.bench import texts
from tests.bench.measure import Goal, Table, at_least, at_most
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
    table.ratio(
        f"{what}, {count:,} tokens: time of one",
        [took / count for took, _ in ours],
        [theirs / count],
        goal,
        swapped=True,
    )
    stall = min(seen["stall"] for _, seen in ours)
    table.figure(
        f"{what}: longest stall", stall, "s", at_most(0.05), note=f"MarkdownStream {their_seen['stall'] * 1000:.0f} ms"
    )


def run(table: Table) -> None:
    table.heading("streaming", "an answer as fast as it comes, against MarkdownStream; rates as the time of one token")
    size = 8_000 if table.is_quick else 78_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compare(table, folder, "mixed", texts.mixed(size), at_least(40))
        compare(table, folder, "one fence", texts.fence(30 if table.is_quick else 330), at_least(100))
        compare(table, folder, "one table", texts.table(30 if table.is_quick else 157), at_least(100))
        if table.is_quick:
            return
        early, late = f"cost at {EARLY}", f"cost at {LATE}"
        seen = [streamed(folder, "ours", texts.mixed(size), EARLY, LATE)[1] for _ in range(3)]
        stock = streamed(folder, "stock", texts.mixed(size), EARLY, LATE)[1]
        table.ratio(
            f"one more token behind {LATE:,}, against behind {EARLY:,}",
            [each[late] for each in seen],
            [each[early] for each in seen],
            at_most(1.2),
        )
        table.ratio("  the same of MarkdownStream", [stock[late]], [stock[early]])
