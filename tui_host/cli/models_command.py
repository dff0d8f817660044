"""`models`: lists the models that the providers offer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from tui_host.capture.visible import visible
from tui_host.cli import diagnostics
from tui_host.cli import standard_output as output
from tui_host.cli.command_host import running
from tui_host.errors import JSON, SettingsError
from tui_host.host.host import Host
from tui_host.host.provider_models import Reported, reported

if TYPE_CHECKING:
    from tui_host.cli.arguments import Arguments
    from tui_host.settings.schema import Settings


def models(arguments: Arguments, settings: Settings) -> int:
    """Ask the providers for their models and list them."""
    unknown = [name for name in arguments.words if name not in settings.providers]
    if unknown:
        configured = ", ".join(settings.providers)
        raise SettingsError(f"no provider {', '.join(unknown)}", where="models", remedy=f"choose from {configured}")
    return anyio.run(_list, settings, arguments.words, arguments.json)


async def _list(settings: Settings, names: tuple[str, ...], as_json: bool) -> int:  # noqa: FBT001 - anyio.run passes by place
    host = Host(replace(settings, servers={}), source="ask", record=False)
    answers: Sequence[Reported] = ()
    async with running(host) as interruption, anyio.create_task_group() as group:
        interruption.then(group.cancel_scope.cancel)
        answers = await reported(host, names)
    if interruption.code is not None:
        return interruption.code
    for notice in host.notices:
        diagnostics.tell(notice)
    if as_json:
        value: JSON = json.loads(host.redacted_json(json.dumps([_to_json(answer) for answer in answers])))
        output.value({"providers": value})
    else:
        for answer in answers:
            for model in answer.models:
                output.text(visible(host.redacted(f"{answer.provider}/{model}"), newlines=False))
    failed = [answer.error for answer in answers if answer.error is not None]
    if not as_json:
        for error in failed:
            diagnostics.tell(visible(host.redacted(str(error)), newlines=False))
    return diagnostics.FAILED if failed else diagnostics.DONE


def _to_json(answer: Reported) -> JSON:
    error = None if answer.error is None else answer.error.to_json()
    return {"name": answer.provider, "models": list(answer.models), "error": error}
