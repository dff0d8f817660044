"""What servers ask of the person: answers to a form, visits to a page, answers of a model, a login. Free of the SDK's types.

A front end implements `Answerer`, as it implements the policy's `Approver` for calls. Without a front end, `Declines` answers.

Source: MCP 2025-11-25 and 2026-07-28, Client features.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from tui_host.capture.json.narrowing import items, mapping
from tui_host.errors import JSON
from tui_host.settings.login_storage import Logins, MemoryLogins

if TYPE_CHECKING:
    from tui_host.capture.record import Place
    from tui_host.settings.schema import ServerSpec

Action: TypeAlias = Literal["accept", "decline", "cancel"]

_STEPS = 8
"""References and single branches to follow, one from the other, until a schema is taken as it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elicitation:
    """A server's question to the person: a form to fill in, or a page to visit. All text is untrusted.

    Attributes:
        message: Why the server asks.
        schema: The form's schema as received; None if the server asks to visit a page.
        url: The page to visit; empty for a form.
        id: By which the server says that the visit is complete; empty if it gave none.
        call: The host's id of the call during which the server asks; empty if unknown.
        is_retry: The call failed because the page was not visited; accepting, after the visit, sends the call again.
        mistake: Why the previous answer does not fit the schema, so that the person is asked again; empty at first.
    """

    server: str
    message: str
    schema: Mapping[str, JSON] | None = None
    url: str = ""
    id: str = ""
    call: str = ""
    is_retry: bool = False
    mistake: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElicitationAnswer:
    """The person's answer to an elicitation.

    Attributes:
        action: `accept`, `decline` (the person said no) or `cancel` (the person closed the question).
        content: The form's values, with `accept` of a form alone.
        for_all: Declines all other questions of the server too, those that wait and those to come, until it is connected again.
    """

    action: Action
    content: Mapping[str, JSON] | None = None
    for_all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingRequest:
    """A server's request for an answer of the person's model, which `model` would give.

    Attributes:
        params: The `CreateMessageRequestParams` as received, or as the person edited them.
        call: The host's id of the call during which the server asks; empty if unknown.
    """

    server: str
    params: Mapping[str, JSON]
    model: str = ""
    call: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingAnswer:
    """The model's `CreateMessageResult` (JSON object), before it goes to the server; the person may edit its text."""

    result: Mapping[str, JSON]


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A login that needs the person's browser.

    Attributes:
        url: The address to open, at the authorization server.
        redirect: The address that the browser is sent to afterwards.
        reason: Why the login is needed: the first one, further scopes, a token that is no longer taken.
    """

    server: str
    url: str
    redirect: str
    reason: str = ""


class Sampler(Protocol):
    """Lets the model of a session answer for a server."""

    def model_for(self, session: str | None, hints: Sequence[str]) -> str:
        """Return the model that would answer, as `PROVIDER/MODEL`.

        Args:
            hints: Parts of the names of models that the server would like, the best first; no more than a preference.
        """
        ...

    async def sample(self, request: SamplingRequest, place: Place) -> SamplingAnswer:
        """Ask the model, in an exchange of its own, recorded at `place`. Raises TuiHostError if it does not answer."""
        ...


class Answerer(Protocol):
    """Asks the person what servers want to know. A call that is cancelled closes its question."""

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """Ask the person to fill in a form or to visit a page."""
        ...

    async def review_request(self, request: SamplingRequest) -> SamplingRequest | None:
        """Show a sampling request before it goes to the model; returns what to send, None if the person refuses."""
        ...

    async def review_answer(self, request: SamplingRequest, answer: SamplingAnswer) -> SamplingAnswer | None:
        """Show the model's answer before it goes to the server; returns what to send, None if the person refuses."""
        ...

    async def log_in(self, login: Login) -> str | None:
        """Show a login's address, and open it if the person wants. The call is cancelled once the browser is back by itself.

        Returns:
            The address to which the browser was sent, if the person pastes it; None if the person gives up.
        """
        ...


class Declines:
    """Answers without a person: declines every question and refuses every request."""

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        del request
        return ElicitationAnswer(action="decline")

    async def review_request(self, request: SamplingRequest) -> SamplingRequest | None:
        del request

    async def review_answer(self, request: SamplingRequest, answer: SamplingAnswer) -> SamplingAnswer | None:
        del request, answer

    async def log_in(self, login: Login) -> str | None:
        del login


async def unchecked(schema: JSON, value: JSON) -> None:
    """Return None: without a schema checker, it stays unknown whether a value fits its schema."""
    del schema, value


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """Who and what answers the requests of servers.

    Attributes:
        answerer: Returns the one who asks the person; by default every question is declined.
        sampler: Lets a model answer; without a sampler, sampling is not declared.
        misfits: Checks the content of forms: returns the schema errors of a value, None if it cannot be checked.
        logins: Keeps logins at servers; by default only as long as the program runs.
    """

    answerer: Callable[[], Answerer] = Declines
    sampler: Sampler | None = None
    misfits: Callable[[JSON, JSON], Awaitable[Sequence[str] | None]] = unchecked
    logins: Logins = field(default_factory=MemoryLogins)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginServices:
    """What a login at a server needs of its connection.

    Attributes:
        environment: Resolves references.
        answerer: Returns the one who asks the person.
        learn: Called with name and value of each secret, which no record may show.
        waiting: Stops the time limits while the person logs in; takes a line for the status.
        notice: Called with sentences for the person.
    """

    spec: ServerSpec
    environment: Mapping[str, str]
    logins: Logins
    answerer: Callable[[], Answerer]
    learn: Callable[[str, str], None]
    waiting: Callable[[str], AbstractContextManager[None]]
    notice: Callable[[str], None]


def properties_of(schema: JSON) -> Mapping[str, Mapping[str, JSON]]:
    """Return the schema of each property of a form or a tool, in their order, in the plainest form that means the same.

    pydantic, and with it each Python server, writes an enum as `$ref`, one with a default as `allOf` around that, and a value that may be
    left out as `anyOf` with null. A reference out of the schema is not followed.
    """
    root = mapping(schema)
    return {name: _plain(mapping(written), root, _STEPS) for name, written in mapping(root.get("properties")).items()}


def _plain(schema: Mapping[str, JSON], root: Mapping[str, JSON], steps: int) -> Mapping[str, JSON]:
    reference = schema.get("$ref")
    inner = {"$ref": _at(root, reference)} if isinstance(reference, str) else {}
    for key in ("allOf", "anyOf", "oneOf"):
        branches = [branch for branch in map(mapping, items(schema.get(key))) if branch.get("type") != "null"]
        if len(branches) == 1 and "const" not in branches[0]:
            inner.setdefault(key, branches[0])
    for key, meant in inner.items() if steps else ():
        beside = {name: value for name, value in schema.items() if name != key}
        return _plain({**meant, **beside}, root, steps - 1)
    types = [name for name in items(schema.get("type")) if name != "null"]
    plainer: dict[str, JSON] = {"type": types[0]} if len(types) == 1 else {}
    if steps and "items" in schema:
        plainer["items"] = _plain(mapping(schema["items"]), root, steps - 1)
    return {**schema, **plainer}


def _at(root: Mapping[str, JSON], reference: str) -> Mapping[str, JSON]:
    """Return what a reference inside the schema names; nothing for any other reference."""
    start, *names = reference.split("/")
    found: JSON = root if start == "#" else None
    for name in names:
        found = mapping(found).get(name.replace("~1", "/").replace("~0", "~"))
    return mapping(found)
