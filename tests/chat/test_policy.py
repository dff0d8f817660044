"""Deny beats ask beats allow; what was not approved is refused; an answer counts once."""

import pytest

from tui_host.chat.policy import CallRequest, Decision, Policy, Question, Refuse, lasting
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


@pytest.mark.parametrize(
    ("rules", "flags", "name", "verdict"),
    [
        ((), (), "add", None),
        ((rule("allow"),), (), "add", "approved"),
        ((rule("ask"), rule("allow")), (), "add", None),
        ((rule("allow"), rule("deny"), rule("ask")), (), "add", "rejected"),
        ((rule("allow", "sub*"),), (), "add", None),
        ((rule("allow", server="other"),), (), "add", None),
        # Reading resources is allowed by its whole name alone.
        ((rule("allow"),), ("*", "math.*", "math.resources*"), READ, None),
        ((rule("allow", READ),), (), READ, "approved"),
        ((rule("allow", READ), rule("ask")), (), READ, None),
        ((rule("allow", READ), rule("deny")), (), READ, "rejected"),
        ((), ("math.resources/read",), READ, "approved"),
        ((), ("*.resources/read",), READ, "approved"),
        ((), ("other.resources/read",), READ, None),
    ],
)
def test_deny_wins_then_ask(rules: tuple[Rule, ...], flags: tuple[str, ...], name: str, verdict: str | None) -> None:
    decision = Policy(rules, flags=flags).decide(request(tool(name=name)))
    assert (decision.verdict if decision else None) == verdict


def test_a_flag_allows_what_it_names_but_never_what_is_denied() -> None:
    allowed = Policy((), flags=("math.a*",)).decide(request())
    denied = Policy((rule("deny"),), flags=("*",), allow_all=True).decide(request())
    decided = [(made.verdict, made.by) for made in (allowed, denied) if made]
    assert decided == [("approved", "flag"), ("rejected", "rule")]


def test_a_grant_for_the_session_holds_for_this_definition_of_this_tool_alone() -> None:
    policy = Policy(())
    policy.grant(tool())
    assert policy.decide(request()) is not None
    assert policy.decide(request(tool(fingerprint="f2"))) is None
    assert policy.decide(request(tool(server="other"))) is None
    del policy.grants[0]
    assert policy.decide(request()) is None


def test_a_rule_for_good_holds_for_this_definition_alone_and_what_is_asked_says_why() -> None:
    policy = Policy([lasting(tool())])
    held = policy.decide(request())
    assert held is not None
    assert (held.verdict, held.by, held.words) == ("approved", "rule", "allowed by the rule math.add in rules.toml")
    assert policy.decide(request(), is_current=False) is None
    changed = tool(fingerprint="f2")
    assert policy.decide(request(changed)) is None
    assert policy.why_asked(changed) == "the rule in rules.toml is for another definition"
    asking = Rule(server="math", tool="a*", action="ask", where="config.toml", line=3)
    assert Policy([lasting(tool()), asking]).decide(request()) is None
    assert Policy([asking]).why_asked(tool()) == "the rule ask math.a* in config.toml, line 3 says so"
    granted = Policy(())
    granted.grant(tool())
    assert granted.why_asked(changed) == "the rule of this session is for another definition"
    assert Policy(()).why_asked(tool()) == "no rule allows it"


def test_the_time_of_a_decision_counts_from_when_the_call_was_first_on_the_screen() -> None:
    answers: list[Decision] = []
    now = iter([0.0, 20.0, 22.5])  # asked, on the screen, decided
    asked = Question(request(), answered=lambda _, decision: answers.append(decision), clock=lambda: next(now))
    asked.appear()
    asked.appear()
    asked.approve()
    assert (answers[0].waited, answers[0].words) == (2.5, "approved once, by you, after 2.5 s")


async def test_an_answer_counts_once_and_where_nobody_can_be_asked_there_is_none() -> None:
    answers: list[Decision] = []
    asked = question(answers)
    await Refuse().decide([asked])
    assert asked.open
    assert (asked.approve(edited=b'{"a":2}'), asked.reject("too late")) == (True, False)
    assert [(answer.verdict, answer.arguments) for answer in answers] == [("edited", b'{"a":2}')]


def test_an_answer_after_the_turn_was_stopped_decides_nothing() -> None:
    answers: list[Decision] = []
    asked = question(answers)
    asked.is_void = True
    assert (asked.approve(), answers) == (False, [])
    question(answers).reject("use the other account")
    words = "rejected by you after 0.0 s: use the other account"
    assert (answers[0].reason, answers[0].words) == ("use the other account", words)


def test_a_rule_that_matches_no_tool_of_its_server_is_pointed_out_once() -> None:
    fitting = (rule("allow", "a*"), rule("ask", "x", "other"), rule("deny", "x", "*"), rule("allow", READ))
    rules = (rule("deny", "delete"), *fitting)
    policy = Policy(rules)
    tools = [tool(), tool("other", "x")]
    found = [list(policy.unmatched_rules([server], tools)) for server in ("math", "math", "other")]
    assert found == [[rules[0]], [], []]
