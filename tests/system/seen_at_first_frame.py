"""The program, which writes the names of all loaded modules to the file `MODULES` as it hands its first frame to the terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from textual.drivers.linux_driver import LinuxDriver

from tui_host.__main__ import main

write = LinuxDriver.write
file = Path(os.environ["MODULES"])


def watched(self: LinuxDriver, data: str) -> None:
    if "Press a number" in data and not file.exists():
        file.write_text("\n".join(sys.modules))
    write(self, data)


LinuxDriver.write = watched
main()
