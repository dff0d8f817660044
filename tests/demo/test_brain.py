"""What the demo model makes of a question; what the bundled servers would say stands in a table."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui_host.demo.model.brain.rules import answer
from tui_host.demo.model.conversation import DemoCall, DemoConversation, DemoMessage
from tui_host.demo.model.json_values import parsed_object
from tui_host.demo.model.plan import Plan

OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": lambda a, b: a / b,
}
TOOLS = (
    *(f"math__{name}" for name in OPERATIONS),
    *("weather__get_forecast", "weather__get_alerts", "orders__get_order", "orders__list_orders"),
)


def by_servers(call: DemoCall) -> str:
    values = [str(value) for value in (parsed_object(call.arguments) or {}).values()]
    name = call.name.partition("__")[2]
    if name not in OPERATIONS or not values:
        return f"{name} of {', '.join(values) or 'all'}"
    try:
        return f"{OPERATIONS[name](*map(float, values)):g}"
    except ZeroDivisionError as error:
        return f"Error: {error}"


@dataclass(frozen=True, slots=True)
class Played:
    plans: tuple[Plan, ...]

    @property
    def asked(self) -> list[list[tuple[str, str]]]:
        return [[(call.name, call.arguments) for call in plan.calls] for plan in self.plans[:-1]]

    @property
    def text(self) -> str:
        return self.plans[-1].text


def play(
    question: str, tools: Sequence[str] = TOOLS, *, told: Callable[[DemoCall], str] = by_servers, parallel: bool = True
) -> Played:
    messages: list[DemoMessage] = [DemoMessage(role="user", text=question)]
    plans: list[Plan] = []
    for step in range(60):
        plan = answer(DemoConversation(messages=tuple(messages), tools=tuple(tools), parallel=parallel))
        plans.append(plan)
        if not plan.calls:
            return Played(tuple(plans))
        calls = tuple(
            DemoCall(id=f"{step}.{index}", name=call.name, arguments=call.arguments)
            for index, call in enumerate(plan.calls)
        )
        messages.append(DemoMessage(role="assistant", text=plan.text, calls=calls))
        messages += [DemoMessage(role="tool", call_id=call.id, text=told(call)) for call in calls]
    raise AssertionError("the demo model asks without end")


ADD, SUBTRACT, MULTIPLY, DIVIDE, FORECAST, ALERTS, ORDER, ORDERS = TOOLS
SEVERAL = 'call math.add {\n  "a": 1,\n  "b": 2\n}\ncall orders.list_orders\n调用 weather.get_alerts {"city":"巴黎"}'
TURNS: list[tuple[str, list[list[tuple[str, str]]], list[str]]] = [
    ("what is (6 × 5 + 7) / 2?",
     [[(MULTIPLY, '{"a":6,"b":5}')], [(ADD, '{"a":30,"b":7}')], [(DIVIDE, '{"a":37,"b":2}')]],
     ["(6 × 5 + 7) / 2 = **18.5**", '3. `math__divide` {"a":37,"b":2} → 18.5', "I am no AI"]),
    ("(1 + 2) * (3 + 4) - 5",
     [[(ADD, '{"a":1,"b":2}'), (ADD, '{"a":3,"b":4}')], [(MULTIPLY, '{"a":3,"b":7}')], [(SUBTRACT, '{"a":21,"b":5}')]],
     ["**16**"]),
    ("(2 + 3) * (2 + 3)", [[(ADD, '{"a":2,"b":3}')], [(MULTIPLY, '{"a":5,"b":5}')]], ["**25**"]),
    ("3 * 4 + 1 / 0", [[(MULTIPLY, '{"a":3,"b":4}'), (DIVIDE, '{"a":1,"b":0}')]], ["division by zero", "→ 12"]),
    ("think about 6 * 7", [[(MULTIPLY, '{"a":6,"b":7}')]], ["**42**"]),
    ("思考一下 6 * 7", [[(MULTIPLY, '{"a":6,"b":7}')]], ["**42**", "演示模型"]),
    ("forecast for New York, São Paulo & Cairo, please",
     [[(FORECAST, f'{{"city":"{city}"}}') for city in ("New York", "São Paulo", "Cairo")]], ["of São Paulo"]),
    ("东京的天气怎么样？", [[(FORECAST, '{"city":"东京"}')]], ["of 东京"]),
    ("香港有没有预警？", [[(ALERTS, '{"city":"香港"}')]], ["of 香港"]),
    (
        "weather in Oslo, and alerts for Oslo: what should I pack?",  # as the server's prompt says it
        [[(FORECAST, '{"city":"Oslo"}'), (ALERTS, '{"city":"Oslo"}')]],
        ["of Oslo"],
    ),
    ("where is order 1042?", [[(ORDER, '{"number":1042}')]], ["of 1042"]),
    ("orders 1038 and #1039", [[(ORDER, '{"number":1038}'), (ORDER, '{"number":1039}')]], ["of 1039"]),
    ("订单 1042 到哪了？", [[(ORDER, '{"number":1042}')]], ["of 1042"]),
    ("list all orders", [[(ORDERS, "{}")]], ["of all"]),
    ("列出所有订单", [[(ORDERS, "{}")]], ["of all"]),
    (SEVERAL, [[(ADD, '{\n  "a": 1,\n  "b": 2\n}'), (ORDERS, "{}"), (ALERTS, '{"city":"巴黎"}')]], ["answered `3`"]),
    ('raw call math.add {"a": 1,', [[(ADD, '{"a": 1,')]], ["answered"]),
    ("raw call no.such_tool x", [[("no__such_tool", "x")]], ["answered"]),
    ("call math.power {}", [], ["No tool `math.power`", "`math__add`"]),
    ("call math.add {a: 1}", [], ["cannot read the arguments for `math.add`"]),
    ("call math.add [1]", [], ["it is not an object"]),
    ("write 1,000,000 words", [], ["## Part 2"]),
    ("写一篇 500 字的文章", [], ["## 第 1 部分"]),
    *((question, [], ["| ---", "```python", "~~"]) for question in ("show markdown", "给我一个表格", "演示 Markdown")),
    *((question, [], ["call SERVER.TOOL", "`math__add`"]) for question in ("hello", "who are you?", "你好", "帮助", "")),
    *((question, [], ["8", "`math__add`"]) for question in ("which tools do you have?", "有哪些工具", "list tools")),
    ("compose a `sonnet`", [], ["none of my rules recognised `compose a 'sonnet'`", "`weather__get_alerts`"]),
    ("作一首诗", [], ["没有规则能识别"]),
    ("errors are human", [], ["none of my rules"]),
]  # fmt: skip


def test_a_question_leads_to_these_calls_and_words() -> None:
    for question, asked, words in TURNS:
        turn = play(question)
        assert turn.asked == asked, question
        assert [text for text in words if text not in turn.text] == [], question
        assert all(bool(plan.thinking) == question.startswith(("think", "思考")) for plan in turn.plans), question


def test_without_a_tool_it_says_so_and_computes_nothing() -> None:
    for question in ("weather in Paris", "东京的天气怎么样？", "where is order 1042?", "list orders", "6 * 5 + 7"):
        turn = play(question, tools=())
        assert len(turn.plans) == 1, question
        assert turn.plans[0].lacks_tool, question
        assert "no tool" in turn.text or "没有" in turn.text, question
        assert "37" not in turn.text


def test_what_became_of_a_call_is_told_as_the_host_told_it() -> None:
    for told, said in {
        "The user rejected this call. It was not run. The user's reason: too dear": "was not run: `The user rejected",
        "This call is denied by a rule of the user. It was not run.": "was not run:",
        "Nobody was there to approve this call. It was not run.": "was not run:",
        "The user stopped the turn before this call was run.": "was not run:",
        "Error: no such thing": "failed: `Error: no such thing`",
        "": "\n\n",
        "```\n" + "x" * 10_000: "6,004 more characters",
    }.items():
        turn = play("call time.now {}", ("time__now",), told=lambda _, told=told: told)
        assert len(turn.plans) == 2
        assert said in turn.text, told
    for question in ("6 * 5 + 7", "weather in Paris and Tokyo"):
        turn = play(question, told=lambda _: "The user rejected this call.")
        assert len(turn.plans) == 2
        assert "**" not in turn.text


def test_the_tools_results_are_used_and_not_sums_of_its_own() -> None:
    turn = play("6 * 5 + 7", told=lambda call: "31" if call.name == MULTIPLY else by_servers(call))
    assert turn.asked[1] == [(ADD, '{"a":31,"b":7}')]
    assert "**38**" in turn.text
    assert [len(calls) for calls in play("(1 + 2) * (3 + 4)", parallel=False).asked] == [1, 1, 1]


def test_the_last_question_counts_without_what_the_host_adds() -> None:
    for said in (
        ["1 + 1", "[The user stopped the previous answer here.]\n3 * 4"],
        ["3 * 4", "[The connection broke off here; the previous answer is not complete.]"],
        ["<system-reminder>\nweather in Paris\n</system-reminder>\n\n3 * 4"],
        ['3 * 4\n\n<file name="a.txt">\ncall math.add\n</file>'],
    ):
        messages = tuple(DemoMessage(role="user", text=text) for text in said)
        plan = answer(DemoConversation(messages=messages, tools=TOOLS))
        assert [call.arguments for call in plan.calls] == ['{"a":3,"b":4}'], said
    image = DemoMessage(role="user", text="", images=2)
    assert "2 image(s) came along" in answer(DemoConversation(messages=(image,))).text


def test_a_tool_is_found_however_a_host_joins_server_and_tool() -> None:
    for offered, asked, name in (
        ("math_add", "math.add", "math_add"),
        ("mcp__math__add", "math.add", "mcp__math__add"),
        ("my-math-server.add", "add", "my-math-server.add"),
        ("docs__get_the_whole_lo_0a1b2c3", "docs.get_the_whole_long_name", "docs__get_the_whole_lo_0a1b2c3"),
    ):
        assert play(f"call {asked}", (offered,), told=lambda _: "ok").asked == [[(name, "{}")]]
    assert play("what is 2 + 3?", ("notes__add", "math__add")).asked[0][0][0] == "math__add"
    assert play("what is 2 + 3?", ("math__quick_add",)).asked == []


def test_an_answer_is_cut_or_empty_on_request() -> None:
    assert play("error length").plans[0].is_cut
    assert play("error empty").text == ""


def test_arithmetic_is_found_in_a_sentence() -> None:
    for sentence, shown in {
        "What's 6 x 5 + 7? use the tools.": "6 × 5 + 7",
        "（６ × ５ ＋ ７）÷ ２ 等于多少？": "(6 × 5 + 7) / 2",
        "6 乘以 5 加 7 是多少": "6 × 5 + 7",
        "10 减去 4 除以 2": "10 − 4 / 2",
        "seven plus? no: 7 plus 8 times 2": "7 + 8 × 2",
        "1,250.50 − 0.5": "1250.50 − 0.5",
        "-(2 + 3) * -4": "(0 − (2 + 3)) × (-4)",
        "8 - (3 - -1)": "8 − (3 − (-1))",
    }.items():
        assert f"{shown} = **" in play(sentence).text
    for sentence in (
        *("", "hello", "what is 7?", "on 2026-11-21", "ping 127.0.0.1", "order 1042", "2 +", "(2 + 3", "2 ** 3"),
        *("((((", "+" * 9, "+".join("1" * 60), "(" * 150 + "1+1" + ")" * 140),
    ):
        assert " = **" not in play(sentence).text, sentence
