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
from tui_host.llm.exchange_errors import fault_of, read_body, refusal_of, where
from tui_host.llm.messages import Ask
from tui_host.llm.model_request import Outgoing, models_request
from tui_host.llm.protocols.tool_protocol import Reader
from tui_host.llm.sender import Sender, close
from tui_host.settings.schema import Provider

LIST_SECONDS: Final = 15.0
_LIST_LIMIT = 16 << 20


class ModelClient:
    """Talks to providers and records every byte. One object for the whole program, safe for concurrent turns.

    Each request is sent once, unchanged.
    """

    def __init__(
        self, recorder: Recording, environment: Mapping[str, str], *, now: Callable[[], float] = time.time
    ) -> None:
        """Create a client without opening a connection.

        Args:
            recorder: Keeps the records.
            environment: The environment in the settings, in which references and proxies are looked up when needed.
            now: Seconds since 1970.
        """
        self._sender = Sender(recorder, environment, now)

    def stream(self, provider: Provider, ask: Ask, *, place: Place, reader: Reader | None = None) -> Stream:
        """Return a stream of an answer; the request is sent with the first iteration.

        Args:
            provider: The provider; for the demo model, with the base URL printed by its process.
            ask: The content of the request.
            place: The place in the conversation for the records.
            reader: The tool protocol's reader for this answer; None leaves the events as they are.
        """
        return Stream(self._sender, provider, ask, place, reader)

    async def list_models(self, provider: Provider) -> tuple[str, ...]:
        """Return the models reported by a provider, in its order.

        Raises:
            ModelError: The provider cannot be reached, or refuses.
        """
        sender = self._sender
        outgoing = models_request(provider, sender.environment)
        try:
            with anyio.fail_after(LIST_SECONDS):
                response = await sender.send(provider, outgoing, NOWHERE)
                try:
                    if not response.is_success:
                        raise await refusal_of(provider, outgoing, response, now=sender.now())
                    return dialect(provider.dialect).models(await read_body(response, _LIST_LIMIT))
                finally:
                    await close(response)
        except httpx.HTTPError as error:
            raise fault_of(provider, outgoing, error, 0) from error
        except codings.CodingError as error:
            raise ModelError(f"the list of models cannot be read: {error}", where(provider, outgoing)) from error
        except TimeoutError:
            raise ModelError(f"no list of models within {LIST_SECONDS:g} s", where(provider, outgoing)) from None

    async def preview(self, provider: Provider, ask: Ask, *, place: Place) -> tuple[Outgoing, Draft]:
        """Return the request that `stream` would send, and its record before redaction. Nothing is sent.

        Raises:
            ModelError: The request could not be sent.
        """
        outgoing = await self._sender.written(provider, ask)
        return outgoing, await self._sender.draft(provider, outgoing, place)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._sender.aclose()
