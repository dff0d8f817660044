"""What the demo model makes of a question."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.demo.played import TOOLS, play, told_by_servers, tool
from tui_host.demo.model.brain.prose import chinese_text, english_text
from tui_host.demo.model.brain.rules import answer
from tui_host.demo.model.brain.weather_rules import cities_in
from tui_host.demo.model.plan import AskedCall, Breakage, Plan, Refusal
from tui_host.demo.model.request_content import AssistantSaid, Call, Conversation, SystemSaid, ToolSaid, UserSaid

_TAGS = ("*demo model: I follow rules, I am no AI*", "*演示模型：按规则回答，不是人工智能*")


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


def test_the_weather_of_several_cities_is_asked_for_at_once() -> None:
    turn = play("weather in Paris and Tokyo")
    assert turn.names == [["weather__get_forecast"] * 2]
    assert turn.arguments == [['{"city":"Paris"}', '{"city":"Tokyo"}']]
    assert "17 °C" in turn.text
    assert turn.text.count("canned demo data") == 2


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


def test_weather_and_alerts_in_chinese() -> None:
    assert "21 °C" in play("东京的天气怎么样？").text
    turn = play("香港有没有预警？")
    assert turn.names == [["weather__get_alerts"]]
    assert "台风" in turn.text


def test_a_prompt_of_the_server_leads_to_both_of_its_tools() -> None:
    turn = play("weather in Oslo, and alerts for Oslo: what should I pack?")
    assert turn.names == [["weather__get_forecast", "weather__get_alerts"]]
    assert "Known cities" in turn.text


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


@pytest.mark.parametrize(
    ("question", "arguments"),
    [
        ("where is order 1042?", ['{"number":1042}']),
        ("orders 1038 and #1039", ['{"number":1038}', '{"number":1039}']),
        ("订单 1042 到哪了？", ['{"number":1042}']),
        ("1042 号订单呢", ['{"number":1042}']),
        ("list all orders", ["{}"]),
        ("列出所有订单", ["{}"]),
    ],
)
def test_orders_are_looked_up(question: str, arguments: list[str]) -> None:
    assert play(question).arguments == [arguments]


def test_an_order_number_is_a_text_where_the_schema_says_so() -> None:
    assert play("order 7", [tool("shop__get_order", "order_id")], told=lambda _: "x").arguments == [
        ['{"order_id":"7"}']
    ]


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


def test_several_calls_are_asked_for_at_once_also_over_several_lines_of_json() -> None:
    turn = play(
        'call math.add {\n  "a": 1,\n  "b": 2\n}\ncall orders.list_orders\n调用 weather.get_alerts {"city":"巴黎"}'
    )
    assert turn.names == [["math__add", "orders__list_orders", "weather__get_alerts"]]
    assert turn.arguments[0][1] == "{}"


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("files.read.all", "files__read_all"),
        ("web.fetch/page", "web__fetch_page"),
        ("long.a_very_long_name_that_was_cut_somewhere", "long__a_very_long_name_that_0a1b2c3d"),
        ("tiem.now", "time__now"),
        ("now", "time__now"),
        ("docs.search", "mcp__docs__search"),
    ],
)
def test_a_tool_is_found_by_the_name_that_its_server_gave_it(asked: str, name: str) -> None:
    tools = [
        tool("files__read_all"),
        tool("web__fetch_page"),
        tool("long__a_very_long_name_that_0a1b2c3d"),
        tool("time__now"),
        tool("mcp__docs__search"),
    ]
    assert play(f"call {asked}", tools, told=lambda _: "ok").names == [[name]]


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


def test_thinking_comes_before_the_answer_at_every_step() -> None:
    for question in ("think about 6 * 7", "思考一下 6 * 7", "think: 6 * 7"):
        turn = play(question)
        assert turn.names == [["math__multiply"]]
        assert all(plan.thinking for plan in turn.plans)
        assert "**42**" in turn.text


@pytest.mark.parametrize("words", [0, 1, 20, 150, 151, 500, 5_000])
def test_a_text_has_as_many_words_as_were_asked_for(words: int) -> None:
    paragraphs = [line for line in english_text(words).split("\n\n") if not line.startswith("#")]
    assert sum(len(paragraph.split()) for paragraph in paragraphs) == words
    characters = [line for line in chinese_text(words).split("\n\n") if not line.startswith("#")]
    assert abs(sum(map(len, characters)) - words) <= 1


def test_long_answers_have_a_limit_and_say_so() -> None:
    assert "50,000 words are the most" in play("write 1,000,000 words").text
    assert len(play("写一篇 500 字的文章").text) > 500


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


def test_tools_are_listed_by_name() -> None:
    assert "`orders__get_order`" in play("what tools do you have?").text
    assert "`orders__get_order`" in play("有哪些工具").text


@pytest.mark.parametrize(
    "question", ["what is 1 + 1?", "hello", "东京的天气", "xyz", "call math.add {}", "list tools", "write 9 words"]
)
def test_every_final_answer_says_that_it_follows_rules(question: str) -> None:
    assert play(question).text.endswith(_TAGS)


def test_errors_come_on_request() -> None:
    assert play("error 429").plans[0].trouble == Refusal(status=429)
    assert play("error 500 once").plans[0].trouble == Refusal(status=500, once=True)
    assert play("error cut").plans[0].trouble == Breakage(kind="cut")
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


def test_a_call_whose_server_has_gone_meanwhile_is_answered_from_its_result() -> None:
    messages = (
        UserSaid(text="call math.add {}"),
        AssistantSaid(text="", calls=(Call(id="a", name="math__add", arguments="{}"),)),
        ToolSaid(call_id="a", text="Error: the server exited (137)"),
    )
    assert "exited (137)" in answer(Conversation(messages=messages, tools=())).text


PICTURE = "image/png, 8 bytes"


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


def test_images_of_a_result_are_counted() -> None:
    messages = (
        UserSaid(text="call img.draw"),
        AssistantSaid(text="", calls=(Call(id="a", name="img__draw", arguments="{}"),)),
        ToolSaid(call_id="a", text="here", images=(PICTURE, PICTURE)),
    )
    assert "2 images came with it" in answer(Conversation(messages=messages)).text


@settings(max_examples=15)
@given(st.text(), st.booleans())
def test_any_question_has_an_answer_and_always_the_same(question: str, parallel: bool) -> None:  # noqa: FBT001
    conversation = Conversation(messages=(UserSaid(text=question),), tools=TOOLS, parallel=parallel)
    assert answer(conversation) == answer(conversation)


@pytest.mark.exhaustive
def test_a_huge_question_is_answered_quickly() -> None:
    for text in (
        "in and " * 100_000,
        "1+" * 200_000,
        "(" * 100_000,
        "order " * 100_000,
        "天气和" * 100_000,
        "call " * 50_000,
    ):
        assert play(text, told=lambda _: "Error").plans


def test_the_demo_answers_behind_a_host_that_writes_one_line_between_server_and_tool() -> None:
    tools = [
        tool(f"mcp_{name.replace('__', '_')}") for name in ("math__multiply", "math__add", "weather__get_forecast")
    ]
    assert play("what is 2 + 3?", tools, told=lambda _: "5").names == [["mcp_math_add"]]


@pytest.mark.parametrize(
    ("offered", "asked"),
    [
        (["math_add"], "math_add"),
        (["math.add"], "math.add"),
        (["mcp__math__add"], "mcp__math__add"),
        (["mcp__math_add"], "mcp__math_add"),
        (["my__math_add"], "my__math_add"),
        (["mcp__my__calc__add"], "mcp__my__calc__add"),
        (["functions/math:add"], "functions/math:add"),
        (["add"], "add"),
        (["notes_add", "calc_add", "mcp_math_add", "math_add_all"], "mcp_math_add"),
        (["add", "my-math-server.add"], "my-math-server.add"),
        (["my-math_add", "math_add"], "math_add"),
        (["notes_add", "calc_add"], "notes_add"),
        (["notes_add", "calc_plus"], "notes_add"),
        (["calc_readd", "calc_add2", "calcadd"], ""),
        (["notes__quick_add"], ""),
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
        ("maht.add", "math_add"),
        ("notes.add", "notes.add"),
        ("add", "math_add"),
        ("math_add", "math_add"),
        ("sums.add", "mcp_my-sums_add"),
    ],
)
def test_a_person_may_name_a_tool_by_its_server_however_a_host_joins_the_two(asked: str, name: str) -> None:
    tools = [tool("math_add"), tool("notes.add"), tool("mcp_my-sums_add")]
    assert play(f"call {asked}", tools, told=lambda _: "ok").names == [[name]]
