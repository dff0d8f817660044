"""The client for providers: answers, lists of models, request previews. Imported late, with httpx."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

import anyio
import httpx

from tui_host.capture import content_codings as codings
from tui_host.capture.record import NOWHERE, Draft, Place
from tui_host.capture.recorder_protocol import Recording
from tui_host.errors import ModelError
from tui_host.llm.answer_stream import Stream
from tui_host.llm.dialects.table import dialect
from tui_host.llm.messages import Ask
from tui_host.llm.model_request import models_request
from tui_host.llm.outgoing import Outgoing
from tui_host.llm.protocols.tool_protocol import Reader
from tui_host.llm.sender import Sender, close, fault_of, read_body, where
from tui_host.settings.schema import Provider

LIST_SECONDS: Final = 15.0
_LIST_BYTES = 16 << 20


class ModelClient:
    """Talks to providers and records every byte. One object for the whole program, safe for concurrent turns.

    Each request is sent once, unchanged. Opens no connection before the first one.
    """

    def __init__(
        self, recorder: Recording, environment: Mapping[str, str], *, now: Callable[[], float] = time.time
    ) -> None:
        """References and proxies are looked up in the `environment` of the settings when needed."""
        self._sender = Sender(recorder, environment, now)

    def stream(self, provider: Provider, ask: Ask, *, place: Place, reader: Reader | None = None) -> Stream:
        """Return a stream of an answer; the request is sent with the first iteration.

        The `reader` is the tool protocol's for this answer; None leaves the events as they are.
        """
        return Stream(self._sender, provider, ask, place, reader)

    async def list_models(self, provider: Provider) -> tuple[str, ...]:
        """Return the models reported by a provider, in its order. Raises `ModelError` if it is unreachable or refuses."""
        outgoing = models_request(provider, self._sender.environment)
        try:
            with anyio.fail_after(LIST_SECONDS):
                response = await self._sender.send(provider, outgoing, NOWHERE)
                try:
                    return dialect(provider.dialect).models(await read_body(response, _LIST_BYTES))
                finally:
                    await close(response)
        except httpx.HTTPError as error:
            raise fault_of(provider, outgoing, error, 0) from error
        except codings.CodingError as error:
            raise ModelError(f"the list of models cannot be read: {error}", where(provider, outgoing)) from error
        except TimeoutError:
            raise ModelError(f"no list of models within {LIST_SECONDS:g} s", where(provider, outgoing)) from None

    async def preview(self, provider: Provider, ask: Ask, *, place: Place) -> tuple[Outgoing, Draft]:
        """Return the request that `stream` would send, and its record before redaction. Nothing is sent."""
        outgoing = await self._sender.written(provider, ask)
        return outgoing, await self._sender.draft(provider, outgoing, place)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._sender.aclose()
