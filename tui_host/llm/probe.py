"""Finds model servers on the usual ports of this machine."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from urllib.parse import urlsplit

from tui_host.settings.presets import PRESETS

_SECONDS = 0.3
_MOST = 1 << 20
_LISTS = ((b'"data"', b'"list"'), (b'"models"',))  # what a list of models holds
_LOCAL = ("ollama", "lmstudio", "llamacpp", "vllm")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """A model server on this machine, by the name of its preset, with its models as `Dialect.models` reads them."""

    provider: str
    base_url: str
    models: Mapping[str, int | None]


async def local_servers(addresses: Mapping[str, str] | None = None) -> tuple[LocalServer, ...]:
    """Return the model servers at base URLs by their preset's name, by default at the usual ports. Never raises."""
    import anyio

    if addresses is None:
        addresses = {name: PRESETS[name].base_url.text for name in _LOCAL}
    answers: dict[str, LocalServer] = {}

    async def ask(name: str, base_url: str) -> None:
        with suppress(OSError, TimeoutError, ValueError):
            # Usually no port is open. Then no HTTP client needs to be imported. Nothing is recorded: no provider is chosen.
            parts = urlsplit(base_url)
            with anyio.fail_after(_SECONDS):
                await (await anyio.connect_tcp(parts.hostname or "", parts.port or 80)).aclose()
            models = await _models(base_url, PRESETS[name].dialect)
            if models is not None:
                answers[name] = LocalServer(provider=name, base_url=base_url, models=models)

    async with anyio.create_task_group() as group:
        for name, base_url in addresses.items():
            group.start_soon(ask, name, base_url)
    return tuple(answers[name] for name in addresses if name in answers)


async def _models(base_url: str, spoken: str) -> Mapping[str, int | None] | None:
    import ssl

    import anyio
    from anyio import to_thread

    await to_thread.run_sync(import_module, "httpcore")  # httpx would import the module in the event loop
    import httpx

    from tui_host.llm.dialects.table import dialect
    from tui_host.llm.model_request import join

    body, speaks = bytearray(), dialect(spoken)
    url = join(base_url, speaks.models_path, speaks.versions)
    try:
        with anyio.fail_after(2 * _SECONDS):
            # Plain http needs no certificates; loading them takes long.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            async with (
                httpx.AsyncClient(trust_env=False, verify=context, timeout=_SECONDS) as client,
                client.stream("GET", url, headers={"Accept-Encoding": "identity"}) as response,
            ):
                async for piece in response.aiter_raw():
                    body += piece
                    if len(body) > _MOST:
                        return None
    except (httpx.HTTPError, httpx.InvalidURL):
        return None  # a server of another kind
    is_list = response.status_code == 200 and any(all(mark in body for mark in marks) for marks in _LISTS)
    return speaks.models(bytes(body)) if is_list else None
