"""Describes errors of an exchange with a model for users. Imported late, with httpx."""

from __future__ import annotations

from email.utils import formatdate
from typing import Final

import httpx

from tui_host.capture import content_codings as codings
from tui_host.capture.http.client_faults import words_of
from tui_host.capture.http.httpx_tap import exchange_of
from tui_host.capture.http.observer import header_pairs
from tui_host.capture.redact.redaction import mark
from tui_host.errors import ModelError
from tui_host.llm.dialects.table import dialect
from tui_host.llm.model_request import Outgoing, credential_place
from tui_host.settings.schema import Provider

CONNECT_SECONDS: Final = 10.0
_REFUSAL_LIMIT = 1 << 20


async def read_body(response: httpx.Response, limit: int) -> bytes:
    """Read a whole body, up to a limit. Raises `CodingError` if the body cannot be decoded."""
    content = bytearray()
    coding = codings.decoder(response.headers.get("content-encoding"))
    async for data in response.aiter_raw():
        content += coding.feed(data)
        if len(content) >= limit:
            break
    return bytes(content[:limit])


async def refusal_of(provider: Provider, outgoing: Outgoing, response: httpx.Response, *, now: float) -> ModelError:
    """Make the error for a response with a bad status.

    Args:
        provider: The provider that refused.
        outgoing: The request.
        response: The response; its body is read here.
        now: Seconds since 1970, for responses without a date.
    """
    try:
        body = await read_body(response, _REFUSAL_LIMIT)
    except (httpx.HTTPError, codings.CodingError):
        body = b""  # the status is enough; the tap has recorded the bytes
    headers = header_pairs(response.headers.raw)
    if "date" not in response.headers:
        headers = (*headers, ("date", formatdate(now, usegmt=True)))
    error = dialect(provider.dialect).error(response.status_code, headers, body)
    error.what = redacted(error.what, outgoing)
    error.where = where(provider, outgoing)
    error.exchange = exchange_of(response)
    if response.status_code in {401, 403}:
        error.remedy = f"check the credential: {credential_place(provider)}"
    return error


def where(provider: Provider, outgoing: Outgoing) -> str:
    """Return the provider's name with scheme, host and port, to say where an error happened."""
    return f"{provider.name} ({outgoing.origin})"


def redacted(text: str, outgoing: Outgoing) -> str:
    """Remove the key from a provider's message, since some providers repeat the key."""
    secret = outgoing.secret
    return text.replace(secret.reveal(), mark(secret.name)) if secret is not None else text


def fault_of(provider: Provider, outgoing: Outgoing, error: Exception, size: int) -> ModelError:
    """Describe a connection error for the user."""
    words = redacted(words_of(error), outgoing)
    remedy = "try again"
    if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
        what = f"no connection within {CONNECT_SECONDS:g} s"
    elif isinstance(error, httpx.TimeoutException):
        what = f"not a byte came for {provider.timeout:g} s, after {size:,} bytes"
    elif "CERTIFICATE_VERIFY_FAILED" in words:
        what = f"its certificate cannot be verified: {words}"
        remedy = f"set providers.{provider.name}.ca_file to the certificate that signed it, if you trust it"
    elif isinstance(error, httpx.ConnectError):
        what, remedy = f"cannot connect: {words}", "is it running? check base_url"
    elif isinstance(error, httpx.HTTPError) and size:
        what = f"the answer broke off after {size:,} bytes: {words}"
    else:
        what = f"the exchange failed: {words}"
    return ModelError(what, where(provider, outgoing), remedy)
