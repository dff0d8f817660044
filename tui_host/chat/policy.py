"""Decides tool calls: rules first (deny beats ask beats allow), then the user; without an answer a call is refused."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from tui_host.servers.catalog import READ, Tool
from tui_host.settings.rule_tables import matches
from tui_host.settings.schema import Rule

Verdict: TypeAlias = Literal["approved", "edited", "rejected", "invalid"]
Decider: TypeAlias = Literal["person", "rule", "flag", "default"]


def allows(name: str, pattern: str) -> bool:
    """Whether an allow pattern matches a tool. Reading resources is allowed only by its full name, never by `*`."""
    return pattern == READ if name == READ else matches(name, pattern)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The decision on a tool call.

    Attributes:
        verdict: Whether the call may be sent.
        by: Who decided.
        arguments: The canonical bytes decided on; only these may be sent.
        fingerprint: Fingerprint of the tool's definition at that time.
        words: For display: «approved once, by you, after 2.5 s».
        reason: The user's reason for a rejection.
        stop: The user also stopped the turn.
    """

    verdict: Verdict
    by: Decider
    arguments: bytes
    fingerprint: str = ""
    words: str = ""
    reason: str = ""
    stop: bool = False

    @property
    def hash(self) -> str:
        """SHA-256 (hex) of the arguments."""
        return hashlib.sha256(self.arguments).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """A call waiting for a decision.

    Attributes:
        call: Our id of the call.
        tool: The tool's current definition.
        arguments: The canonical bytes to send.
        changed: How the definition differs from the last approved one, empty if it does not.
    """

    call: str
    tool: Tool
    arguments: bytes
    changed: str = ""


class Question:
    """A call put before the user: answered once, or void.

    Attributes:
        request: The call.
        decision: The answer, None before.
        later: Number of further calls of the same answer, asked about after the current ones.
    """

    def __init__(
        self,
        request: CallRequest,
        *,
        answered: Callable[[Question, Decision], None],
        clock: Callable[[], float] = time.monotonic,
        later: int = 0,
    ) -> None:
        self.request = request
        self.later = later
        self.decision: Decision | None = None
        self._answered = answered
        self._clock = clock
        self._asked_at = clock()
        self._void = False

    @property
    def open(self) -> bool:
        """Whether an answer would still count."""
        return self.decision is None and not self._void

    def answer(self, decision: Decision) -> bool:
        """Decide. Returns False, without effect, if already decided or void."""
        if not self.open:
            return False
        self.decision = decision
        self._answered(self, decision)
        return True

    def void(self) -> None:
        """Ignore any later answer; the turn was stopped."""
        self._void = True

    def approve(self, *, how: str = "approved once", edited: bytes | None = None) -> bool:
        """Approve the call with the shown arguments, or with edited ones."""
        arguments = self.request.arguments if edited is None else edited
        changed = arguments != self.request.arguments
        words = f"{'edited and approved' if changed else how}, by you, after {self._clock() - self._asked_at:.1f} s"
        return self.answer(
            Decision(
                verdict="edited" if changed else "approved",
                by="person",
                arguments=arguments,
                fingerprint=self.request.tool.fingerprint,
                words=words,
            )
        )

    def reject(self, reason: str = "", *, stop: bool = False) -> bool:
        """Reject the call."""
        suffix = f": {reason}" if reason else ""
        return self.answer(
            Decision(
                verdict="rejected",
                by="person",
                arguments=self.request.arguments,
                fingerprint=self.request.tool.fingerprint,
                words=f"rejected by you after {self._clock() - self._asked_at:.1f} s{suffix}",
                reason=reason,
                stop=stop,
            )
        )


class Approver(Protocol):
    """Asks the user. A question still open when `decide` returns is refused by default."""

    async def decide(self, questions: Sequence[Question]) -> None:
        """Put the questions before the user; return when no more answers will come."""
        ...


class Refuse:
    """The approver for a process without a user: answers nothing."""

    async def decide(self, questions: Sequence[Question]) -> None:
        """Return at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A user's permission for a session: a tool of a server, as defined at that time."""

    server: str
    tool: str
    fingerprint: str


class Policy:
    """The rules in force in a session.

    Attributes:
        grants: Permissions given for the session.
    """

    def __init__(self, rules: Sequence[Rule], *, flags: Sequence[str] = (), allow_all: bool = False) -> None:
        self._rules = tuple(rules)
        self._flags = tuple(flags)
        self._allow_all = allow_all
        self.grants: list[Grant] = []
        self._approved: dict[tuple[str, str], Tool] = {}

    def remember(self, tool: Tool) -> None:
        """Keep the definition behind an approved call, to report a later change."""
        self._approved[tool.server, tool.name] = tool

    def approved(self, tool: Tool) -> Tool | None:
        """Return the tool's definition as last approved in this session, None if never."""
        return self._approved.get((tool.server, tool.name))

    def grant(self, tool: Tool) -> Grant:
        """Allow a tool for the session, bound to its present definition."""
        grant = Grant(server=tool.server, tool=tool.name, fingerprint=tool.fingerprint)
        if grant not in self.grants:
            self.grants.append(grant)
        self.remember(tool)
        return grant

    def revoke(self, grant: Grant) -> None:
        """Withdraw a permission."""
        self.grants = [kept for kept in self.grants if kept != grant]

    def decide(self, request: CallRequest) -> Decision | None:
        """Apply rules and flags; None means ask the user."""
        tool = request.tool
        actions = {
            rule.action: rule
            for rule in self._rules
            if matches(tool.server, rule.server)
            and (allows if rule.action == "allow" else matches)(tool.name, rule.tool)
        }
        if "deny" in actions:
            return self._by_rule(request, "rejected", f"denied by a rule in {actions['deny'].where}")
        flag = next((pattern for pattern in self._flags if _flag_allows(tool, pattern)), None)
        if flag is not None or self._allow_all:
            words = f"allowed by --allow {flag}" if flag is not None else "allowed by --yes"
            return Decision(
                verdict="approved", by="flag", arguments=request.arguments, fingerprint=tool.fingerprint, words=words
            )
        if Grant(server=tool.server, tool=tool.name, fingerprint=tool.fingerprint) in self.grants:
            return self._by_rule(request, "approved", "session rule")
        if "ask" not in actions and "allow" in actions:
            return self._by_rule(request, "approved", f"allowed by a rule in {actions['allow'].where}")
        return None

    @staticmethod
    def _by_rule(request: CallRequest, verdict: Verdict, words: str) -> Decision:
        return Decision(
            verdict=verdict,
            by="rule",
            arguments=request.arguments,
            fingerprint=request.tool.fingerprint,
            words=words,
        )


def _flag_allows(tool: Tool, pattern: str) -> bool:
    if tool.name != READ:
        return matches(f"{tool.server}.{tool.name}", pattern)
    server, _, name = pattern.rpartition(".")
    return allows(tool.name, name) and matches(tool.server, server)


def refused(request: CallRequest, *, words: str = "refused: nobody was there to decide") -> Decision:
    """Return the decision for a call that nobody answered."""
    return Decision(
        verdict="rejected",
        by="default",
        arguments=request.arguments,
        fingerprint=request.tool.fingerprint,
        words=words,
    )
