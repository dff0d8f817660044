"""Collects the model lists of all providers. Asks concurrently, and keeps each list with the host when it arrives."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from tui_host.errors import TuiHostError
from tui_host.host.host import Reported
from tui_host.llm.provider_check import check_provider

if TYPE_CHECKING:
    from tui_host.host.host import Host
    from tui_host.settings.schema import Provider


async def reported(host: Host, names: Sequence[str] = (), *, known: Collection[str] = ()) -> tuple[Reported, ...]:
    """Ask providers for their models, and return one entry per provider, in the order of the settings.

    Args:
        host: The host, ready or opening.
        names: Providers to ask in any case. If empty: providers with a key, in the configuration, or on this machine. Then configured
            model lists are used unasked, and presets without a key and silent local servers are left out.
        known: Providers not to ask again, unless `names` lists them.
    """
    import anyio

    from tui_host.llm.probe import local_servers

    answers: dict[str, Reported] = {}

    def take(answer: Reported) -> None:
        answers[answer.provider] = host.reported[answer.provider] = answer

    async with anyio.create_task_group() as group:
        for name, provider in host.settings.providers.items():
            # A preset without a key variable is a server on this machine; `local_servers` tries its usual port.
            is_local = bool(provider.preset) and provider.key_variable is None and not provider.embedded
            if name in names or not (names or is_local or name in known):
                group.start_soon(_ask, host, provider, bool(names), take)
        for server in () if names else await local_servers():
            provider = host.settings.providers.get(server.provider)
            if provider is not None and provider.preset:
                take(Reported(provider=server.provider, models=server.models))
    return tuple(answers[name] for name in host.settings.providers if name in answers)


async def _ask(host: Host, provider: Provider, is_named: bool, take: Callable[[Reported], None]) -> None:  # noqa: FBT001 - started by place
    if not is_named and provider.preset:
        try:
            check_provider(await host.with_key(provider), host.settings.environment)
        except TuiHostError:  # a key or a setting is missing: reported only when the user asks for the provider by name
            return
    if not is_named and provider.models:
        take(Reported(provider=provider.name, models=dict.fromkeys(provider.models)))
        return
    try:
        filled = await host.with_key(provider)
        embedded = dict.fromkeys(provider.models)
        models = embedded if provider.embedded else await host.client.list_models(filled)
    except TuiHostError as error:
        take(Reported(provider=provider.name, error=error))
    else:
        take(Reported(provider=provider.name, models=models))
