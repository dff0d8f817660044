"""`models`: lists the models that the providers offer."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_host.capture.visible import visible
from tui_host.cli import diagnostics, options, output
from tui_host.cli.hosting import host_of, print_value, run_async, running, say
from tui_host.errors import JSON, SettingsError

if TYPE_CHECKING:
    from tui_host.host.provider_models import Reported
    from tui_host.settings.schema import Settings


def add(parser: options.CommandParser) -> None:
    """Add the options."""
    parser.description = "List the models of providers that have a key, are configured, or run on this machine."
    options.json_too(parser)
    parser.words("*", "PROVIDER", "only these providers, with or without a key")


def run(args: Namespace, settings: Settings) -> int:
    """Ask the providers for their models and list them."""
    unknown = [name for name in args.words if name not in settings.providers]
    if unknown:
        configured = ", ".join(settings.providers)
        raise SettingsError(f"no provider {', '.join(unknown)}", where="models", remedy=f"choose from {configured}")
    return run_async(_list, settings, args)


async def _list(settings: Settings, args: Namespace) -> int:
    import anyio

    from tui_host.host.provider_models import reported

    host = host_of(settings, {})
    answers: Sequence[Reported] = ()
    async with running(host) as interruption, anyio.create_task_group() as group:
        interruption.then(group.cancel_scope.cancel)
        answers = await reported(host, tuple(args.words))
    if interruption.code is not None:
        return interruption.code
    failed = [answer.error for answer in answers if answer.error is not None]
    if args.json:
        print_value(host, {"providers": [_to_json(answer) for answer in answers]})
    else:
        for answer in answers:
            for model in answer.models:
                output.text(visible(host.redacted(f"{answer.provider}/{model}"), newlines=False))
        for error in failed:
            say(host, str(error))
    return diagnostics.FAILED if failed else diagnostics.DONE


def _to_json(answer: Reported) -> JSON:
    error = None if answer.error is None else answer.error.to_json()
    return {"name": answer.provider, "models": list(answer.models), "error": error}
