"""The entry point: reads the arguments and settings, runs a command or the app, and turns errors into exit codes."""

from __future__ import annotations

import os
import sys

# Only modules that Python has loaded anyway are imported up here: an interrupt before `main` would print a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Collection
    from pathlib import Path
    from types import FrameType

    from tui_host.cli.table import CommandRow
    from tui_host.errors import TuiHostError
    from tui_host.settings.load import Overrides
    from tui_host.settings.schema import Settings

INTERRUPTED = 130


def main() -> None:
    """Run the program."""
    import gc

    try:
        _leave_at_interrupts()
        gc.disable()  # imported objects live on: scanning them again and again takes a tenth of the start
        if "tap" in sys.argv:
            # The words may plainly ask for a stdio tap. Nothing else is imported then: a server's start must not wait.
            from tui_host.tap.stdio_arguments import read_stdio_arguments, relay_stdio

            tap = read_stdio_arguments(sys.argv[1:])
            if tap is not None:
                _open_what_is_closed()
                relay_stdio(tap)
        from tui_host.cli import output

        try:
            code = run(sys.argv[1:])
        finally:
            output.finish()
        _leave_at_interrupts()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
    sys.exit(code)


def _leave_at_interrupts() -> None:
    """Exit at once on an interrupt while nothing is open: before the command begins and after it has ended."""
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # an ignored signal stays ignored
        signal.signal(signal.SIGINT, _leave)


def _leave(_number: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


def run(words: list[str]) -> int:
    """Run the command in `words` and return the exit code."""
    import signal
    from importlib import import_module

    from tui_host.cli import diagnostics, output
    from tui_host.cli.arguments import read_arguments
    from tui_host.errors import TuiHostError
    from tui_host.guard.core_dumps import leave_no_core
    from tui_host.settings.load import load

    _open_what_is_closed()
    leave_no_core()
    folder: Path | None = None
    settings: Settings | None = None
    try:
        if signal.getsignal(signal.SIGINT) is _leave:  # from here on something may be open that must be closed
            signal.signal(signal.SIGINT, signal.default_int_handler)
        command, args = read_arguments(words)
        if not command.reads_settings:
            return import_module(f"tui_host.cli.commands.{command.module}").run(args, os.environ)
        settings = load(overrides(args), os.environ)
        folder = None if args.no_record else settings.data_dir
        return dispatch(command, args, settings)
    except TuiHostError as error:
        return diagnostics.report(error)
    except BrokenPipeError:
        output.abandon()  # the reader of the pipe has gone, which is no error for a filter
        return diagnostics.DONE
    except KeyboardInterrupt:
        return diagnostics.INTERRUPTED
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        diagnostics.tell(f"{place}{error.strerror or repr(error)}")
        return diagnostics.FAILED
    except Exception as error:  # noqa: BLE001 - the last resort: Python's own traceback would show conversations and secrets
        return diagnostics.report(_mistake(error, folder, settings))


def _mistake(error: Exception, folder: Path | None, settings: Settings | None) -> TuiHostError:
    """Log an unexpected exception to the folder, if there is one, and return the error to show."""
    from tui_host.host.crash_log import write_crash

    def redact(text: str) -> str:
        from tui_host.capture.redact.redaction import redactor_of

        if settings is None:
            raise LookupError("no secret is known yet")
        return redactor_of(settings).text(text)

    return write_crash(error, folder, redact)


def _open_what_is_closed() -> Collection[int]:
    """Open /dev/null for closed standard streams, whose numbers the next files would take; return those numbers."""
    closed: list[int] = []
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            closed.append(os.open(os.devnull, os.O_RDWR))
    return closed


def _end_in_order() -> None:
    """Make a terminating signal end the command cleanly, with the signal's exit code."""
    import signal

    from tui_host.cli import diagnostics

    def leave(number: int, _frame: object) -> None:
        raise SystemExit(diagnostics.ENDED_BY[signal.Signals(number)])

    for number in (signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_DFL:  # an ignored signal (nohup) stays ignored
            signal.signal(number, leave)


def overrides(args: Namespace) -> Overrides:
    """Return the typed options in the form that the settings take."""
    from tui_host.settings.load import Overrides

    only = None
    if args.server and args.command != "servers add":
        from tui_host.cli.typed_server import typed_server

        only = typed_server(args.server)
    return Overrides(
        config=args.config,
        data_dir=args.data_dir,
        model=args.model,
        needs_model=args.command in {"", "ask"},
        protocol=args.protocol,
        profile=args.profile,
        allow=tuple(getattr(args, "allow", ())),
        steps=getattr(args, "max_steps", None),
        only_server=only,
    )


def dispatch(command: CommandRow, args: Namespace, settings: Settings) -> int:
    """Run the requested command, or the app."""
    if command.name in {"", "open"}:
        from tui_host.tui.run_app import open_files, run_app

        if not command.name:
            return run_app(settings, record=not args.no_record)
        from pathlib import Path

        _end_in_order()
        return open_files([Path(word) for word in args.words], settings)
    import gc

    gc.enable()  # the app enables it once its screen is drawn
    _end_in_order()
    from importlib import import_module

    return import_module(f"tui_host.cli.commands.{command.module}").run(args, settings)


if __name__ == "__main__":
    main()
