"""The login at a server behind a URL: OAuth 2.1, as MCP asks for it.

The SDK's provider finds the authorization server, registers and exchanges codes. It holds a lock while a request waits for its
answer, so here it only sees a request that was refused. This layer adds what the provider leaves out: tokens that outlive the program,
renewal before a new login, the refusal of servers without PKCE, given credentials, limits, and the name of the step that failed.

Source: MCP 2025-11-25 and 2026-07-28, Authorization.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import anyio
import httpx2
from anyio import to_thread
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl, ValidationError
from typing_extensions import override

from tui_host.capture.http.observer import Observer
from tui_host.capture.json.narrowing import mapping, text_or_empty
from tui_host.capture.record import current_place
from tui_host.errors import JSON, ServerError, SettingsError, TuiHostError
from tui_host.servers.authorization.login_record import PAST, issuer_of, login_of, restore, secrets_in
from tui_host.servers.authorization.redirect_listener import RedirectListener, parameters
from tui_host.servers.http_failure import first_words
from tui_host.servers.http_gate import FAULT, LOGIN, REFUSED
from tui_host.servers.login_services import LoginServices
from tui_host.servers.outgoing_request import HttpAnswer
from tui_host.servers.server_faults import innermost
from tui_host.servers.server_questions import Declines, Elicitation, Login
from tui_host.settings.environment_references import resolve
from tui_host.settings.urls import is_loopback, parts_of, shown

MOST_LOGINS = 3
"""Logins for which a server may ask during a connection."""
SECONDS = 30.0
"""Time limit for each request of a login."""
BY_BROWSER = (("x-tui-host", "sent by the browser; its own headers, and the pages in between, are not seen here"),)
"""What the record of the browser's visit says in place of the browser's headers."""
_FAULTS = (OAuthFlowError, TuiHostError, ValueError, OSError, ExceptionGroup)


class _Storage:
    """Tells the login when the SDK has something to keep."""

    def __init__(self, login: ServerLogin) -> None:
        self._login = login

    async def get_tokens(self) -> OAuthToken | None:
        """Return the current tokens: the login itself loads what was kept."""
        return self._login.context.current_tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the current client."""
        return self._login.context.client_info

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep the login with its new tokens."""
        del tokens
        await self._login.keep()

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep the registration, bound to its issuer."""
        client_info.issuer = client_info.issuer or issuer_of(self._login.context) or None
        await self._login.keep()


@dataclass(slots=True)
class _Refused:
    """A refused request."""

    response: httpx2.Response
    authorization: str | None
    is_renewed: bool = False
    is_logged_in: bool = False


