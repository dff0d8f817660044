"""What the demo model makes of a question."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.demo.played import TOOLS, play, told_by_servers, tool
from tui_host.demo.model.brain.lookup_rules import cities_in
from tui_host.demo.model.brain.rules import answer
from tui_host.demo.model.plan import AskedCall, Plan, Trouble
from tui_host.demo.model.request_content import AssistantSaid, Call, Conversation, SystemSaid, ToolSaid, UserSaid


@pytest.mark.parametrize(
    ("question", "cities"),
    [
        ("weather in Paris and Tokyo", ["Paris", "Tokyo"]),
        ("What's the weather like in New York, today?", ["New York"]),
        ("forecast for Berlin, São Paulo & Cairo, please", ["Berlin", "São Paulo", "Cairo"]),
        ("Paris weather", ["Paris"]),
        ("is it raining in London?", ["London"]),
        ("weather in paris and Paris", ["paris"]),
        ("weather in 东京", ["东京"]),
        ("东京的天气怎么样？", ["东京"]),
        ("请问北京和上海今天的天气如何", ["北京", "上海"]),
        ("天气 深圳、香港", ["深圳", "香港"]),
        ("how is the weather tomorrow?", []),
    ],
)
def test_cities_are_found_in_a_question(question: str, cities: list[str]) -> None:
    assert cities_in(question) == cities


ADD, SUBTRACT, MULTIPLY, DIVIDE = (f"math__{name}" for name in ("add", "subtract", "multiply", "divide"))
FORECAST, ALERTS, ORDER, ORDERS = (
    "weather__get_forecast",
    "weather__get_alerts",
    "orders__get_order",
    "orders__list_orders",
)
SEVERAL = 'call math.add {\n  "a": 1,\n  "b": 2\n}\ncall orders.list_orders\n调用 weather.get_alerts {"city":"巴黎"}'
TURNS: list[tuple[str, list[list[tuple[str, str]]], list[str]]] = [
    (
        "what is (6 × 5 + 7) / 2?",
        [[(MULTIPLY, '{"a":6,"b":5}')], [(ADD, '{"a":30,"b":7}')], [(DIVIDE, '{"a":37,"b":2}')]],
        ["(6 × 5 + 7) / 2 = **18.5**"],
    ),
    (
        "(1 + 2) * (3 + 4) - 5",
        [
            [(ADD, '{"a":1,"b":2}'), (ADD, '{"a":3,"b":4}')],
            [(MULTIPLY, '{"a":3,"b":7}')],
            [(SUBTRACT, '{"a":21,"b":5}')],
        ],
        ["**16**"],
    ),
    ("(2 + 3) * (2 + 3)", [[(ADD, '{"a":2,"b":3}')], [(MULTIPLY, '{"a":5,"b":5}')]], ["**25**"]),
    (
        "3 * 4 + 1 / 0",
        [[(MULTIPLY, '{"a":3,"b":4}'), (DIVIDE, '{"a":1,"b":0}')]],
        ["division by zero", "3 × 4 → 12"],
    ),
    ("think about 6 * 7", [[(MULTIPLY, '{"a":6,"b":7}')]], ["**42**"]),
    ("思考一下 6 * 7", [[(MULTIPLY, '{"a":6,"b":7}')]], ["**42**", "演示模型"]),
    (
        "weather in Paris and Tokyo",
        [[(FORECAST, '{"city":"Paris"}'), (FORECAST, '{"city":"Tokyo"}')]],
        ["17 °C", "canned demo data"],
    ),
    ("东京的天气怎么样？", [[(FORECAST, '{"city":"东京"}')]], ["21 °C"]),
    ("香港有没有预警？", [[(ALERTS, '{"city":"香港"}')]], ["台风"]),
    (
        "weather in Oslo, and alerts for Oslo: what should I pack?",  # as the server's prompt says it
        [[(FORECAST, '{"city":"Oslo"}'), (ALERTS, '{"city":"Oslo"}')]],
        ["Known cities"],
    ),
    ("where is order 1042?", [[(ORDER, '{"number":1042}')]], ["Rotterdam"]),
    ("orders 1038 and #1039", [[(ORDER, '{"number":1038}'), (ORDER, '{"number":1039}')]], ["delivered"]),
    ("订单 1042 到哪了？", [[(ORDER, '{"number":1042}')]], ["Rotterdam"]),
    ("1042 号订单呢", [[(ORDER, '{"number":1042}')]], ["Rotterdam"]),
    ("list all orders", [[(ORDERS, "{}")]], ["Mei Tanaka"]),
    ("列出所有订单", [[(ORDERS, "{}")]], ["Mei Tanaka"]),
    (SEVERAL, [[(ADD, '{\n  "a": 1,\n  "b": 2\n}'), (ORDERS, "{}"), (ALERTS, '{"city":"巴黎"}')]], ["answered"]),
    ("what tools do you have?", [], ["`orders__get_order`"]),
    ("有哪些工具", [], ["`orders__get_order`"]),
    ("write 1,000,000 words", [], ["50,000 words are the most"]),
    ("写一篇 500 字的文章", [], ["## 第 1 部分"]),
]


@pytest.mark.parametrize(("question", "asked", "words"), TURNS, ids=[turn[0][:30] for turn in TURNS])
def test_a_question_leads_to_these_calls_and_words(
    question: str, asked: list[list[tuple[str, str]]], words: list[str]
) -> None:
    turn = play(question)
    assert [[(call.name, call.arguments) for call in calls] for calls in turn.asked] == asked
    assert all(text in turn.text for text in words)
    assert all(bool(plan.thinking) == question.startswith(("think", "思考")) for plan in turn.plans)


@pytest.mark.parametrize(
    "said",
    [
        ["[The user stopped the previous answer here.]\nwhat is 2 + 3?"],
        ["what is 2 + 3?", "[The connection broke off here; the previous answer is not complete.]"],
        ["<system-reminder>\nweather in Paris\n</system-reminder>\n\nwhat is 2 + 3?"],
        ["what is 2 + 3?", "<system-reminder>\nA list of tasks may help.\n</system-reminder>"],
    ],
    ids=["a stop before the question", "nothing else", "another host's reminder", "a reminder alone"],
)
def test_what_the_host_says_beside_the_question_is_no_question(said: list[str]) -> None:
    plan = answer(Conversation(messages=tuple(UserSaid(text=text) for text in said), tools=TOOLS))
    assert isinstance(plan, Plan)
    assert [call.name for call in plan.calls] == ["math__add"]


def test_a_rejected_lookup_is_acknowledged_and_nothing_made_up() -> None:
    def no_paris(call: AskedCall) -> str:
        return "The user rejected this call. It was not run." if "Paris" in call.arguments else told_by_servers(call)

    turn = play("weather in Paris and Tokyo", told=no_paris)
    assert "You rejected `weather__get_forecast`." in turn.text
    assert "21 °C" in turn.text
    assert "make nothing up" in turn.text


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("This call is denied by a rule of the user. It was not run.", "was not allowed"),
        ("Nobody was there to approve this call. It was not run.", "was not allowed"),
        ("The user stopped the turn before this call was run.", "was stopped"),
        ("The user denied this operation.", "You rejected"),
        ("Error: no such thing", "failed"),
    ],
)
def test_what_became_of_a_call_is_told_as_it_was(told: str, said: str) -> None:
    assert said in play("where is order 1042?", told=lambda _: told).text


def test_without_a_tool_it_says_so() -> None:
    for question in ("weather in Paris", "东京的天气怎么样？", "where is order 1042?", "list orders"):
        turn = play(question, tools=())
        assert len(turn.plans) == 1
        assert "no tool" in turn.text or "没有" in turn.text


def test_a_call_named_by_the_person_is_asked_for_exactly() -> None:
    clock = tool("time__get_current_time", "timezone")
    turn = play('call time.get_current_time {"timezone": "Asia/Tokyo"}', [clock], told=lambda _: '{"datetime": "now"}')
    assert turn.names == [["time__get_current_time"]]
    assert turn.arguments == [['{"timezone": "Asia/Tokyo"}']]
    assert '`{"datetime": "now"}`' in turn.text


def test_a_tool_that_is_not_offered_is_named_with_those_close_to_it() -> None:
    turn = play("call math.multply {}")
    assert len(turn.plans) == 1
    assert "`math__multiply`" in turn.text
    assert "none at all" in play("call math.add {}", tools=()).text


@pytest.mark.parametrize("arguments", ["{a: 1}", "[1]", '"x"', '{"a": NaN}', '{"a":' * 5_000, "{"])
def test_arguments_that_are_no_object_are_not_sent(arguments: str) -> None:
    turn = play(f"call math.add {arguments}")
    assert len(turn.plans) == 1
    assert "cannot read the arguments" in turn.text


def test_a_raw_call_sends_any_text_as_it_is() -> None:
    turn = play('raw call math.add {"a": 1,', told=lambda _: "Error: no JSON")
    assert turn.arguments == [['{"a": 1,']]
    assert play("raw call no.such_tool x", told=lambda _: "Error").names == [["no__such_tool"]]


def test_a_long_result_is_fenced_and_cut_with_a_note() -> None:
    turn = play("call time.now", [tool("time__now")], told=lambda _: "```\n" + "x" * 10_000)
    assert "\n````\n```\nxxx" in turn.text
    assert "6,004 more characters" in turn.text


@pytest.mark.parametrize("question", ["show markdown", "show me a table", "给我一个表格", "演示 Markdown"])
def test_the_showcase_has_all_of_markdown(question: str) -> None:
    text = play(question).text
    for mark in ("# ", "## ", "| ---", "```python", "```json", "> ", "- ", "1. ", "**", "~~", "]("):
        assert mark in text


@pytest.mark.parametrize("question", ["hello", "Help", "who are you?", "你好", "帮助", ""])
def test_it_says_what_it_is_and_what_it_can_do(question: str) -> None:
    text = play(question).text
    assert "no AI" in text or "不是人工智能" in text
    assert "call SERVER.TOOL" in text
    assert "`math` (4)" in text


def test_what_no_rule_recognises_is_said_to_be_so() -> None:
    text = play("compose a `sonnet`").text
    assert "none of my rules recognised `compose a 'sonnet'`" in text
    assert "`weather` (2)" in text
    assert "没有规则能识别" in play("作一首诗").text


def test_errors_come_on_request() -> None:
    assert play("error 429").plans[0].trouble == Trouble(kind="status", status=429)
    assert play("error 500 once").plans[0].trouble == Trouble(kind="status", status=500, once=True)
    assert play("error cut").plans[0].trouble == Trouble(kind="cut")
    assert play("error length").plans[0].is_cut
    assert play("error empty").text == ""
    assert "none of my rules" in play("errors are human").text


def test_the_last_question_counts_and_the_turns_before_do_not() -> None:
    messages = (
        SystemSaid(text="call math.add {}"),
        UserSaid(text="1 + 1"),
        AssistantSaid(text="", calls=(Call(id="a", name="math__add", arguments="{}"),)),
        ToolSaid(call_id="a", text="2"),
        AssistantSaid(text="2"),
        UserSaid(text="3 * 4"),
    )
    plan = answer(Conversation(messages=messages, tools=TOOLS))
    assert [call.arguments for call in plan.calls] == ['{"a":3,"b":4}']


PICTURE = "image/png, 8 bytes"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("", PICTURE),
        ("what is in the picture?", "an image"),
        ("what is in [a 6 + 5.png: image/png, 8 B]?", PICTURE),
        ("看图", "1 张图片"),
    ],
)
def test_images_of_a_question_are_counted_and_not_looked_at(question: str, said: str) -> None:
    assert said in answer(Conversation(messages=(UserSaid(text=question, images=(PICTURE,)),))).text


@pytest.mark.parametrize("is_one_message", [True, False])
def test_a_correction_that_has_no_call_to_answer_is_heeded(is_one_message: bool) -> None:  # noqa: FBT001
    question, correction = (
        'malformed call math.add {"a":1,"b":2}',
        "Your call could not be read: no JSON. Nothing of it was run.",
    )
    said = (f"{question}\n\n{correction}",) if is_one_message else (question, correction)
    messages = tuple(UserSaid(text=text) for text in said)
    plan = answer(Conversation(messages=messages, tools=TOOLS))
    assert [call.arguments for call in plan.calls] == ['{"a":1,"b":2}']
    first = answer(Conversation(messages=(UserSaid(text=question),), tools=TOOLS))
    assert [call.arguments for call in first.calls] == ['{"a":1,"b":2,}']


@settings(max_examples=15)
@given(st.text(), st.booleans())
def test_any_question_has_an_answer_and_always_the_same(question: str, parallel: bool) -> None:  # noqa: FBT001
    conversation = Conversation(messages=(UserSaid(text=question),), tools=TOOLS, parallel=parallel)
    assert answer(conversation) == answer(conversation)


@pytest.mark.parametrize(
    ("offered", "asked"),
    [
        (["math_add"], "math_add"),
        (["math.add"], "math.add"),
        (["mcp__math__add"], "mcp__math__add"),
        (["mcp__math_add"], "mcp__math_add"),
        (["mcp__my__calc__add"], "mcp__my__calc__add"),
        (["functions/math:add"], "functions/math:add"),
        (["add"], "add"),
        (["notes_add", "calc_add", "mcp_math_add", "math_add_all"], "mcp_math_add"),
        (["add", "my-math-server.add"], "my-math-server.add"),
        (["my-math_add", "math_add"], "math_add"),
        (["notes_add", "calc_add"], "notes_add"),
        (["calc_readd", "calc_add2", "calcadd"], ""),
        (["math__quick_add"], ""),
    ],
)
def test_a_tool_is_found_by_its_own_name_behind_whatever_a_host_puts_before(offered: list[str], asked: str) -> None:
    tools = [tool(name, "a", "b", kind="number") for name in offered]
    assert play("what is 2 + 3?", tools, told=lambda _: "5").names == ([[asked]] if asked else [])


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("math.add", "math_add"),
        ("notes.add", "notes.add"),
        ("add", "math_add"),
        ("math_add", "math_add"),
        ("sums.add", "mcp_my-sums_add"),
    ],
)
def test_a_person_may_name_a_tool_by_its_server_however_a_host_joins_the_two(asked: str, name: str) -> None:
    tools = [tool("math_add"), tool("notes.add"), tool("mcp_my-sums_add")]
    assert play(f"call {asked}", tools, told=lambda _: "ok").names == [[name]]


def test_images_of_a_result_are_no_new_question() -> None:
    messages = (
        UserSaid(text="call img.draw"),
        AssistantSaid(text="", calls=(Call(id="a", name="img__draw", arguments="{}"),)),
        ToolSaid(call_id="a", text="(an image)"),
        UserSaid(text="The image that img__draw returned:", images=(PICTURE,)),
    )
    told = answer(Conversation(messages=messages, tools=(tool("img__draw"),))).text
    assert "(an image)" in told
    assert f"1 image came with it: {PICTURE}" in told
