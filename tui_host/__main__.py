"""The composition root: arguments to settings to host to front, and errors to exit codes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tui_host.cli import diagnostics
from tui_host.cli.arguments import Arguments, read_arguments
from tui_host.errors import TuiHostError
from tui_host.settings.load import Overrides, load, server_from_arguments

if TYPE_CHECKING:
    from tui_host.settings.schema import Settings


def main() -> None:
    """The program."""
    sys.exit(run(sys.argv[1:]))


def run(words: list[str]) -> int:
    """Do what the words ask for; returns the exit code."""
    try:
        arguments = read_arguments(words)
        if arguments.command == "demo-model":
            from tui_host.demo.model.serve import main as serve

            return serve(arguments.words)
        return dispatch(arguments, load(overrides(arguments), os.environ))
    except TuiHostError as error:
        return diagnostics.report(error)
    except BrokenPipeError:
        # Whoever read our output has gone: as with any filter, that is no error. Nothing may be flushed into it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return diagnostics.DONE


def overrides(arguments: Arguments) -> Overrides:
    """What was typed, as the settings take it."""
    words = arguments.server
    only = None
    if words:
        only = server_from_arguments(words[0] if "://" in words[0] and len(words) == 1 else words)
    return Overrides(
        config=arguments.config,
        data_dir=arguments.data_dir,
        model=arguments.model,
        protocol=arguments.protocol,
        allow=arguments.allow,
        steps=arguments.max_steps,
        only_server=only,
    )


def dispatch(arguments: Arguments, settings: Settings) -> int:
    """Run the front that was asked for."""
    match arguments.command:
        case "ask":
            from tui_host.cli.ask import ask

            return ask(arguments, settings)
        case "servers":
            from tui_host.cli.servers import servers

            return servers(arguments, settings)
        case "sessions":
            from tui_host.cli.sessions import sessions

            return sessions(arguments, settings)
        case _:
            from tui_host.tui.run import run_app

            return run_app(settings)


if __name__ == "__main__":
    main()
