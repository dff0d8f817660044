"""`models`: lists the models that the providers offer; `demo-model`: runs the demo model, which parses its own words, as a server."""

from __future__ import annotations

import gc
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace

from tui_host.capture.visible import visible
from tui_host.cli import diagnostics, options, output
from tui_host.cli.hosting import print_value, run_host, say
from tui_host.errors import SettingsError
from tui_host.host.host import Host
from tui_host.settings.schema import Settings


def add(parser: options.CommandParser) -> None:
    """Add the options; the help of the demo model is its own."""
    if parser.command == "demo-model":
        return
    parser.description = "List the models of providers that have a key, are configured, or run on this machine."
    parser.flag("--json", options.AS_JSON)
    parser.words("*", "PROVIDER", "only these providers, with or without a key")


def run(args: Namespace, settings: Settings | Mapping[str, str]) -> int:
    """Ask the providers for their models and list them, or serve the demo model until a signal."""
    if not isinstance(settings, Settings):  # the demo model needs none
        from tui_host.demo.model.__main__ import main as serve

        gc.enable()
        return serve(args.words)
    unknown = [name for name in args.words if name not in settings.providers]
    if unknown:
        remedy = f"choose from {', '.join(settings.providers)}"
        raise SettingsError(f"no provider {', '.join(unknown)}", "models", remedy)
    host = Host(replace(settings, servers={}), source="ask", record=False)

    async def ask(_: object) -> int:
        from tui_host.host.provider_models import reported

        answers = await reported(host, tuple(args.words))
        errors = [answer.error for answer in answers if answer.error is not None]
        if args.json:
            members = ("name", "models", "error")
            rows = ((answer.provider, [*answer.models], answer.error and answer.error.to_json()) for answer in answers)
            print_value(host, {"providers": [dict(zip(members, row, strict=True)) for row in rows]})
        else:
            for name in (f"{answer.provider}/{model}" for answer in answers for model in answer.models):
                output.text(visible(host.redactor.text(name), newlines=False))
            for error in errors:
                say(host, str(error))
        return diagnostics.FAILED if errors else diagnostics.DONE

    return run_host(host, ask)
