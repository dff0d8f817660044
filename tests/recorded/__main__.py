"""`python -m tests.recorded DATA_DIR [PACE]`: record the sessions of `stories.py` with real servers, a real provider and the real host."""

import argparse
from pathlib import Path

import anyio

from tests.recorded.recording import record

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.recorded")
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("pace", type=float, nargs="?", default=1.0, help="1 as people and models are, 0.02 for tests")
    given = parser.parse_args()
    given.data_dir.mkdir(parents=True)
    anyio.run(record, given.data_dir.absolute(), given.pace)
