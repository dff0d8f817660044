"""What the providers report of their models: asked side by side, each told as it answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tui_host.errors import TuiHostError
from tui_host.settings.provider_check import check_provider

if TYPE_CHECKING:
    from tui_host.llm.model_client import ModelClient
    from tui_host.settings.schema import Provider, Settings


class Asking(Protocol):
    """The host, as far as it is needed here."""

    @property
    def settings(self) -> Settings:
        """What is configured."""
        ...

    async def with_key(self, provider: Provider) -> Provider:
        """A provider as it is asked; raises TuiHostError."""
        ...

    @property
    def client(self) -> ModelClient:
        """What talks to providers; raises ModelError where the program is ending."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What one provider has.

    Attributes:
        provider: Its name.
        models: In its own order.
        error: Why it could not be asked, or what it refused with; None if it answered.
    """

    provider: str
    models: tuple[str, ...] = ()
    error: TuiHostError | None = None


async def reported(
    host: Asking,
    names: Sequence[str] = (),
    told: Callable[[Reported], None] | None = None,
    *,
    known: Collection[str] = (),
) -> tuple[Reported, ...]:
    """What the providers have.

    Args:
        host: Ready, or about to be.
        names: Those to ask, whatever is known of them. Without any: those with a key, those in a file, those on this machine.
            Then a provider whose models are configured is not asked, a preset without a key is left out, and so is one of
            this machine that does not answer.
        told: Heard as each has answered.
        known: Those that need not be asked, unless by name.

    Returns:
        One for each, in the order of the settings.
    """
    import anyio

    found: dict[str, Reported] = {}

    def take(answer: Reported) -> None:
        found[answer.provider] = answer
        if told is not None:
            told(answer)

    async with anyio.create_task_group() as group:
        for provider in _chosen(host, names):
            if provider.name in known and provider.name not in names:
                continue
            group.start_soon(_ask, host, provider, bool(names), take)
        if not names:
            group.start_soon(_look_around, host, take)
    return tuple(found[name] for name in host.settings.providers if name in found)


async def _ask(host: Asking, provider: Provider, is_named: bool, take: Callable[[Reported], None]) -> None:  # noqa: FBT001 - started by place
    if not is_named and provider.preset and not await _has_key(host, provider):
        return
    if not is_named and provider.models:
        take(Reported(provider=provider.name, models=provider.models))
        return
    try:
        filled = await host.with_key(provider)
        models = provider.models if provider.embedded else await host.client.list_models(filled)
    except TuiHostError as error:
        take(Reported(provider=provider.name, error=error))
    else:
        take(Reported(provider=provider.name, models=models))


async def _look_around(host: Asking, take: Callable[[Reported], None]) -> None:
    from tui_host.llm.probe import local_servers

    for server in await local_servers():
        provider = host.settings.providers.get(server.provider)
        if provider is not None and provider.preset:
            take(Reported(provider=server.provider, models=server.models))


def _chosen(host: Asking, names: Sequence[str]) -> Iterator[Provider]:
    for name, provider in host.settings.providers.items():
        # A preset without a variable is a server on this machine, which `local_servers` looks for by its usual port.
        if name in names or (
            not names and not (provider.preset and provider.key_variable is None and not provider.embedded)
        ):
            yield provider


async def _has_key(host: Asking, provider: Provider) -> bool:
    """Whether a preset can be asked as things are."""
    try:
        check_provider(await host.with_key(provider), host.settings.environment)
    except TuiHostError:  # no key, or its keyring failed: that is told where the provider is asked by name
        return False
    return True
