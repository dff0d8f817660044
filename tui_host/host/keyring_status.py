"""Reads keys from the system's keyring once per provider, in a thread, so that the screen never waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from tui_host.errors import ModelError, SettingsError
from tui_host.llm import provider_keys
from tui_host.settings.environment_references import credential

if TYPE_CHECKING:
    from tui_host.capture.redact.redaction import Redactor
    from tui_host.settings.schema import Provider

_T = TypeVar("_T")
_HOLDS_SECONDS = 30.0
"""How many seconds a keyring failure counts for all providers: a user who leaves it locked is asked only once."""


@dataclass(slots=True, eq=False)
class KeyringKeys:
    """The keys read from the keyring so far. The redactor gets each key before its first use, so that it is redacted everywhere."""

    _environment: Mapping[str, str]
    _redactor: Callable[[], Redactor]
    _notices: list[str]
    _known: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    _failure: SettingsError | None = None
    _failed_at: float = 0.0

    @property
    def stored(self) -> frozenset[str]:
        """Providers known to have a key in the keyring."""
        return frozenset(name for name, key in self._known.items() if key)

    async def filled(self, provider: Provider) -> Provider:
        """Return the provider with its key from the keyring, if any. Raises ModelError if that fails, and no other key is configured."""
        if not provider_keys.may_have_key(provider):
            return provider
        try:
            if provider.name not in self._known:
                async with self._one_at_a_time:
                    await self._look(provider)
        except SettingsError as error:
            if provider.key_variable is not None and credential(provider, self._environment) is None:
                raise ModelError(error.what, error.where, error.remedy) from error
            notice = f"{error.what}; {provider.name} is asked without a key from it"
            if notice not in self._notices:
                self._notices.append(notice)
            return provider
        key = self._known[provider.name]
        return provider if key is None else provider_keys.with_key(provider, key)

    async def _look(self, provider: Provider) -> None:
        if provider.name in self._known:  # by now
            return
        if self._failure is not None and time.monotonic() - self._failed_at < _HOLDS_SECONDS:
            raise SettingsError(self._failure.what, f"providers.{provider.name}.api_key", self._failure.remedy)
        try:
            self._learn(provider, await in_thread(lambda: provider_keys.stored_key(provider.name)))
        except SettingsError as error:
            self._failure, self._failed_at = error, time.monotonic()
            raise
        self._failure = None

    async def store(self, provider: Provider, key: str) -> str:
        """Store a key; returns the keyring's name. Raises SettingsError without a keyring that takes it, or if no header can hold it."""
        credential(provider_keys.with_key(provider, key), {})
        place = await in_thread(lambda: provider_keys.store_key(provider.name, key))
        self._learn(provider, key)
        return place

    async def forget(self, provider: Provider) -> bool:
        """Delete a key from the keyring; returns False if the keyring had no key. Raises `SettingsError` as above."""
        was_there = await in_thread(lambda: provider_keys.forget_key(provider.name))
        self._known[provider.name] = None
        return was_there

    def _learn(self, provider: Provider, key: str | None) -> None:
        self._known[provider.name] = key
        if key is not None:
            self._redactor().add((f"{provider.name}.api_key", key.strip()))


async def in_thread(work: Callable[[], _T]) -> _T:
    """Run blocking work in a thread of its own, so that a user who is asked to unlock the keyring can still exit."""
    future: Future[_T] = Future()

    def run() -> None:
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001 - handed on to who waits
                future.set_exception(error)

    Thread(target=run, name="keyring", daemon=True).start()
    return await asyncio.wrap_future(future)
