"""The login at a server behind a URL: OAuth 2.1, as MCP asks for it.

The SDK's provider finds the authorization server, registers, exchanges codes and renews tokens; it says which request comes next, and here
the request is checked, named and sent. This layer adds what the provider leaves out: tokens that outlive the program and are renewed by
one process at a time, a new registration where the old one was forgotten, given credentials, the refusal of servers without PKCE, limits.

Source: MCP 2025-11-25 and 2026-07-28, Authorization.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager, suppress

import anyio
import httpx2
from anyio import to_thread
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, ValidationError

from tui_host.capture.content_codings import CodingError
from tui_host.capture.http.observer import Observer
from tui_host.capture.json.narrowing import mapping, text_or_empty
from tui_host.capture.record import current_place
from tui_host.errors import JSON, ServerError, SettingsError, TuiHostError
from tui_host.servers.authorization.login_record import issuer_of, lock, login_of, restore
from tui_host.servers.authorization.redirect_listener import RedirectListener, parameters
from tui_host.servers.http_failure import LoginFailed, fault_words, first_words, oauth_error, read_body
from tui_host.servers.outgoing_request import HttpAnswer
from tui_host.servers.server_faults import innermost, words_of_answer
from tui_host.servers.server_questions import Declines, Elicitation, Login, LoginServices
from tui_host.settings.environment_references import resolve
from tui_host.settings.urls import is_loopback, parts_of, shown

MOST_LOGINS = 3
"""Logins for which a server may ask during a connection."""
SECONDS = 30.0
"""Time limit for each request of a login."""
LOCK_SECONDS, LOCK_PAUSE_SECONDS = 60.0, 0.1
"""How long to wait for another process that renews the login, and how often to look."""
BODY_BYTES = 1 << 20
"""Largest answer to a request of a login."""
LONG_PAST = 1.0
"""An expiry. The SDK takes 0 for no expiry."""
BY_BROWSER = (("x-tui-host", "sent by the browser; its own headers, and the pages in between, are not seen here"),)
"""What the record of the browser's visit says in place of the browser's headers."""
_FAULTS = (OAuthFlowError, TuiHostError, httpx2.TransportError, CodingError, ValueError, OSError, ExceptionGroup)
_CLIENT: Mapping[str, JSON] = {
    "type": "object",
    "properties": {
        "client_id": {"type": "string", "title": "Client id"},
        "client_secret": {"type": "string", "title": "Client secret", "description": "if there is one"},
    },
    "required": ["client_id"],
}


class ServerLogin:
    """Authenticates the requests to a server, and logs in when the server demands it. Also the SDK's storage of tokens.

    Args:
        methods: The methods of requests whose refusal asks for a login.
        public: Sends requests of a login that anybody may see.
        secret: Sends those that have or bring secrets.
        observer: Records the visit of the browser.
    """

    def __init__(
        self,
        url: str,
        methods: Collection[str],
        services: LoginServices,
        *,
        public: httpx2.AsyncBaseTransport,
        secret: httpx2.AsyncBaseTransport,
        observer: Observer,
    ) -> None:
        self._provider = OAuthClientProvider(
            url,
            OAuthClientMetadata(client_name="tui-host", redirect_uris=[AnyUrl("http://127.0.0.1/callback")]),
            self,
            redirect_handler=self._opened,
            callback_handler=self._returned,
            client_metadata_url=services.spec.client_metadata_url or None,
        )
        self._context = self._provider.context
        self._url = url
        self._methods = methods
        self._services = services
        self._spec = services.spec
        self._public = httpx2.AsyncClient(transport=public, timeout=SECONDS)
        self._secret = httpx2.AsyncClient(transport=secret, timeout=SECONDS)
        self._observer = observer
        self._turn = anyio.Lock()
        self._listener: RedirectListener | None = None
        self._address = self._step = self._reason = ""
        self._logins = 0
        self._is_loaded = False
        self._known: set[str] = set()
        self._scopes: set[str | None] = set()
        self._failure: LoginFailed | None = None

    # What the transport calls.

    async def authorize(self, request: httpx2.Request) -> None:
        """Put the token on a request, renewed if it has expired; raises LoginFailed if that cannot be done now."""
        async with self._turn:
            self._step = ""
            try:
                await self._load()
                if not self._context.is_token_valid() and self._context.can_refresh_token():
                    await self._renew(request)
            except _FAULTS as error:
                raise self._failed(error, 401) from error
        self._put_on(request)

    def is_refusal(self, response: httpx2.Response) -> bool:
        """Whether a response asks for a login, or for one with further scopes."""
        lacks_scope = extract_field_from_www_auth(response, "error") == "insufficient_scope"
        is_unauthorized = response.status_code == 401 or (response.status_code == 403 and lacks_scope)
        return is_unauthorized and response.request.method in self._methods

    async def answer(self, request: httpx2.Request, refusal: httpx2.Response, words: str, tried: set[str]) -> None:
        """Get a token that the server may take in place of the one it refused, and put it on the request.

        Args:
            words: The first words of the refusal.
            tried: What was done before to have the request accepted; added to.

        Raises:
            LoginFailed: There is none.
        """
        refused = {"", request.headers.get("Authorization", "")}
        async with self._turn:
            self._step = ""
            try:
                await self._catch_up()
                may_renew = refusal.status_code == 401 and "renewal" not in tried and self._context.can_refresh_token()
                if may_renew and self._authorization in refused:
                    tried.add("renewal")
                    await self._renew(request)
                if self._authorization in refused:
                    await self._log_in(request, refusal, words, tried)
            except _FAULTS as error:
                raise self._failed(error, refusal.status_code) from error
        self._put_on(request)

    @property
    def _authorization(self) -> str:
        tokens = self._context.current_tokens
        return f"Bearer {tokens.access_token}" if tokens is not None and tokens.access_token else ""

    def _put_on(self, request: httpx2.Request) -> None:
        request.headers.pop("Authorization", None)
        if self._authorization:
            request.headers["Authorization"] = self._authorization

    def _failed(self, error: BaseException, status: int) -> LoginFailed:
        fault = innermost(error)
        what, remedy = _words(fault), ""
        if isinstance(fault, TuiHostError):
            what, remedy = fault.what, fault.remedy
        words = f"the login failed {self._step}: {what}" if self._step else what
        return LoginFailed(HttpAnswer(status=status, words=words, remedy=remedy or "reconnect to try again"))

    # Renewing a token.

    async def _renew(self, request: httpx2.Request) -> None:
        """Renew the token, or take over the one of a process that has: what renews it is good once, and used twice it ends the login.

        Afterwards there is a new token, or none: then the person has to log in.
        """
        async with self._alone():
            if await self._catch_up():
                return
            self._context.token_expiry_time = LONG_PAST
            try:
                await self._drive(request, None)
            except httpx2.TransportError:  # the answer may be lost, and the token used up: the second try shows it
                await self._drive(request, None)

    @asynccontextmanager
    async def _alone(self) -> AsyncGenerator[None]:
        """Keep other processes from renewing the same login meanwhile."""
        release = None
        with anyio.move_on_after(LOCK_SECONDS):
            while (release := lock(self._services.logins.lock_file(self._url))) is None:
                await anyio.sleep(LOCK_PAUSE_SECONDS)
        try:
            yield
        finally:
            if release is not None:
                release()

    async def _drive(self, request: httpx2.Request, refusal: httpx2.Response | None) -> None:
        """Make the requests that the SDK wants made before the server's own request can be made again.

        Args:
            refusal: What the server answered to the request; None to renew a token alone.
        """
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
        """Check a request of the login, and send it."""
        self._step = _step_of(outgoing)
        self._check_place(str(outgoing.url))
        if outgoing.method == "POST":
            self._check_pkce()
        if _is_registration(outgoing) and (given := await self._client_given()):
            return httpx2.Response(201, json=given, request=outgoing)
        client = self._secret if outgoing.method == "POST" else self._public
        response = await client.send(outgoing, stream=True)
        try:
            body = await read_body(response, BODY_BYTES)
        finally:
            await response.aclose()
        if len(body) > BODY_BYTES:
            raise ServerError(f"the answer has more than {BODY_BYTES >> 20} MB")
        is_renewal, status = b"grant_type=refresh_token" in await outgoing.aread(), response.status_code
        if is_renewal and (
            status == 429 or status >= 500
        ):  # this says nothing about the token, which the SDK would drop
            raise ServerError(words_of_answer(HttpAnswer(status=status, words=first_words(body))))
        if outgoing.method == "POST" and oauth_error(body) == "invalid_client" and self._spec.client_id is None:
            self._context.client_info = None  # registered anew with the next login
        answer = httpx2.Response(status, content=body, request=outgoing)
        answer.next_request = response.next_request
        return answer

    def _check_place(self, url: str) -> None:
        place, server = parts_of(url), parts_of(self._url).hostname or ""
        host = place.hostname or ""
        if place.scheme != "https" and not (place.scheme == "http" and (is_loopback(host) or host == server)):
            raise ServerError(f"a login must not go over plain {place.scheme}")
        if is_loopback(host) and not is_loopback(server):
            raise ServerError("a server elsewhere must not send a login to this machine")

    def _check_pkce(self) -> None:
        metadata = self._context.oauth_metadata
        if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or ()):
            what = "does not announce PKCE (S256), without which a code may be stolen"
            raise ServerError(f"{issuer_of(self._context)} {what}")

    # A login by the person.

    async def _log_in(self, request: httpx2.Request, refusal: httpx2.Response, words: str, tried: set[str]) -> None:
        """Let the person log in. Once that has failed, it is not asked for again over this connection."""
        if self._failure is not None:
            raise self._failure
        status = refusal.status_code
        try:
            self._check_limits(status, extract_scope_from_www_auth(refusal), words, tried)
            self._reason = "the first login"
            if status == 403:
                self._reason = f"further permissions: {extract_scope_from_www_auth(refusal) or ''}"
            elif self._known:
                self._reason = "the server no longer takes the last login"
            self._listen()
            if status == 401 and self._spec.client_id is None:
                # A browser that is told that the client is unknown never comes back: then the next login registers anew.
                with suppress(SettingsError):
                    await to_thread.run_sync(self._services.logins.forget, self._url)
            await self._drive(request, refusal)
        except _FAULTS as error:
            failed = self._failed(error, status)
            self._failure = failed if status == 401 else None
            raise failed from error
        finally:
            if self._listener is not None:
                self._listener.close()

    def _check_limits(self, status: int, scope: str | None, words: str, tried: set[str]) -> None:
        """Raise if there is no person, or if the server asks too often; else note that it asks."""
        if getattr(type(self._services.answerer()), "log_in", None) is Declines.log_in:  # nobody is there
            raise ServerError(f"it needs a login: {words}" if words else "it needs a login", remedy=self._remedy)
        if status == 401 and "login" in tried:
            raise ServerError("it refuses the token that the login has just brought")
        if status == 403 and scope in self._scopes:
            raise ServerError(f"it asks again for the scope {scope}, which the last login asked for")
        if self._logins >= MOST_LOGINS:
            raise ServerError(f"it asks for a login again, after {MOST_LOGINS}")
        tried.add("login")
        self._logins += 1
        self._scopes.add(scope)

    @property
    def _remedy(self) -> str:
        return f"run tui-host servers login {self._spec.name}"

    def _listen(self) -> None:
        """Open the port to return to: the configured port, else that of the registration, else any."""
        client, port = self._context.client_info, self._spec.redirect_port
        registered = client.redirect_uris[0].port or 0 if client is not None and client.redirect_uris else 0
        try:
            self._listener = RedirectListener(port or registered)
        except OSError as error:
            if port:
                raise ServerError(f"the port {port} to return to is in use", remedy="change redirect_port") from error
            self._context.client_info = None  # registered for a port that is in use now
            self._listener = RedirectListener(0)
        self._context.client_metadata.redirect_uris = [AnyUrl(self._listener.url)]

    async def _client_given(self) -> Mapping[str, JSON]:
        """Ask the person for a client id where the authorization server registers no clients; nothing to let it register one."""
        metadata, name, issuer = self._context.oauth_metadata, self._spec.name, issuer_of(self._context)
        if self._spec.client_id is not None:
            what = f"the server has moved to the authorization server {issuer}, for which client_id was not given"
            raise ServerError(what, remedy=f"run tui-host servers logout {name} if the client_id is known there")
        if metadata is None or metadata.registration_endpoint is not None:
            return {}
        redirect = "" if self._listener is None else self._listener.url
        message = f"{issuer} registers no clients by itself. Register tui-host there, with {redirect} to return to."
        with self._services.waiting("waiting for a client id"):
            answer = await self._services.answerer().elicit(Elicitation(server=name, message=message, schema=_CLIENT))
        given = {key: text for key, value in (answer.content or {}).items() if (text := text_or_empty(value))}
        if answer.action != "accept" or "client_id" not in given:
            raise ServerError(f"{issuer} registers no clients", remedy=f"set client_id of servers.{name}")
        return {**given, "redirect_uris": [redirect]}

    async def _opened(self, url: str) -> None:
        """Take the address for the browser from the SDK."""
        self._step = f"in the browser at {shown(parts_of(url))}"
        self._check_place(url)
        self._check_pkce()
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
        return self._code_in(parameters(answers[0]), state, place)

    def _code_in(self, given: Mapping[str, str], state: str, place: str) -> AuthorizationCodeResult:
        metadata = self._context.oauth_metadata
        if "error" in given and (metadata is None or given.get("iss", str(metadata.issuer)) == str(metadata.issuer)):
            why = ": ".join(given[key] for key in ("error", "error_description") if key in given)
            raise ServerError(f"{place} answered {why[:200]}")
        if not given.get("code"):
            raise ServerError("the address has no code", remedy="paste the address to which the browser was sent")
        if given.get("state") != state:
            raise ServerError("the answer belongs to another login")
        return AuthorizationCodeResult(code=given["code"], state=state, iss=given.get("iss"))

    # What outlives the program.

    async def _load(self) -> None:
        """Load the kept login, once: afterwards what is in memory is newer."""
        if not self._is_loaded:
            self._is_loaded = True
            try:
                self._use(await to_thread.run_sync(self._services.logins.load, self._url))
            except SettingsError as error:
                self._services.notice(str(error))

    async def _catch_up(self) -> bool:
        """Take over a login that another process has kept since; returns whether it brought a token to try."""
        with suppress(SettingsError):  # told when the login was loaded
            login = await to_thread.run_sync(self._services.logins.load, self._url)
            token = text_or_empty(mapping(login.get("tokens")).get("access_token"))
            if token and token not in self._known:
                self._use(login)
                return self._context.is_token_valid()
        return False

    def _use(self, login: Mapping[str, JSON]) -> None:
        """Take over a kept login, with the client that is configured, if there is one."""
        restore(self._context, login)
        self._learn()
        kept = self._context.client_info
        if self._spec.client_id is None:
            return
        given: dict[str, str] = {}
        for key, template in (("client_id", self._spec.client_id), ("client_secret", self._spec.client_secret)):
            if template is not None:
                where = f"servers.{self._spec.name}.{key}"
                given[key] = resolve(template, self._services.environment, where=where).text
        if kept is None or kept.client_id != given["client_id"]:
            self._context.clear_tokens()
        elif kept.issuer:
            given["issuer"] = kept.issuer
        self._context.client_info = OAuthClientInformationFull.model_validate(given)

    async def get_tokens(self) -> OAuthToken | None:
        """Return what the SDK has already: the kept login was loaded before."""
        return self._context.current_tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return what the SDK has already."""
        return self._context.client_info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep the registration."""
        del client_info
        await self._keep()

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep the login with its new tokens."""
        del tokens
        await self._keep()

    async def _keep(self) -> None:
        client = self._context.client_info
        if client is not None:  # bound to its issuer: no other is told its secret
            client.issuer = client.issuer or issuer_of(self._context) or None
        self._learn()
        try:
            told = await to_thread.run_sync(self._services.logins.save, self._url, login_of(self._context))
        except SettingsError as error:
            told = f"the login is not kept for the next start: {error}"
        if told:
            self._services.notice(told)

    def _learn(self) -> None:
        """Let no record show the secrets of the login."""
        tokens, client = self._context.current_tokens, self._context.client_info
        secrets = [client.client_secret] if client is not None else []
        secrets += [tokens.access_token, tokens.refresh_token] if tokens is not None else []
        for secret in filter(None, secrets):
            self._known.add(secret)
            self._services.learn(f"login of {self._spec.name}", secret)


def _is_registration(request: httpx2.Request) -> bool:
    return request.method == "POST" and "json" in request.headers.get("content-type", "")


def _step_of(request: httpx2.Request) -> str:
    """Name a step of a login."""
    place = f"{request.url.scheme}://{request.url.netloc.decode()}{request.url.path}"
    if request.method == "POST":
        return f"{'registering' if _is_registration(request) else 'getting a token'} at {place}"
    whose = "server" if "oauth-protected-resource" in request.url.path else "authorization server"
    return f"reading the metadata of the {whose} at {place}"


def _words(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"a malformed answer: {'.'.join(map(str, first['loc']))}: {first['msg']}"[:300]
    return fault_words(error)[:300]
