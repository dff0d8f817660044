"""The composition root: arguments to settings to host to front, and errors to exit codes."""

from __future__ import annotations

import os
import sys

# Only modules that Python has loaded anyway are imported up here: an interrupt before `main` would print a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path
    from types import FrameType

    from tui_host.cli.arguments import Arguments
    from tui_host.cli.plain_log import PlainLines
    from tui_host.errors import TuiHostError
    from tui_host.settings.load import Overrides
    from tui_host.settings.schema import Settings

INTERRUPTED = 130


def main() -> None:
    """Run the program."""
    import gc

    try:
        _leave_at_interrupts()
        gc.disable()  # imported objects stay: scanning them again and again takes a tenth of the start
        if "tap" in sys.argv:
            _relay_at_once(sys.argv[1:])
        from tui_host.cli import standard_output as output

        try:
            code = run(sys.argv[1:])
        finally:
            output.finish()
        _leave_at_interrupts()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
    sys.exit(code)


def _leave_at_interrupts() -> None:
    """End the program at once on an interrupt, while nothing is open: before the beginning and after the end."""
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a signal that is switched off stays so
        signal.signal(signal.SIGINT, _leave)


def _raise_at_interrupts() -> None:
    """Raise `KeyboardInterrupt` from here on: something may be open that must be closed."""
    import signal

    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(_number: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


def _relay_at_once(words: list[str]) -> None:
    """Become a stdio tap if the words plainly ask for one, before anything else is imported: a server's start must not wait."""
    from tui_host.tap.stdio.server_command import become
    from tui_host.tap.typed_command import NO_TAP, read_words

    tap = read_words(words)
    if tap is not None:
        closed = _open_what_is_closed()
        try:
            from tui_host.tap.stdio.stdio_relay import relay
        except (MemoryError, SystemError, ImportError, OSError) as error:
            # Any of these may mean too little memory; a library that cannot be mapped is an ImportError.
            why = str(error) if isinstance(error, (ImportError, OSError)) else "no memory is left"
            os.write(2, f"tui-host tap: {NO_TAP}: {why}\n".encode())
            become(tap.command, closed, lambda words: os.write(2, f"tui-host tap: {words}\n".encode()))
        relay(tap, closed, _plain_lines)


def _plain_lines(write: Callable[[str], None]) -> PlainLines:
    """Return the writer of a tap's plain lines. Taps know nothing of models, so the import is late."""
    from tui_host.cli.plain_log import PlainLines

    return PlainLines(write)


def run(words: list[str]) -> int:
    """Run the command in `words` and return the exit code."""
    from tui_host.cli import diagnostics
    from tui_host.cli import standard_output as output
    from tui_host.cli.arguments import read_arguments
    from tui_host.errors import TuiHostError
    from tui_host.guard.core_dumps import leave_no_core
    from tui_host.settings.load import load

    closed = _open_what_is_closed()
    leave_no_core()
    folder: Path | None = None
    settings: Settings | None = None
    try:
        _raise_at_interrupts()
        arguments = read_arguments(words)
        if arguments.command == "demo-model":
            import gc

            from tui_host.demo.model.serve import main as serve

            gc.enable()
            return serve(arguments.words)
        if arguments.command == "tap":
            return _tap(arguments, closed)
        settings = load(overrides(arguments), os.environ)
        folder = None if arguments.no_record else settings.data_dir
        return dispatch(arguments, settings)
    except TuiHostError as error:
        return diagnostics.report(error)
    except BrokenPipeError:
        output.abandon()  # the reader has gone, which is no error for a filter
        return diagnostics.DONE
    except KeyboardInterrupt:
        return diagnostics.INTERRUPTED
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        diagnostics.tell(f"{place}{error.strerror or repr(error)}")
        return diagnostics.FAILED
    except Exception as error:  # noqa: BLE001 - the last resort: Python's own traceback would show conversations and secrets
        return diagnostics.report(_mistake(error, folder, settings))


def _tap(arguments: Arguments, closed: Collection[int]) -> int:
    """Run a tap. Reads no configuration: a mistake in ours must not stop another host."""
    if arguments.action == "stdio":
        from tui_host.tap.stdio.stdio_relay import relay
        from tui_host.tap.typed_command import Stdio

        folder = arguments.data_dir
        typed = None if folder is None else str(folder)
        relay(Stdio(arguments.words[0], arguments.server, data_dir=typed, log=arguments.log), closed, _plain_lines)
    if arguments.action in {"install", "uninstall"}:
        from tui_host.cli.tap_install import tap_install

        return tap_install(arguments, os.environ)
    from tui_host.cli.tap_command import tap

    return tap(arguments, os.environ, _plain_lines)


def _mistake(error: Exception, folder: Path | None, settings: Settings | None) -> TuiHostError:
    """Report a defect of ours; its log goes to the folder, if there is one."""
    from tui_host.host.crash_log import write_crash

    def redact(text: str) -> str:
        from tui_host.capture.redact.redaction import redactor_of

        if settings is None:
            raise LookupError("no secret is known yet")
        return redactor_of(settings).text(text)

    return write_crash(error, folder, redact)


def _open_what_is_closed() -> Collection[int]:
    """Open /dev/null for closed standard streams, whose numbers the next file would take; returns which."""
    closed: list[int] = []
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            closed.append(os.open(os.devnull, os.O_RDWR))
    return closed


def _end_in_order() -> None:
    """Let a terminating signal end the command in order, with its own exit code."""
    import signal

    from tui_host.cli import diagnostics

    def leave(number: int, _frame: object) -> None:
        raise SystemExit(diagnostics.ENDED_BY[signal.Signals(number)])

    for number in (signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_DFL:  # a signal that is switched off (nohup) stays so
            signal.signal(number, leave)


def overrides(arguments: Arguments) -> Overrides:
    """Return the typed options in the form that the settings take."""
    from tui_host.settings.load import Overrides, server_from_arguments

    words = arguments.server
    only = None
    if words:
        only = server_from_arguments(words[0] if "://" in words[0] and len(words) == 1 else words)
    return Overrides(
        config=arguments.config,
        data_dir=arguments.data_dir,
        model=arguments.model,
        needs_model=arguments.command not in {"compare", "servers", "sessions", "models", "open"},
        protocol=arguments.protocol,
        profile=arguments.profile,
        allow=arguments.allow,
        steps=arguments.max_steps,
        only_server=only,
    )


def dispatch(arguments: Arguments, settings: Settings) -> int:
    """Run the requested front."""
    if arguments.command:
        import gc

        if arguments.command != "open":
            gc.enable()  # the app enables it itself, once its screen is drawn
        _end_in_order()
    match arguments.command:
        case "ask":
            from tui_host.cli.ask_command import ask

            return ask(arguments, settings)
        case "compare":
            from tui_host.cli.compare_command import compare

            return compare(arguments, settings)
        case "servers":
            from tui_host.cli.servers_command import servers

            return servers(arguments, settings)
        case "models":
            from tui_host.cli.models_command import models

            return models(arguments, settings)
        case "open":
            from pathlib import Path

            from tui_host.tui.open_command import open_files

            return open_files([Path(word) for word in arguments.words], settings)
        case "sessions":
            from tui_host.cli.sessions_command import sessions

            return sessions(arguments, settings)
        case _:
            from tui_host.tui.run_app import run_app

            return run_app(settings, record=not arguments.no_record)


if __name__ == "__main__":
    main()
