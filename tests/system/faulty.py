"""The program with a mistake in it: `faulty.py KIND WORDS…`. What is wrong begins once the screen is there."""
# pyright: reportPrivateUsage=false

import os
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

from tui_host import __main__
from tui_host.capture.store.store import Store
from tui_host.cli.commands import ask
from tui_host.guard import terminal_state as terminal
from tui_host.host.host import Host
from tui_host.tui import exits as ending
from tui_host.tui import late_loading
from tui_host.tui.app import TuiHost
from tui_host.tui.screens.main_screen import MainScreen

CANARY = "sk-canary-4711-0815"
"""The value of `CANARY`, to which the configuration refers."""
NOISE = "[red]\x1b]52;c;EVIL\x1b\\[/nope]"


def fail(*_: object) -> NoReturn:
    in_a_local = CANARY
    raise ZeroDivisionError(f"{in_a_local} {NOISE}")


def hang() -> None:
    Path(os.environ["STANDS"]).touch()
    time.sleep(600)


async def fail_in_a_task(*_: object) -> None:
    fail()


def fail_in_a_thread(*_: object) -> None:
    threading.Thread(target=fail).start()


async def leave(_: Host, main: MainScreen) -> None:
    main.app.exit()  # pyright: ignore[reportUnknownMemberType] - of any app


FAULTS: dict[str, tuple[tuple[object, str, object], ...]] = {
    "early": ((terminal, "found_terminal", fail),),
    "start": ((MainScreen, "compose", fail),),
    "host": ((Host, "_open", fail_in_a_task),),
    "end": ((late_loading, "restore_and_offer", leave), (Store, "close", fail)),
    "ask": ((ask, "run", fail),),
    "ask host": ((Host, "_open", fail_in_a_task),),
}
"""By the kind: whose, what, and what stands in its place."""


def main() -> None:
    kind = sys.argv.pop(1)
    painted = TuiHost._first_frame_painted
    ending.LAST_SECONDS = 0.5 if kind in {"loop", "stuck"} else 3600

    def begin(self: TuiHost) -> None:
        painted(self)
        match kind:
            case "handler":
                self.call_later(fail)
            case "worker":
                self.run_worker(fail_in_a_task())
            case "thread":
                fail_in_a_thread()
            case "loop":
                self.call_later(self.set_timer, 0.1, hang)
            case _:  # of another place
                pass

    TuiHost._first_frame_painted = begin
    for owner, name, fault in FAULTS.get(kind, ()):
        getattr(owner, name)  # a name that is nowhere any more would put the mistake nowhere
        setattr(owner, name, fault)
    __main__.main()


main()
