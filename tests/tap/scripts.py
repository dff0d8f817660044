"""How scripts begin that have a recorder beside them: the process that is looked at is one of its own, as it forks, stops and kills."""

BEGUN = r"""
import os, resource, signal, sys
from pathlib import Path
from tests.tap.stdio_taps import *
from tui_host.tap.report_kinds import IN
from tui_host.tap.recording import journal
from tui_host.tap.recording import recorder_process as beside
from tui_host.tap.recording.recorder_process import Asked, Beside
from tui_host.tap.recording.line_records import Lines
from tui_host.tap.recording.channel_write import Telling
from tui_host.tap.recording.recorder_main import record

folder, case = Path(sys.argv[1]), sys.argv[-1]
told = []

def begin(tell=told.append, is_kept=True, **more):
    asked = Asked("math", data_dir=str(folder), log=None, plain=None)
    tap = Beside(lambda ends: record(ends, asked, lambda recording: Lines(recording, "math"), 0), tell, None, **more)
    telling = tap.telling()
    telling.passed(IN, b"before\n")
    telling.go()
    until(lambda: tap._journal.unsettled.kept or not is_kept)
    return tap, telling
"""
"""What has one recording, and something kept, for what follows."""
