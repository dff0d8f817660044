"""The program with a mistake in it: `faulty.py KIND WORDS…`. What is wrong begins once the screen is there."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from tui_host import __main__
from tui_host.host.host import Host
from tui_host.tui import ending
from tui_host.tui.app import TuiHost

CANARY = "sk-canary-4711-0815"
"""The value of `CANARY`, to which the configuration refers."""
NOISE = "[red]\x1b]52;c;EVIL\x1b\\[/nope]"


def fail() -> None:
    in_a_local = CANARY
    raise ZeroDivisionError(f"{in_a_local} {NOISE}")


def hang() -> None:
    Path(os.environ["STANDS"]).touch()
    time.sleep(600)


async def serve(self: Host) -> None:
    self.fault = None
    fail()


def main() -> None:
    kind = sys.argv.pop(1)
    painted = TuiHost._painted
    ending.LAST_SECONDS = 0.5 if kind == "loop" else 3600

    def begin(self: TuiHost) -> None:
        painted(self)
        match kind:
            case "handler":
                self.call_later(fail)
            case "thread":
                threading.Thread(target=fail).start()
            case "loop":
                self.call_later(self.set_timer, 0.1, hang)
            case _:  # "none": but it has no last resort
                pass

    TuiHost._painted = begin
    if kind == "host":
        Host._open = serve
    __main__.main()


main()
