"""`python -m tests.bench [--quick] [NAME…]`: measures, and prints each figure beside its goal. Exit code 1 if a goal is missed."""

import argparse
import os
import sys
from collections.abc import Mapping

from tests.bench import (
    details,
    living,
    model_streams,
    opening,
    recorded,
    recording,
    screens,
    taps,
    taps_http,
    tool_calls,
)
from tests.bench.measure import Bench, Table, machine, say

BENCHES: Mapping[str, Bench] = {
    "start": screens.start,
    "memory": screens.memory,
    "catalogs": screens.catalogs,
    "idle": living.idle,
    "busy": living.busy,
    "streaming": living.streaming,
    "reopening": living.reopening,
    "tool-calls": tool_calls.run,
    "model-streams": model_streams.run,
    "recording": recording.run,
    "list": recorded.listing,
    "finding": recorded.finding,
    "pages": recorded.pages,
    "bodies": details.bodies,
    "taps-http": taps_http.run,
    "taps-stdio": taps.stdio,
    "opening": opening.run,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description="Ratios against baselines of the same run."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(BENCHES)}; all without one")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller rounds: for trying, not for telling")
    arguments = parser.parse_args()
    names: list[str] = arguments.names or list(BENCHES)
    if unknown := [name for name in names if name not in BENCHES]:
        parser.error(f"no such bench: {', '.join(unknown)}")
    # Else what is installed compiled would be compiled anew at each start.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    say(machine())
    table = Table(is_quick=bool(arguments.quick))
    for name in names:
        BENCHES[name](table)
    say(f"\n{len(table.missed)} missed{': ' if table.missed else ''}{'; '.join(table.missed)}")
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
