"""Decides tool calls: first by rules (deny beats ask beats allow), then by asking the user; else refuses the call."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Literal, Protocol, TypeAlias

from tui_host.servers.catalog import READ, Tool
from tui_host.settings.schema import Rule
from tui_host.settings.tables import matches

Verdict: TypeAlias = Literal["approved", "edited", "rejected", "stopped", "invalid"]
Decider: TypeAlias = Literal["person", "rule", "flag", "default"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The decision on a tool call, on exactly these canonical bytes and this definition; only these may be sent.

    `words` is for display («approved once, by you, after 2.5 s»), `reason` the user's for a rejection, `stop` ends the turn too.
    """

    verdict: Verdict
    by: Decider
    arguments: bytes
    fingerprint: str = ""
    words: str = ""
    reason: str = ""
    stop: bool = False
    waited: float = 0.0

    @property
    def is_approval(self) -> bool:
        return self.verdict in {"approved", "edited"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """A call waiting for a decision, with the canonical bytes to send.

    `changed` says how the definition differs from the last approved one; `misfits` are errors by its schema, None if unknown;
    `changed_numbers` are those whose value changes when sent: as written, and as sent.
    """

    call: str
    tool: Tool
    arguments: bytes
    changed: str = ""
    misfits: Sequence[str] | None = None
    changed_numbers: Sequence[tuple[str, str]] = ()

    def decided(self, verdict: Verdict, by: Decider, words: str) -> Decision:
        """Return a decision on the arguments as they are, bound to the tool's definition."""
        fingerprint = self.tool.fingerprint
        return Decision(verdict=verdict, by=by, arguments=self.arguments, fingerprint=fingerprint, words=words)


@dataclass(slots=True, eq=False)
class Question:
    """A call to be decided by the user, `later` ones to follow. Takes one answer, unless voided first."""

    request: CallRequest
    _: KW_ONLY
    answered: Callable[[Question, Decision], None]
    clock: Callable[[], float] = time.monotonic
    later: int = 0
    decision: Decision | None = None
    is_void: bool = field(default=False, init=False)  # no later answer has an effect, because the turn was stopped
    _asked_at: float = field(init=False)
    _has_appeared: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Measure the user's time from now on, until the question appears."""
        self._asked_at = self.clock()

    @property
    def open(self) -> bool:
        return self.decision is None and not self.is_void

    def appear(self) -> None:
        """Start the measurement of the user's time: the question has appeared on the screen."""
        if not self._has_appeared:
            self._has_appeared = True
            self._asked_at = self.clock()

    def answer(self, decision: Decision) -> bool:
        """Record the decision. Returns False, without effect, if the question is already decided or void."""
        if not self.open:
            return False
        self.decision = decision
        self.answered(self, decision)
        return True

    def approve(self, *, how: str = "approved once", edited: bytes | None = None) -> bool:
        arguments = self.request.arguments if edited is None else edited
        verdict: Verdict = "approved"
        if arguments != self.request.arguments:
            verdict, how = "edited", "edited and approved"
        waited = self.clock() - self._asked_at
        decision = self.request.decided(verdict, "person", f"{how}, by you, after {waited:.1f} s")
        return self.answer(replace(decision, arguments=arguments, waited=waited))

    def reject(self, reason: str = "", *, stop: bool = False) -> bool:
        waited = self.clock() - self._asked_at
        words = f"rejected by you after {waited:.1f} s{f': {reason}' if reason else ''}"
        decision = self.request.decided("rejected", "person", words)
        return self.answer(replace(decision, reason=reason, stop=stop, waited=waited))


@dataclass(slots=True, kw_only=True)
class StepLimit:
    """Asks whether a turn takes `more` steps beyond its limit. Takes one answer, unless the turn ends first."""

    steps: int
    more: int
    goes_on: bool | None = None

    def answer(self, *, goes_on: bool) -> None:
        if self.goes_on is None:
            self.goes_on = goes_on


class Approver(Protocol):
    """Asks the user. A question that is still open when a method returns is refused."""

    async def decide(self, questions: Sequence[Question]) -> None:
        """Show the questions to the user; return when no more answers will come."""

    async def decide_limit(self, limit: StepLimit) -> None:
        """Ask the user whether a turn goes on beyond its limit of steps; return when no answer will come."""


class Refuse(Approver):
    """The approver of a process without a user. Returns at once, so every call is refused, and a turn ends at its limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A user's permission for a session to call a tool, bound to the tool's definition at that time."""

    server: str
    tool: str
    fingerprint: str


@dataclass(slots=True, eq=False)
class Policy:
    """The rules of the configuration, the flags of the command line, and the permissions given for a session.

    `approved` holds the definition of each tool as it was last approved, to tell what has changed since.
    """

    rules: Sequence[Rule]
    _: KW_ONLY
    flags: Sequence[str] = ()
    allow_all: bool = False
    grants: list[Grant] = field(default_factory=list[Grant])
    approved: dict[tuple[str, str], Tool] = field(default_factory=dict[tuple[str, str], Tool])
    _checked_servers: set[str] = field(default_factory=set[str], init=False)

    def grant(self, tool: Tool) -> None:
        grant = Grant(server=tool.server, tool=tool.name, fingerprint=tool.fingerprint)
        if grant not in self.grants:
            self.grants.append(grant)
        self.approved[tool.server, tool.name] = tool

    def decide(self, request: CallRequest, *, is_current: bool = True) -> Decision | None:
        """Decide a call by rules and flags; None: ask the user. Permissions count for a definition known to be current alone."""
        tool = request.tool
        current = tool.fingerprint if is_current else None
        about = (rule for rule in self.rules if is_about(rule, tool) and rule.definition in {"", current})
        rules = {rule.action: rule for rule in about}
        if (rule := rules.get("deny")) is not None:
            return request.decided("rejected", "rule", f"denied by the rule {rule.server}.{rule.tool} in {rule.where}")
        # A flag was typed for this run, so it beats what the file asks about; a denial stands above all.
        flag = next((pattern for pattern in self.flags if _flag_allows(tool, pattern)), None)
        if flag is not None:
            return request.decided("approved", "flag", f"allowed by --allow {flag}")
        if self.allow_all:
            return request.decided("approved", "flag", "allowed by --yes")
        if is_current and Grant(server=tool.server, tool=tool.name, fingerprint=tool.fingerprint) in self.grants:
            return request.decided("approved", "rule", "session rule")
        if "ask" not in rules and (rule := rules.get("allow")) is not None:
            return request.decided("approved", "rule", f"allowed by the rule {rule.server}.{rule.tool} in {rule.where}")
        return None

    def asking(self, tool: Tool) -> Rule | None:
        """Return a rule that has each call of the tool asked about, which beats those that allow."""
        about = (rule for rule in self.rules if is_about(rule, tool) and rule.definition in {"", tool.fingerprint})
        return next((rule for rule in about if rule.action == "ask"), None)

    def void(self, tool: Tool) -> str:
        """Say which rule or permission names the tool, but for another definition; empty if none does."""
        for rule in self.rules:
            if is_about(rule, tool) and rule.definition not in {"", tool.fingerprint}:
                return f"the rule in {rule.place} is for another definition"
        prints = {grant.fingerprint for grant in self.grants if (grant.server, grant.tool) == (tool.server, tool.name)}
        is_void = bool(prints) and tool.fingerprint not in prints
        return "the rule of this session is for another definition" if is_void else ""

    def why_asked(self, tool: Tool) -> str:
        """Say why a call of the tool is asked about."""
        asking = self.asking(tool)
        if asking is None:
            return self.void(tool) or "no rule allows it"
        return f"the rule ask {asking.server}.{asking.tool} in {asking.place} says so"

    def unmatched_rules(self, ready: Collection[str], tools: Sequence[Tool]) -> Iterator[Rule]:
        """Yield the rules that name a ready server but match none of its tools: probably misspelt. Once for each server."""
        new = set(ready) - self._checked_servers
        self._checked_servers |= new
        for rule in self.rules:
            # Who allows reading may do so for a server that has no resources yet.
            if rule.server in new and rule.tool != READ and not any(is_about(rule, tool) for tool in tools):
                yield rule


def lasting(tool: Tool) -> Rule:
    """Return the rule that allows a tool for good, as it is defined now."""
    return Rule(server=tool.server, tool=tool.name, action="allow", definition=tool.fingerprint, where="rules.toml")


def written(rule: Rule) -> str:
    """Return a rule in one line, as it stands in a file; of the definition's hash the beginning."""
    mark = f', definition = "{rule.definition[:8]}…"' if rule.definition else ""
    return (
        f"server = {json.dumps(rule.server)}, tool = {json.dumps(rule.tool)}, action = {json.dumps(rule.action)}{mark}"
    )


def allows(name: str, pattern: str) -> bool:
    """Whether an allow pattern matches a tool. A tool that reads resources matches only its full name, never `*`."""
    return pattern == READ if name == READ else matches(name, pattern)


def is_about(rule: Rule, tool: Tool) -> bool:
    """Whether a rule names a tool, of whatever definition."""
    match_name = allows if rule.action == "allow" else matches
    return matches(tool.server, rule.server) and match_name(tool.name, rule.tool)


def _flag_allows(tool: Tool, pattern: str) -> bool:
    if tool.name != READ:
        return matches(f"{tool.server}.{tool.name}", pattern)
    server, _, name = pattern.rpartition(".")  # a resource reader's name stands for itself: `*` must not reach it
    return allows(tool.name, name) and matches(tool.server, server)
