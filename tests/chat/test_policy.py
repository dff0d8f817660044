"""Deny beats ask beats allow; what was not approved is refused; an answer counts once."""

from __future__ import annotations

import pytest

from tui_host.chat.policy import CallRequest, Decision, Policy, Question, Refuse
from tui_host.servers.catalog import READ, Tool
from tui_host.settings.schema import Action, Rule


def tool(server: str = "math", name: str = "add", fingerprint: str = "f1") -> Tool:
    return Tool(server=server, name=name, fingerprint=fingerprint)


def request(offered: Tool | None = None) -> CallRequest:
    return CallRequest(call="1.1.1", tool=offered or tool(), arguments=b'{"a":1}')


def rule(action: Action, pattern: str = "*", server: str = "math") -> Rule:
    return Rule(server=server, tool=pattern, action=action, where="config.toml")


def question(answers: list[Decision]) -> Question:
    return Question(request(), answered=lambda _, decision: answers.append(decision), clock=lambda: 5.0)


def test_the_time_of_a_decision_counts_from_when_the_call_was_first_on_the_screen() -> None:
    answers: list[Decision] = []
    now = iter([0.0, 20.0, 22.5])  # asked, on the screen, decided
    asked = Question(request(), answered=lambda _, decision: answers.append(decision), clock=lambda: next(now))
    asked.appear()
    asked.appear()
    asked.approve()
    assert (answers[0].waited, answers[0].words) == (2.5, "approved once, by you, after 2.5 s")


@pytest.mark.parametrize(
    ("rules", "verdict"),
    [
        ((), None),
        ((rule("allow"),), "approved"),
        ((rule("ask"), rule("allow")), None),
        ((rule("allow"), rule("deny"), rule("ask")), "rejected"),
        ((rule("allow", "sub*"),), None),
        ((rule("allow", server="other"),), None),
    ],
)
def test_deny_beats_ask_beats_allow(rules: tuple[Rule, ...], verdict: str | None) -> None:
    decision = Policy(rules).decide(request())
    assert (decision.verdict if decision else None) == verdict


@pytest.mark.parametrize(
    ("rules", "flags", "verdict"),
    [
        ((rule("allow"),), ("*", "math.*", "math.resources*"), None),
        ((rule("allow", READ),), (), "approved"),
        ((rule("allow", READ), rule("ask")), (), None),
        ((rule("allow", READ), rule("deny")), (), "rejected"),
        ((), ("math.resources/read",), "approved"),
        ((), ("*.resources/read",), "approved"),
        ((), ("other.resources/read",), None),
    ],
)
def test_reading_resources_is_allowed_by_its_whole_name_alone(
    rules: tuple[Rule, ...], flags: tuple[str, ...], verdict: str | None
) -> None:
    decision = Policy(rules, flags=flags).decide(request(tool(name=READ)))
    assert (decision.verdict if decision else None) == verdict


def test_a_flag_allows_what_it_names_but_never_what_is_denied() -> None:
    allowed = Policy((), flags=("math.a*",)).decide(request())
    assert allowed is not None
    assert (allowed.verdict, allowed.by) == ("approved", "flag")
    denied = Policy((rule("deny"),), flags=("*",), allow_all=True).decide(request())
    assert denied is not None
    assert (denied.verdict, denied.by) == ("rejected", "rule")


def test_a_grant_for_the_session_holds_for_this_definition_of_this_tool_alone() -> None:
    policy = Policy(())
    policy.grant(tool())
    assert policy.decide(request()) is not None
    assert policy.decide(request(tool(fingerprint="f2"))) is None
    assert policy.decide(request(tool(server="other"))) is None
    del policy.grants[0]
    assert policy.decide(request()) is None


def test_an_answer_counts_once() -> None:
    answers: list[Decision] = []
    asked = question(answers)
    assert asked.approve()
    assert not asked.reject("too late")
    assert [answer.verdict for answer in answers] == ["approved"]


def test_an_answer_after_the_turn_was_stopped_decides_nothing() -> None:
    answers: list[Decision] = []
    asked = question(answers)
    asked.void()
    assert not asked.approve()
    assert answers == []


def test_edited_arguments_are_called_edited_and_bound_to_the_new_bytes() -> None:
    answers: list[Decision] = []
    question(answers).approve(edited=b'{"a":2}')
    assert answers[0].verdict == "edited"
    assert answers[0].arguments == b'{"a":2}'


def test_a_rejection_carries_its_reason() -> None:
    answers: list[Decision] = []
    question(answers).reject("use the other account")
    assert answers[0].reason == "use the other account"
    assert "use the other account" in answers[0].words


async def test_where_nobody_can_be_asked_a_call_is_refused_by_default() -> None:
    answers: list[Decision] = []
    asked = question(answers)
    await Refuse().decide([asked])
    assert asked.open


def test_a_rule_that_matches_no_tool_of_its_server_is_pointed_out_once() -> None:
    rules = (
        rule("deny", "delete"),
        rule("allow", "a*"),
        rule("ask", "x", "other"),
        rule("deny", "x", "*"),
        rule("allow", READ),
    )
    policy = Policy(rules)
    tools = [tool(), tool("other", "x")]
    assert list(policy.unmatched_rules(["math"], tools)) == [rules[0]]
    assert list(policy.unmatched_rules(["math"], tools)) == []
    assert list(policy.unmatched_rules(["other"], tools)) == []
