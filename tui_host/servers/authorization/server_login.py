"""The login at a server behind a URL: OAuth 2.1, as MCP asks for it.

The SDK's provider finds the authorization server, registers, exchanges codes and renews tokens; it says which request comes next, and here
the request is checked and sent. This layer adds what the provider leaves out: tokens that outlive the program and are renewed by one
process at a time, a registration for each login by a person, the refusal of servers without PKCE, limits.

Source: MCP 2025-11-25 and 2026-07-28, Authorization.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from pydantic import AnyUrl

from tui_host.capture.content_codings import CodingError
from tui_host.capture.http.httpx2_tap import Httpx2Transport
from tui_host.capture.http.observer import Observer
from tui_host.capture.record import current_place
from tui_host.errors import ServerError, TuiHostError
from tui_host.servers.authorization.login_record import LoginRecord
from tui_host.servers.authorization.redirect_listener import RedirectListener, parameters
from tui_host.servers.http_failure import REFUSAL_BYTES, fault_words, first_words, read_body, refusal_error
from tui_host.servers.outgoing_request import HttpAnswer
from tui_host.servers.server_faults import WireError, innermost, reason_of, words_of_answer
from tui_host.servers.server_questions import Answerer, Login
from tui_host.settings.urls import is_loopback, parts_of, shown

if TYPE_CHECKING:
    from tui_host.servers.wire import Wire

SECONDS = 30.0
BODY_BYTES = 1 << 20
LONG_PAST = 1.0  # the SDK takes 0 for no expiry
BY_BROWSER = (("x-tui-host", "sent by the browser; its own headers, and the pages in between, are not seen here"),)
_FAULTS = (OAuthFlowError, TuiHostError, httpx2.TransportError, CodingError, ValueError, OSError, ExceptionGroup)


class ServerLogin:
    """Authenticates the requests to a server, and logs in when it refuses one with any of these `methods`."""

    def __init__(
        self,
        url: str,
        wire: Wire,
        http: httpx2.AsyncClient,
        inner: httpx2.AsyncBaseTransport,
        methods: Collection[str],
    ) -> None:
        self._url = url
        self._wire = wire
        self._spec = wire.spec
        self._answerer = wire.shared.answering.answerer
        self._remedy = f"run tui-host servers login {wire.spec.name}"
        self._http = http
        self._methods = methods
        self._record = LoginRecord(url, wire, wire.shared.answering.logins)
        self._metadata = OAuthClientMetadata(client_name="tui-host", redirect_uris=None)
        self._provider = OAuthClientProvider(
            url,
            self._metadata,
            self._record,
            redirect_handler=self._opened,
            callback_handler=self._returned,
            client_metadata_url=self._spec.client_metadata_url or None,
        )
        self._context = self._record.context = self._provider.context
        # By `inner`, without the server's own headers. What has or brings secrets is recorded without them.
        seen = Observer(wire.recorder, wire="mcp", peer=wire.server, connection=wire.id)
        self._unseen = Observer(wire.recorder, wire="mcp", peer=wire.server, connection=wire.id, logins="all")
        self._public = httpx2.AsyncClient(transport=Httpx2Transport(seen, inner), timeout=SECONDS)
        self._secret = httpx2.AsyncClient(transport=Httpx2Transport(self._unseen, inner), timeout=SECONDS)
        self._turn = anyio.Lock()
        self._listener: RedirectListener | None = None
        self._address = self._step = self._reason = ""
        self._failure: WireError | None = None

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request with the token, and again with a newer one where the server refuses that; raises WireError."""
        refusal: httpx2.Response | None = None
        words, tried = "", set[int]()
        while True:
            async with self._turn:
                self._step = ""
                try:
                    await self._authorize(request, refusal, words, tried)
                except _FAULTS as error:
                    raise self._failed(error, 401 if refusal is None else refusal.status_code) from error
            refusal = await self._http.send(request, stream=True)
            lacks_scope = extract_field_from_www_auth(refusal, "error") == "insufficient_scope"
            is_refusal = refusal.status_code == 401 or (refusal.status_code == 403 and lacks_scope)
            if not is_refusal or request.method not in self._methods:
                return refusal
            words = first_words(await read_body(refusal, REFUSAL_BYTES))
            await refusal.aclose()

    async def _authorize(
        self, request: httpx2.Request, refusal: httpx2.Response | None, words: str, tried: set[int]
    ) -> None:
        """Put a token on a request, in place of the one that was refused in these words."""
        # `tried` has the statuses for which the person has logged in to have this request accepted, 0 for a renewal.
        record, context = self._record, self._context
        refused = {"", request.headers.get("Authorization", "")}
        if refusal is not None or not record.known:
            await record.catch_up()
        is_refused = refusal is not None and refusal.status_code == 401 and record.authorization in refused
        if (is_refused or not context.is_token_valid()) and context.can_refresh_token() and 0 not in tried:
            tried.add(0)
            await self._renew(request)
        if refusal is not None and record.authorization in refused:
            await self._log_in(request, refusal, words, tried)
        request.headers.pop("Authorization", None)
        if record.authorization:
            request.headers["Authorization"] = record.authorization

    def _failed(self, error: BaseException, status: int) -> WireError:
        fault = innermost(error)
        is_of_wire = isinstance(fault, httpx2.TransportError)
        what, remedy = (fault_words(fault), "") if is_of_wire else reason_of(fault)
        words = f"the login failed {self._step}: {what}" if self._step else what
        return refusal_error(HttpAnswer(status=status, words=words, remedy=remedy or "reconnect to try again"))

    # The requests of a login.

    async def _renew(self, request: httpx2.Request) -> None:
        """Renew the token, or take over the one of a process that has; else there is none afterwards."""
        async with self._record.alone():  # what renews it is good once, and used twice it ends the login
            if await self._record.catch_up():
                return
            self._context.token_expiry_time = LONG_PAST
            try:
                await self._drive(request, None)
            except httpx2.TransportError:  # the answer may be lost, and the token used up: the second try shows it
                await self._drive(request, None)

    async def _drive(self, request: httpx2.Request, refusal: httpx2.Response | None) -> None:
        """Make the requests that the SDK wants made after the server's refusal; without one, those that renew a token."""
        flow = self._provider.async_auth_flow(request)
        with suppress(StopAsyncIteration):
            try:
                outgoing = await anext(flow)
                while outgoing is not request or refusal is not None:
                    if outgoing is not request:
                        response = await self._take_step(outgoing)
                    else:
                        response, refusal = refusal or httpx2.Response(401), None
                    outgoing = await flow.asend(response)
            finally:
                await flow.aclose()

    async def _take_step(self, outgoing: httpx2.Request) -> httpx2.Response:
        self._step = f"at {outgoing.url.scheme}://{outgoing.url.netloc.decode()}{outgoing.url.path}"
        is_secret = outgoing.method == "POST"
        self._check_place(str(outgoing.url), is_secret=is_secret)
        if "json" in outgoing.headers.get("content-type", ""):
            metadata, name, issuer = self._context.oauth_metadata, self._spec.name, self._record.issuer
            if self._spec.client_id is not None:
                what = f"the server has moved to the authorization server {issuer}, for which client_id was not given"
                raise ServerError(what, remedy=f"run tui-host servers logout {name} if the client_id is known there")
            if metadata is not None and metadata.registration_endpoint is None:
                place = "" if self._listener is None else f", with {self._listener.url} to return to"
                remedy = f"register tui-host there{place}; set client_id and redirect_port of servers.{name}"
                raise ServerError(f"{issuer} registers no clients by itself", remedy=remedy)
        response = await (self._secret if is_secret else self._public).send(outgoing, stream=True)
        try:
            body = await read_body(response, BODY_BYTES)
        finally:
            await response.aclose()
        if len(body) > BODY_BYTES:
            raise ServerError(f"the answer has more than {BODY_BYTES >> 20} MB")
        status = response.status_code
        if b"grant_type=refresh_token" in await outgoing.aread() and (status == 429 or status >= 500):
            # This says nothing about the token, which the SDK would drop.
            raise ServerError(words_of_answer(HttpAnswer(status=status, words=first_words(body))))
        answer = httpx2.Response(status, content=body, request=outgoing)
        answer.next_request = response.next_request
        return answer

    def _check_place(self, url: str, *, is_secret: bool) -> None:
        place, server = parts_of(url), parts_of(self._url).hostname or ""
        host, metadata = place.hostname or "", self._context.oauth_metadata
        if place.scheme != "https" and not (place.scheme == "http" and (is_loopback(host) or host == server)):
            raise ServerError(f"a login must not go over plain {place.scheme}")
        if is_loopback(host) and not is_loopback(server):
            raise ServerError("a server elsewhere must not send a login to this machine")
        if is_secret and metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or ()):
            what = "does not announce PKCE (S256), without which a code may be stolen"
            raise ServerError(f"{self._record.issuer} {what}")

    # A login by the person.

    async def _log_in(self, request: httpx2.Request, refusal: httpx2.Response, words: str, tried: set[int]) -> None:
        """Let the person log in. Once that has failed, it is not asked for again over this connection."""
        if self._failure is not None:
            raise self._failure
        status, scope = refusal.status_code, extract_scope_from_www_auth(refusal)
        try:
            if getattr(type(self._answerer()), "log_in", None) is Answerer.log_in:  # nobody is there
                raise ServerError(f"it needs a login: {words}" if words else "it needs a login", remedy=self._remedy)
            if status in tried:
                raise ServerError("it refuses the token that the login has just brought")
            tried.add(status)
            self._reason = "the server no longer takes the last login" if any(self._record.known) else "the first login"
            if status == 403:
                self._reason = f"further permissions: {scope or ''}"
            try:
                self._listener = RedirectListener(self._spec.redirect_port)
            except OSError as error:
                what = f"the port {self._spec.redirect_port} to return to is in use"
                raise ServerError(what, remedy="change redirect_port") from error
            self._metadata.redirect_uris = [AnyUrl(self._listener.url)]
            if self._spec.client_id is None:
                # Registered anew, for this port: where the old registration was forgotten, the browser would not come back.
                self._context.client_info = None
            await self._drive(request, refusal)
        except _FAULTS as error:
            failed = self._failed(error, status)
            self._failure = failed if status == 401 else None
            raise failed from error
        finally:
            if self._listener is not None:
                self._listener.socket.close()

    async def _opened(self, url: str) -> None:
        self._step = f"in the browser at {shown(parts_of(url))}"
        self._check_place(url, is_secret=True)
        self._address = url
        client, metadata = self._context.client_info, self._context.oauth_metadata
        if client is not None and client.client_secret and client.token_endpoint_auth_method is None:
            methods = (metadata and metadata.token_endpoint_auth_methods_supported) or ["client_secret_basic"]
            of_body = "client_secret_post" in methods and "client_secret_basic" not in methods
            client.token_endpoint_auth_method = "client_secret_post" if of_body else "client_secret_basic"

    async def _returned(self) -> AuthorizationCodeResult:
        """Wait until the browser returns, or the person pastes the address to which it was sent."""
        listener, place = self._listener, shown(parts_of(self._address))
        assert listener is not None  # noqa: S101 - opened when the login began
        state = parameters(self._address).get("state", "")
        login = Login(server=self._spec.name, url=self._address, redirect=listener.url, reason=self._reason)
        visit = self._unseen.begin("GET", self._address, BY_BROWSER, b"", current_place.get())
        answers: list[str | None] = []
        with visit.sending(), self._wire.waiting(f"waiting for the login at {place}"):
            async with anyio.create_task_group() as group:

                async def take(answer: Callable[[], Awaitable[str | None]]) -> None:
                    answers.append(await answer())
                    group.cancel_scope.cancel()

                group.start_soon(take, lambda: listener.returned(state))
                group.start_soon(take, lambda: self._answerer().log_in(login))
        if answers[0] is None:
            visit.end("closed by host")
            raise ServerError("it was given up", remedy=f"reconnect it, or {self._remedy}")
        visit.response(302, (("location", answers[0]),))
        visit.end()
        given, issuer = parameters(answers[0]), self._record.issuer
        if "error" in given and given.get("iss", issuer) == issuer:
            why = ": ".join(given[key] for key in ("error", "error_description") if key in given)
            raise ServerError(f"{place} answered {why[:200]}")
        if not given.get("code"):
            raise ServerError("the address has no code", remedy="paste the address to which the browser was sent")
        # The SDK compares the state, and who answered.
        return AuthorizationCodeResult(code=given["code"], state=given.get("state"), iss=given.get("iss"))