class ServerLogin(OAuthClientProvider):
    """Authenticates the requests to a server, and logs in when the server demands it."""

    def __init__(self, url: str, kind: Literal["http", "sse"], services: LoginServices, observer: Observer) -> None:
        super().__init__(
            url,
            OAuthClientMetadata(client_name="tui-host", redirect_uris=[AnyUrl("http://127.0.0.1/callback")]),
            _Storage(self),
            redirect_handler=self._opened,
            callback_handler=self._returned,
            client_metadata_url=services.spec.client_metadata_url or None,
        )
        self._services = services
        self._observer = observer
        self._methods = {"POST"} if kind == "http" else {"POST", "GET"}
        self._turn = anyio.Lock()
        self._listener: RedirectListener | None = None
        self._address = ""
        self._step = ""
        self._reason = ""
        self._logins = 0
        self._is_loaded = False
        self._known: set[str] = set()
        self._stepped_up: set[str | None] = set()
        self._failure: HttpAnswer | None = None

    # Between the request and the SDK's provider.

    @override
    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        refused: _Refused | None = None
        while True:
            async with self._turn:
                steps = self._steps(request, refused)
                try:
                    outgoing = await anext(steps)
                    while True:
                        response = yield _of_login(outgoing)
                        outgoing = await steps.asend(response)
                except StopAsyncIteration:
                    pass
                except _FAULTS as error:
                    self._failed(error, request, refused)
                finally:
                    await steps.aclose()
            request.headers.pop("Authorization", None)
            self._add_auth_header(request)
            authorization = request.headers.get("Authorization")
            response = yield request
            if REFUSED in request.extensions or not self._is_refusal(request, response):
                return
            refused = refused or _Refused(response, authorization)
            refused.response, refused.authorization = response, authorization

    async def _steps(
        self, request: httpx2.Request, refused: _Refused | None
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Yield the requests with which a token is renewed, or with which the person logs in."""
        self._step = ""
        if await self._is_ready(refused):
            return
        sdk = super()._auth_flow(request)
        try:
            outgoing = await anext(sdk)
            while True:
                if outgoing is not request:
                    self._enter(outgoing)
                    answer = await self._asked_of_person(outgoing)
                    response = (yield outgoing) if answer is None else answer
                    if FAULT in response.extensions:
                        raise ServerError(str(response.extensions[FAULT]))
                elif refused is None or self._authorization() not in {None, refused.authorization}:
                    return
                else:
                    await self._begin(refused)
                    response = refused.response
                outgoing = await sdk.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await sdk.aclose()
            if self._listener is not None:
                self._listener.close()

    async def _is_ready(self, refused: _Refused | None) -> bool:
        """Whether there is a token to try; otherwise the token is to be renewed, or to be got by a login."""
        await self._initialize()
        if refused is None and (self.context.is_token_valid() or not self.context.can_refresh_token()):
            return True
        await self._catch_up()
        if refused is None:
            return self.context.is_token_valid()
        if self._authorization() not in {None, refused.authorization}:
            return True  # another request, or another process, has brought a new token
        if refused.response.status_code == 401 and self.context.can_refresh_token() and not refused.is_renewed:
            refused.is_renewed = True
            self.context.token_expiry_time = PAST
        return False

    def _authorization(self) -> str | None:
        tokens = self.context.current_tokens
        return f"Bearer {tokens.access_token}" if tokens is not None and tokens.access_token else None

    def _is_refusal(self, request: httpx2.Request, response: httpx2.Response) -> bool:
        if request.method not in self._methods:
            return False
        scope_is_missing = extract_field_from_www_auth(response, "error") == "insufficient_scope"
        return response.status_code == 401 or (response.status_code == 403 and scope_is_missing)

    def _failed(self, error: BaseException, request: httpx2.Request, refused: _Refused | None) -> None:
        """Answer the request with the reason, in the server's place."""
        fault = innermost(error)
        what = fault.what if isinstance(fault, TuiHostError) else _words(fault)
        remedy = fault.remedy if isinstance(fault, TuiHostError) else ""
        status = 401 if refused is None else refused.response.status_code
        words = f"the login failed {self._step}: {what}" if self._step else what
        failure = HttpAnswer(status=status, words=words, remedy=remedy or "reconnect to try again")
        if status == 401:
            self._failure = failure
        request.extensions[REFUSED] = failure

    # A login, step by step.

    @property
    def _remedy(self) -> str:
        return f"run tui-host servers login {self._services.spec.name}"

    async def _begin(self, refused: _Refused) -> None:
        """Prepare a login by the person.

        Raises:
            ServerError: There is no person, or the server asks too often.
        """
        status = refused.response.status_code
        scope = extract_scope_from_www_auth(refused.response)
        if self._failure is not None:
            raise ServerError(self._failure.words, remedy=self._failure.remedy)
        if getattr(type(self._services.answerer()), "log_in", None) is Declines.log_in:  # nobody is there
            words = first_words(await refused.response.aread())
            what = f"it needs a login: {words}" if words else "it needs a login"
            raise ServerError(what, remedy=self._remedy)
        if status == 401 and refused.is_logged_in:
            raise ServerError("it refuses the token that the login has just brought")
        if status == 403 and scope in self._stepped_up:
            raise ServerError(f"it asks again for the scope {scope}, which the last login asked for")
        if self._logins >= MOST_LOGINS:
            raise ServerError(f"it asks for a login again, after {MOST_LOGINS}")
        refused.is_logged_in = True
        self._logins += 1
        self._stepped_up.add(scope)
        self._reason = f"further permissions: {scope or ''}" if status == 403 else "the first login"
        if status == 401 and refused.authorization is not None:
            self._reason = "the server no longer takes the last login"
        self._listen()

    def _listen(self) -> None:
        """Open the port to return to: the configured port, else that of the registration, else any."""
        client, port = self.context.client_info, self._services.spec.redirect_port
        registered = 0
        if not port and client is not None and client.redirect_uris:
            registered = client.redirect_uris[0].port or 0
        try:
            self._listener = RedirectListener(port or registered)
        except OSError as error:
            if port:
                raise ServerError(f"the port {port} to return to is in use", remedy="change redirect_port") from error
            self.context.client_info = None  # registered for a port that is in use now
            self._listener = RedirectListener(0)
        self.context.client_metadata.redirect_uris = [AnyUrl(self._listener.url)]

    def _enter(self, outgoing: httpx2.Request) -> None:
        """Note the step that begins, and check that it may be taken.

        Raises:
            ServerError: The authorization server is not to be trusted with it.
        """
        url, kind = outgoing.url, outgoing.headers.get("content-type", "")
        place = f"{url.scheme}://{url.netloc.decode()}{url.path}"
        if outgoing.method == "GET":
            whose = "server" if "oauth-protected-resource" in url.path else "authorization server"
            self._step = f"reading the metadata of the {whose} at {place}"
        elif "json" in kind:
            self._step = f"registering at {place}"
        else:
            self._step = f"getting a token at {place}"
        self._check_place(str(url))
        if outgoing.method == "POST":
            self._check_pkce()

    def _check_place(self, url: str) -> None:
        place, server = parts_of(url), parts_of(self.context.server_url).hostname or ""
        host = place.hostname or ""
        if place.scheme != "https" and not (place.scheme == "http" and (is_loopback(host) or host == server)):
            raise ServerError(f"a login must not go over plain {place.scheme}")
        if is_loopback(host) and not is_loopback(server):
            raise ServerError("a server elsewhere must not send a login to this machine")

    def _check_pkce(self) -> None:
        metadata = self.context.oauth_metadata
        if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or ()):
            raise ServerError(
                f"{issuer_of(self.context)} does not announce PKCE (S256), without which a code may be stolen"
            )

    async def _asked_of_person(self, outgoing: httpx2.Request) -> httpx2.Response | None:
        """Ask the person for a client id where the authorization server registers no clients; None to send the request."""
        metadata = self.context.oauth_metadata
        is_registration = outgoing.method == "POST" and "json" in outgoing.headers.get("content-type", "")
        if not is_registration or (metadata is None and self._services.spec.client_id is None):
            return None
        issuer, name = issuer_of(self.context), self._services.spec.name
        if self._services.spec.client_id is not None:
            what = f"the server has moved to the authorization server {issuer}, for which client_id was not given"
            raise ServerError(what, remedy=f"run tui-host servers logout {name} if the client_id is known there")
        if metadata is None or metadata.registration_endpoint is not None:
            return None
        schema: JSON = {
            "type": "object",
            "properties": {
                "client_id": {"type": "string", "title": "Client id"},
                "client_secret": {"type": "string", "title": "Client secret", "description": "if there is one"},
            },
            "required": ["client_id"],
        }
        redirect = "" if self._listener is None else self._listener.url
        message = f"{issuer} registers no clients by itself. Register tui-host there, with {redirect} to return to."
        with self._services.waiting("waiting for a client id"):
            question = Elicitation(server=name, message=message, schema=mapping(schema))
            answer = await self._services.answerer().elicit(question)
        given = {key: text for key, value in (answer.content or {}).items() if (text := text_or_empty(value))}
        if answer.action != "accept" or "client_id" not in given:
            raise ServerError(f"{issuer} registers no clients", remedy=f"set client_id of servers.{name}")
        return httpx2.Response(201, json={**given, "redirect_uris": [redirect]}, request=outgoing)

    async def _opened(self, url: str) -> None:
        """Take the address for the browser from the SDK."""
        self._step = f"in the browser at {shown(parts_of(url))}"
        self._check_place(url)
        self._check_pkce()
        self._address = url
        client, metadata = self.context.client_info, self.context.oauth_metadata
        if client is not None and client.client_secret and client.token_endpoint_auth_method is None:
            methods = (metadata and metadata.token_endpoint_auth_methods_supported) or ["client_secret_basic"]
            of_body = "client_secret_post" in methods and "client_secret_basic" not in methods
            client.token_endpoint_auth_method = "client_secret_post" if of_body else "client_secret_basic"

    async def _returned(self) -> AuthorizationCodeResult:
        """Wait until the browser returns, or the person pastes the address to which it was sent."""
        listener, place = self._listener, shown(parts_of(self._address))
        assert listener is not None  # noqa: S101 - opened when the login began
        state = parameters(self._address).get("state", "")
        login = Login(server=self._services.spec.name, url=self._address, redirect=listener.url, reason=self._reason)
        visit = self._observer.begin("GET", self._address, BY_BROWSER, b"", current_place.get())
        answers: list[str | None] = []
        with visit.sending(), self._services.waiting(f"waiting for the login at {place}"):
            async with anyio.create_task_group() as group:

                async def listen() -> None:
                    answers.append(await listener.returned(state))
                    group.cancel_scope.cancel()

                async def ask() -> None:
                    answers.append(await self._services.answerer().log_in(login))
                    group.cancel_scope.cancel()

                group.start_soon(listen)
                group.start_soon(ask)
        if answers[0] is None:
            visit.close()
            raise ServerError("it was given up", remedy=f"reconnect it, or {self._remedy}")
        visit.response(302, (("location", answers[0]),))
        visit.end()
        given = parameters(answers[0])
        metadata = self.context.oauth_metadata
        if "error" in given and (metadata is None or given.get("iss", str(metadata.issuer)) == str(metadata.issuer)):
            why = ": ".join(given[key] for key in ("error", "error_description") if key in given)
            raise ServerError(f"{place} answered {why[:200]}")
        if not given.get("code"):
            raise ServerError("the address has no code", remedy="paste the address to which the browser was sent")
        if given.get("state") != state:
            raise ServerError("the answer belongs to another login")
        return AuthorizationCodeResult(code=given["code"], state=state, iss=given.get("iss"))

    # What outlives the program.

    @override
    async def _initialize(self) -> None:
        """Load the kept login, once: afterwards what is in memory is newer."""
        self._initialized = True
        if self._is_loaded:
            return
        self._is_loaded = True
        try:
            login = await to_thread.run_sync(self._services.logins.load, self.context.server_url)
            self._learn(login)
            restore(self.context, login)
            self._use_given_client()
        except SettingsError as error:
            self._services.notice(str(error))

    async def _catch_up(self) -> None:
        """Take over a login that another process has kept since: a refresh token may be used only once."""
        with suppress(SettingsError):  # told when the login was loaded
            login = await to_thread.run_sync(self._services.logins.load, self.context.server_url)
            if (kept := set(secrets_in(login))) and not kept & self._known:
                self._learn(login)
                restore(self.context, login)
                self._use_given_client()

    def _use_given_client(self) -> None:
        spec, kept = self._services.spec, self.context.client_info
        if spec.client_id is None:
            return
        where = f"servers.{spec.name}"
        client_id = resolve(spec.client_id, self._services.environment, where=f"{where}.client_id").text
        secret = None
        if spec.client_secret is not None:
            secret = resolve(spec.client_secret, self._services.environment, where=f"{where}.client_secret").text
        is_same = kept is not None and kept.client_id == client_id
        if not is_same:
            self.context.clear_tokens()
        self.context.client_info = OAuthClientInformationFull(
            client_id=client_id, client_secret=secret, issuer=kept.issuer if is_same and kept is not None else None
        )

    async def keep(self) -> None:
        """Keep the login as it is now."""
        client = self.context.client_info
        if client is not None and client.issuer is None:
            client.issuer = issuer_of(self.context) or None
        login = login_of(self.context)
        self._learn(login)
        try:
            told = await to_thread.run_sync(self._services.logins.save, self.context.server_url, login)
        except SettingsError as error:
            told = f"the login is not kept for the next start: {error}"
        if told:
            self._services.notice(told)

    def _learn(self, login: Mapping[str, JSON]) -> None:
        for secret in secrets_in(login):
            self._known.add(secret)
            self._services.learn(f"login of {self._services.spec.name}", secret)


def _of_login(request: httpx2.Request) -> httpx2.Request:
    """Mark a request as one of a login, which is recorded but is none to the server."""
    request.extensions = {**request.extensions, LOGIN: True, "timeout": httpx2.Timeout(SECONDS).as_dict()}
    return request


def _words(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"a malformed answer: {'.'.join(map(str, first['loc']))}: {first['msg']}"[:300]
    return " ".join(str(error).split())[:300] or type(error).__name__
