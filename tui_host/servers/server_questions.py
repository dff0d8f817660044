"""What servers ask of the person: answers to a form, visits to a page, answers of a model, a login. Free of the SDK's types.

A front end implements `Answerer`, as it implements the policy's `Approver` for calls.

Source: MCP 2025-11-25 and 2026-07-28, Client features.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar

from tui_host.capture.json.narrowing import items, mapping
from tui_host.errors import JSON
from tui_host.servers.login_store import LoginStore

if TYPE_CHECKING:
    from tui_host.capture.record import Place

Action: TypeAlias = Literal["accept", "decline", "cancel"]  # `decline` is a no, `cancel` a question that was closed
_STEPS = 8  # a reference may lead to itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Elicitation:
    """A server's question to the person: a form to fill in, or a page to visit. All text is untrusted."""

    server: str
    message: str
    schema: Mapping[str, JSON] | None = None  # None if the server asks to visit a page
    url: str = ""
    id: str = ""  # by which the server says that the visit is complete
    call: str = ""  # the host's id of the call during which the server asks; empty if unknown
    is_retry: bool = False  # the call failed for want of the visit, and is sent again after it
    mistake: str = ""  # why the previous answer does not fit, so that the person is asked again


@dataclass(frozen=True, slots=True, kw_only=True)
class ElicitationAnswer:
    """The person's answer, with the values of an accepted form."""

    action: Action
    content: Mapping[str, JSON] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingRequest:
    """A server's request for an answer of `model`: `CreateMessageRequestParams` as received, or as the person edited them."""

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
    """A login that needs the person's browser, which comes back to `redirect`."""

    server: str
    url: str
    redirect: str
    reason: str = ""


class Sampler:
    """Lets the model of a session answer for a server."""

    model_for: Callable[[str | None, Sequence[str]], str]
    """Returns the model that would answer, as `PROVIDER/MODEL`, by session and by the parts of names that the server would like."""
    sample: Callable[[SamplingRequest, Place], Awaitable[SamplingAnswer]]
    """Asks the model, in an exchange of its own, recorded at the place. Raises TuiHostError if it does not answer."""


Reviewed = TypeVar("Reviewed", SamplingRequest, SamplingAnswer)


class Answerer(Protocol):
    """Asks the person what servers want to know. A call that is cancelled closes its question. By default nobody is there."""

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """Ask the person to fill in a form or to visit a page."""
        del request
        return ElicitationAnswer(action="decline")

    async def review(self, request: SamplingRequest, shown: Reviewed) -> Reviewed | None:
        """Show a sampling request before it goes to the model, or the answer to it before it goes to the server.

        Returns what to send, None if the person refuses.
        """
        del request, shown

    async def log_in(self, login: Login) -> str | None:
        """Show a login's address; returns the one that the person pastes, None to give up. Cancelled once the browser is back by itself."""
        del login


class Declines(Answerer):
    """Answers without a person: declines every question and refuses every request."""


async def unchecked(schema: JSON, value: JSON) -> None:
    """Return None: without a schema checker, it stays unknown whether a value fits its schema."""
    del schema, value


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """Who and what answers the requests of servers."""

    answerer: Callable[[], Answerer] = Declines
    sampler: Sampler | None = None  # without one, sampling is not declared
    # The schema errors of a form's content, None if it cannot be checked.
    misfits: Callable[[JSON, JSON], Awaitable[Sequence[str] | None]] = unchecked
    logins: LoginStore = field(default_factory=LoginStore)


def properties_of(schema: JSON) -> Mapping[str, Mapping[str, JSON]]:
    """Return the schema of each property of a form or a tool, in their order, in the plainest form that means the same."""
    # pydantic writes an enum as `$ref`, one with a default as `allOf` around that, a value that may be left out as `anyOf` with null.
    root = mapping(schema)
    return {name: _plain(mapping(written), root, _STEPS) for name, written in mapping(root.get("properties")).items()}


def _plain(schema: Mapping[str, JSON], root: Mapping[str, JSON], steps: int) -> Mapping[str, JSON]:
    for key in ("$ref", "allOf", "anyOf", "oneOf") if steps else ():
        meant = _only_meaning(schema.get(key), root)
        if meant is not None:
            beside = {name: value for name, value in schema.items() if name != key}
            return _plain({**meant, **beside}, root, steps - 1)
    plainer = dict(schema)
    types = [name for name in items(schema.get("type")) if name != "null"]
    if len(types) == 1:
        plainer["type"] = types[0]
    if steps and "items" in schema:
        plainer["items"] = _plain(mapping(schema["items"]), root, steps - 1)
    return plainer


def _only_meaning(value: JSON, root: Mapping[str, JSON]) -> Mapping[str, JSON] | None:
    """Return what a reference inside the schema names, or the only branch beside null; None if there is more than one, or a choice."""
    if isinstance(value, str):
        start, *names = value.split("/")
        found: JSON = root if start == "#" else None
        for name in names:
            found = mapping(found).get(name)
        return mapping(found)
    branches = [branch for branch in map(mapping, items(value)) if branch.get("type") != "null"]
    return branches[0] if len(branches) == 1 and "const" not in branches[0] else None
