"""What services and gateways do to answers: pieces of calls, repeats, restarts, members of their own, answers that stop, refusals."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.kit.bodies import DONE, calls, chunk, event, fragment
from tests.llm.recorded import gemini, openai_responses
from tests.llm.recorded.anthropic import STOP, began, call, closed, finished, more, opened, thought, words
from tests.llm.recorded.asks import EVERY, answered, user, written
from tests.llm.recorded.case import MODEL, PROVIDER, TIME, WEATHER, events_of, fold_of, text
from tui_host.errors import JSON
from tui_host.llm.dialects.table import DIALECTS, dialect
from tui_host.llm.events import Failed, Repeated
from tui_host.llm.fold import Fold
from tui_host.llm.messages import Ask, Message, Usage
from tui_host.llm.outgoing import Target
from tui_host.llm.provider_faults import failure, refusal

SUM = ("add", '{"a":1,"b":2}')
FIRST = fragment(index=0, wire_id="c1", name="add", arguments="")
ENDED = chunk(finish="tool_calls") + DONE
HEAD, TAIL = '{"city":', '"Paris"}'


def whole(asked: tuple[str, str], wire_id: str | None = None, index: int | None = None) -> dict[str, JSON]:
    return fragment(index=index, wire_id=wire_id, name=asked[0], arguments=asked[1])


def asked(fold: Fold) -> list[tuple[str, str, str]]:
    return [(found.call.wire_id, found.call.name, found.call.arguments) for found in fold.calls]


BOTH = [("1", *WEATHER), ("2", *TIME)]
PIECES: dict[str, tuple[Sequence[JSON], Sequence[tuple[str, str, str]]]] = {
    "without index": (
        [fragment(wire_id="1", name=WEATHER[0], arguments=""), fragment(arguments=HEAD), fragment(arguments=TAIL), whole(TIME, "2")],
        BOTH,
    ),
    "without index, the id on each": (
        [fragment(wire_id="1", name=WEATHER[0], arguments=HEAD), fragment(wire_id="2", name=TIME[0], arguments=""),
         fragment(wire_id="1", arguments=TAIL), fragment(wire_id="2", arguments=TIME[1])],
        BOTH,
    ),
    "index always 0, without ids": ([whole(WEATHER, None, 0), whole(TIME, None, 0)], [("", *WEATHER), ("", *TIME)]),
    "the name in pieces": (
        [fragment(index=0, wire_id="1", name="get_", arguments=""), fragment(index=0, name="weather", arguments=""),
         fragment(index=0, arguments=WEATHER[1]), whole(TIME, "2", 1)],
        BOTH,
    ),
    "the name on each": (
        [fragment(index=0, wire_id="1", name=WEATHER[0], arguments=""), fragment(index=0, name=WEATHER[0], arguments=HEAD),
         fragment(index=0, name=WEATHER[0], arguments=TAIL), whole(TIME, "2", 1)],
        BOTH,
    ),
    "arguments as an object": ([fragment(index=0, wire_id="1", name=WEATHER[0], arguments={"city": "Paris"})], BOTH[:1]),
    "the index grows without id and name": (
        [FIRST, fragment(index=1, arguments='{"a":1,'), fragment(index=2, arguments='"b":2}')], [("c1", *SUM)]),
    "the id changes and the name is repeated": (
        [FIRST, fragment(index=0, wire_id="x", name="add", arguments='{"a":1,'),
         fragment(index=0, wire_id="x", name="add", arguments='"b":2}')],
        [("c1", *SUM)],
    ),
    "two calls under one index": (
        [whole(SUM, "x", 0), fragment(index=0, wire_id="y", name="add", arguments='{"a":3,'), fragment(index=0, arguments='"b":4}')],
        [("x", *SUM), ("y", "add", '{"a":3,"b":4}')],
    ),
    "two calls of one id, in pieces": (
        [fragment(index=0, wire_id="x", name="add", arguments=""), fragment(index=0, arguments=SUM[1]), fragment(index=1, wire_id="x", name="add", arguments=""),
         fragment(index=1, arguments='{"a":3}')],
        [("x", *SUM), ("x", "add", '{"a":3}')],
    ),
    "two calls without arguments": ([FIRST, whole(("add", ""), "c2", 0)], [("c1", "add", ""), ("c2", "add", "")]),
    "an empty id and nothing else": ([{"index": 0, "id": "", "type": "function"}], []),
    "a call that comes whole again": ([whole(SUM, "c1", 0)] * 2, [("c1", *SUM)]),
}  # fmt: skip


@pytest.mark.parametrize("name", PIECES)
def test_pieces_make_one_call_and_never_a_wrong_one(name: str) -> None:
    pieces, wanted = PIECES[name]
    fold = fold_of("openai", *(calls(piece) for piece in pieces), chunk(finish="stop"), DONE)
    assert (asked(fold), fold.stop) == (wanted, "tools" if wanted else "end")


def test_the_only_choice_is_read_whatever_its_index() -> None:
    message: JSON = {"content": "Let me.", "tool_calls": [whole(SUM, "c1", 0)]}
    for bodies in (
        (json.dumps({"choices": [{"index": 1, "message": message}]}).encode(),),
        (chunk({"content": ""}), event({"choices": [{"index": 1, "delta": message}]}), ENDED),
    ):
        fold = fold_of("openai", *bodies)
        assert (fold.text, asked(fold)) == ("Let me.", [("c1", *SUM)])


def test_calls_beyond_the_limit_are_told_and_left_out() -> None:
    many = fold_of("openai", *(calls(whole(("t", "{}"), f"i{n}", n)) for n in range(200)))
    assert (len(many.calls), many.has_calls_left_out, many.unreadable) == (128, True, 0)


def test_the_forms_of_a_delta_are_read() -> None:
    for delta, said, thinking in (
        ({"content": None}, "", ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab", ""),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}, "", "hm"),
        ({"reasoning": "hm", "reasoning_content": "hm"}, "", "hm"),
        ({"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}, "", "hm"),
        ({"content": "a", "tool_calls": None}, "a", ""),
        # Where the server tells thinking apart, text is text.
        ({"reasoning": "hm", "content": "<think>is a tag\n</think>\n"}, "<think>is a tag\n</think>\n", "hm"),
    ):
        fold = fold_of("openai", chunk(delta), chunk(finish="stop"), DONE)
        assert (fold.text, fold.thinking, fold.stop) == (said, thinking, "end")


def test_usage_of_chat_is_read_in_every_form_and_place() -> None:
    for usage, expected in (
        ({"prompt_tokens": 5, "completion_tokens": 2, "cost": 0.5}, Usage(input_total=5, output_total=2, cost=0.5)),
        ({"prompt_tokens": 5, "prompt_cache_hit_tokens": 3}, Usage(input_total=5, input_cached=3)),
        ({"prompt_tokens": 5, "cached_tokens": 3}, Usage(input_total=5, input_cached=3)),
        (None, Usage()),
    ):
        choice: JSON = {"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage}
        places: list[JSON] = [
            {"choices": [], "usage": usage},
            {"choices": [choice]},
            {"choices": [], "x_groq": {"usage": usage}},
        ]
        for value in places:
            assert fold_of("openai", event(value), DONE).usage == expected


@pytest.mark.parametrize("broken", [b"data: {oops\n\n", b"data: 7\n\n", b"data: " + b"[" * 100_000 + b"\n\n"])
def test_an_event_that_cannot_be_read_is_marked_and_the_stream_goes_on(broken: bytes) -> None:
    fold = fold_of("openai", chunk({"content": "a"}), broken, chunk({"content": "b"}), chunk(finish="stop"), DONE)
    assert (fold.text, fold.stop, fold.unreadable) == ("ab", "end", 1)


@pytest.mark.parametrize(
    ("name", "body", "said", "failure"),
    [
        ("openai", chunk({"content": "a"}) + event({"error": {"message": "overloaded", "code": "busy"}}), "a", "overloaded"),
        ("openai", chunk({"content": "a"}) + event({"error": "plain"}), "a", "plain"),
        ("openai", chunk({"content": "a"}) + event({"object": "error", "message": "flat", "code": "1"}), "a", "flat"),
        ("ollama", b'{"message":{"content":"a"},"done":false}\n{"error parsing tool call":"invalid character"}\n',
         "a", "error parsing tool call: invalid character"),
        ("ollama", b'{"message":{"content":"a"},"done":false}\nerror: llama runner is gone\n', "a", "error: llama runner is gone"),
        ("openai-responses", chunk({"content": "hi"}) + DONE, "",
         'the answer has the form of another dialect: set dialect = "openai" for this provider'),
        ("openai", began() + words(), "", 'the answer has the form of another dialect: set dialect = "anthropic" for this provider'),
        ("gemini", openai_responses.BEGAN, "",
         'the answer has the form of another dialect: set dialect = "openai-responses" for this provider'),
    ],
)  # fmt: skip
def test_an_error_is_told_in_its_words_in_whatever_form(name: str, body: bytes, said: str, failure: str) -> None:
    fold = fold_of(name, body)
    assert (fold.text, fold.failure, fold.stop) == (said, failure, "failed")


@pytest.mark.parametrize(
    ("blocks", "said", "repeats"),
    [
        (opened(0, {"type": "text", "text": "Hello"}) + more(0, "text_delta", "text", "Hello")
         + more(0, "text_delta", "text", " world"), "Hello world", [False]),
        (opened(0, {"type": "text", "text": "ha"}) + more(0, "text_delta", "text", "ha ha"), "haha ha", []),
        (words(0, "do") + began() + words(0, "done"), "done", [True]),
        (call(0, "a", WEATHER) + began() + words(0, "done"), "done", [True]),
        (opened(0, {"type": "text", "text": ""}) + more(0, "text_delta", "text", "do") + began()
         + more(0, "text_delta", "text", "ne"), "done", []),
    ],
    ids=["start and first piece", "an honest repeat", "a restart", "a restart behind a call", "message_start in between"],
)  # fmt: skip
def test_what_comes_twice_is_one_text_and_said(blocks: bytes, said: str, repeats: list[bool]) -> None:
    body = began() + blocks + finished("end_turn") + STOP
    fold = fold_of("anthropic", body)
    assert (fold.text, len(fold.calls), fold.stop) == (said, 0, "end")
    assert [one.restarts for one in events_of("anthropic", [body]) if isinstance(one, Repeated)] == repeats


def test_halves_of_a_character_in_two_events_are_put_together() -> None:
    halves = (b'{"content":"a\\ud83d"}', b'{"content":"\\ude00b\\ud83d"}')
    fold = fold_of("openai", *(b'data: {"choices":[{"delta":' + half + b"}]}\n\n" for half in halves), DONE)
    assert fold.text == "a😀b\ud83d"


def test_an_answer_of_ollama_that_is_written_for_eyes_is_read_wherever_it_is_cut() -> None:
    answer = json.loads(EVERY["ollama"].whole.body)
    for indent in (2, "\t"):
        body = json.dumps(answer, indent=indent, ensure_ascii=False).encode()
        for at in range(0, len(body), 5):
            assert [each.call.name for each in fold_of("ollama", body[:at], body[at:]).calls] == [WEATHER[0], TIME[0]]


# What goes back


def back(
    name: str, answer: Message, *, provider: str = PROVIDER, service: str = "", model: str = MODEL
) -> dict[str, JSON]:
    ask = Ask(model=model, messages=(user("x"), answer, answered(answer)))
    request = dialect(name).writer(ask, Target(provider=provider, service=service)).outgoing()
    return json.loads(request.body)[request.growing][1]


EXTRA: JSON = {"google": {"thought_signature": "AY89a18="}}
EXTENDED = whole(("add", "{}"), "c1", 0) | {"extra_content": EXTRA}


def test_members_of_a_call_that_only_its_provider_knows_go_back_to_it_alone() -> None:
    plain: JSON = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    for body in (
        calls(EXTENDED) + ENDED,
        calls(FIRST) + calls(fragment(index=0, arguments="{}") | {"extra_content": EXTRA}) + ENDED,
        text({"choices": [{"message": {"tool_calls": [EXTENDED]}}]}),
    ):
        answer = fold_of("openai", body).message(turn=1)
        assert back("openai", answer)["tool_calls"] == [{**plain, "extra_content": EXTRA}]
        assert back("openai", answer, provider="other")["tool_calls"] == [plain]
        assert back("openai", answer, model="other")["tool_calls"] == [plain]


def test_details_of_thinking_are_joined_and_go_back_whole_with_their_signatures() -> None:
    def details(**members: JSON) -> bytes:
        return chunk({"reasoning_details": [{"type": "reasoning.text", "index": 0, **members}]})

    hidden: JSON = {"type": "reasoning.encrypted", "data": "b64", "id": "r1", "index": 1}
    pieces = details(text="h"), details(text="m"), details(text="", signature="sig==")
    fold = fold_of("openai", *pieces, chunk({"reasoning_details": [hidden]}), chunk({"content": "a"}), ENDED)
    signed: JSON = {"type": "reasoning.text", "index": 0, "text": "hm", "signature": "sig=="}
    assert fold.thinking == "hm"
    assert back("openai", fold.message(turn=1))["reasoning_details"] == [signed, hidden]
    assert "reasoning_details" not in back("openai", fold.message(turn=1), provider="other")


CALLER: JSON = {"type": "tool_use", "id": "t1", "name": "add", "input": {}, "caller": {"type": "code"}}
RUN: dict[str, JSON] = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
FOUND: dict[str, JSON] = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"url": "u"}]}
SIGNED: JSON = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
QUERY = opened(0, RUN) + more(0, "input_json_delta", "partial_json", '{"query":"x"}') + closed(0)


def of_text(said: str) -> JSON:
    return {"type": "text", "text": said}


@pytest.mark.parametrize(
    ("body", "content"),
    [
        (opened(0, CALLER) + closed(0) + finished("tool_use") + STOP, [CALLER]),
        (QUERY + opened(1, FOUND) + closed(1) + words(2, "It is so.") + finished("end_turn") + STOP,
         [RUN | {"input": {"query": "x"}}, FOUND, of_text("It is so.")]),
        (words(0, "Let me search.") + opened(1, RUN) + closed(1), [of_text("Let me search.")]),
        (words(0, "Let me add.") + thought(1, "hm", "c2ln"), [of_text("Let me add.")]),
        (thought(0, "hm", "c2ln") + words(1, "So it is.") + finished("end_turn") + STOP, [SIGNED, of_text("So it is.")]),
    ],
    ids=["a caller", "its own tool", "cut in a run", "cut behind thinking", "ended"],
)  # fmt: skip
def test_blocks_of_anthropic_go_back_whole_and_an_answer_that_stopped_can_go_on(body: bytes, content: JSON) -> None:
    assert back("anthropic", fold_of("anthropic", began() + body).message(turn=1))["content"] == content


def test_an_unsigned_thought_goes_back_with_calls_to_services_that_demand_it_but_not_to_anthropic() -> None:
    body = began() + thought(0, "hm", "") + words(1) + call(2, "a", WEATHER) + finished("tool_use") + STOP
    answer = fold_of("anthropic", body).message(turn=1)
    content = back("anthropic", answer)["content"]
    assert isinstance(content, list)
    assert content[0] == {"type": "thinking", "thinking": "hm"}
    assert "hm" not in json.dumps(back("anthropic", answer, service="anthropic"))


def test_signatures_and_unknown_parts_go_back_to_gemini_in_the_very_parts_they_came_in() -> None:
    one, two, three = gemini.SIGNATURES
    code: JSON = {"executableCode": {"code": "1"}, "thoughtSignature": "c2ln", "thought": True}
    chunks = (
        gemini.chunk(gemini.part("a")),
        gemini.chunk(gemini.part("b", thoughtSignature=one)),
        gemini.chunk(gemini.part("c"), gemini.part("d")),
        gemini.chunk(gemini.part("hm", thought=True, thoughtSignature=two)),
        gemini.chunk(gemini.call(WEATHER, signature=three), gemini.call(TIME, wire_id="fc-1")),
        gemini.chunk(text(code).decode(), gemini.part("e"), finish="STOP"),
    )
    answer = fold_of("gemini", *chunks).message(turn=1)
    assert back("gemini", answer)["parts"] == [
        {"text": "a"},
        {"text": "b", "thoughtSignature": one},
        {"text": "cd"},
        {"text": "hm", "thought": True, "thoughtSignature": two},
        {"functionCall": {"name": "get_weather", "args": {"city": "Paris"}}, "thoughtSignature": three},
        {"functionCall": {"id": "fc-1", "name": "get_time", "args": {"zone": "Asia/東京", "x": 1.0}}},
        code,
        {"text": "e"},
    ]


def test_items_of_responses_go_back_whole_but_for_calls_that_nobody_answers() -> None:
    search: dict[str, JSON] = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "x"}}
    custom: dict[str, JSON] = {"type": "custom_tool_call", "id": "ct_1", "call_id": "c", "name": "n", "input": "i"}
    items = openai_responses.closed(0, search), openai_responses.closed(1, custom), openai_responses.words(2)
    answer = fold_of("openai-responses", openai_responses.BEGAN, *items, openai_responses.over()).message(turn=1)
    first, second = json.loads(written("openai-responses", Ask(model=MODEL, messages=(answer,))))["input"]
    assert (first, second["type"]) == (search, "message")


# What a vendor's built-in tool did, and the sources that an answer cites

PAGE: dict[str, JSON] = {"url": "https://a.example/", "title": "A page"}
SEARCH = {"type": "web_search_call", "id": "w1", "action": {"type": "search", "query": "weather"}}
CITING = {"type": "output_text", "text": "sunny", "annotations": [PAGE]}
GROUNDING: JSON = {
    "webSearchQueries": ["weather"],
    "groundingChunks": [{"web": {"uri": PAGE["url"], "title": PAGE["title"]}}],
}


@pytest.mark.parametrize(
    ("name", "body", "tool"),
    [
        ("anthropic", QUERY.replace(b"x", b"weather", 1).replace(b'\\"x\\"', b'\\"weather\\"')
         + opened(1, {**FOUND, "content": [PAGE]}) + closed(1) + words(2, "sunny"), "web_search"),
        ("openai-responses", openai_responses.closed(0, SEARCH)
         + openai_responses.closed(1, {"type": "message", "id": "m1", "content": [CITING]}), "web_search"),
        ("gemini", gemini.chunk(gemini.part("sunny"), finish="STOP", groundingMetadata=GROUNDING), "google_search"),
        ("openai", chunk({"content": "sunny"}) + chunk({"annotations": [{"url_citation": PAGE}]}) + DONE, ""),
    ],
)  # fmt: skip
def test_what_a_built_in_tool_did_and_the_sources_are_read(name: str, body: bytes, tool: str) -> None:
    fold = fold_of(name, body)
    assert fold.text == "sunny"
    assert [(run.tool, run.asked) for run in fold.vendor_runs] == ([(tool, "weather")] if tool else [])
    assert [(source.url, source.title) for source in fold.sources] == [tuple(PAGE.values())]


FORMS = {
    "<think>hm</think>\n\nanswer": ("hm", "answer"),
    "\n <think>\nhm < 5\n</think>answer": ("\nhm < 5\n", "answer"),
    "[THINK]hm[/THINK]answer": ("hm", "answer"),
    "<think>half closed</thi": ("half closed</thi", ""),
    "<think>a</think>b<think>c</think>": ("a", "b<think>c</think>"),
    "hm, so\n</think>\n\nanswer": ("hm, so\n", "answer"),
    "hm, so.</think>\n\nanswer": ("hm, so.", "answer"),
    "a <think> in the middle</think> of it": ("", "a <think> in the middle</think> of it"),
    "```\n</think>\n```\n": ("", "```\n</think>\n```\n"),
    "<thin": ("", "<thin"),
    " \n": ("", " \n"),
}


@pytest.mark.parametrize("text", FORMS)
def test_thinking_within_the_text_is_told_apart_however_it_is_cut(text: str) -> None:
    for size in (1, 2, 5, 1000):
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        fold = fold_of("openai", *(chunk({"content": piece}) for piece in pieces), chunk(finish="stop"), DONE)
        assert (fold.thinking, fold.text) == FORMS[text]


INSPECT = "look at the request: in the inspector, or by tui-host sessions show last"


def test_the_provider_s_words_are_found_in_every_form() -> None:
    for body, what in (
        (b'{"error": {"message": "no", "type": "t", "code": "c"}}', "400 c: no"),
        (b'{"error": {"message": "no", "type": "t", "code": null}}', "400 t: no"),
        (b'{"error": {"message": "bad", "failed_generation": "<tool"}}', "400: bad The model wrote: <tool"),
        (b'{"error": "no"}', "400: no"),
        (b'{"detail": [{"loc": ["body", "a"], "msg": "no"}, {"msg": "never"}]}', "400: body.a: no; never"),
        (b'[{"error": {"message": "no"}}]', "400: no"),
        (b"Bad gateway" * 100, f"400: {'Bad gateway' * 100}"[:505]),
        (b"\xff", "400: \ufffd"),
        (b"", "400, without a word"),
    ):
        error = refusal(400, (), body)
        assert (error.what, error.remedy, error.passes) == (what, INSPECT, False)


REFUSED: list[tuple[str, int, JSON, str, bool]] = [
    ("openai", 401, {"message": "Incorrect API key"}, "check the credential", False),
    ("openai", 402, {"message": "Insufficient Balance"}, "used up", False),
    ("openai", 429, {"message": "slow down", "code": "rate_limit_exceeded"}, "try again in a while", True),
    ("openai", 429, {"message": "pay", "code": "insufficient_quota"}, "used up", False),
    ("openai", 404, 'model "x" not found', "lacks /v1", False),
    ("anthropic", 529, {"type": "overloaded_error", "message": "Oh."}, "try again in a while", True),
    ("ollama", 400, '"m" does not support thinking', "reasoning_effort", False),
    ("ollama", 404, 'model "m" not found, try pulling it first', "ollama pull", False),
]
OVERFLOW: list[tuple[str, int, JSON, str, bool]] = [
    ("openai", 400, {"message": "maximum context length is 8192 tokens. Yours has 9001."}, "new session", False),
    ("openai-responses", 400, {"message": "Your input exceeds the context window."}, "new session", False),
    ("anthropic", 400, {"message": "input length and `max_tokens` exceed context limit: 7 + 2 > 8"}, "new", False),
    ("gemini", 400, {"message": "The input exceeds the maximum number of tokens allowed (8)."}, "new session", False),
    ("ollama", 400, "prompt too long; exceeded max context length by 812 tokens", "num_ctx", False),
]


def test_a_refusal_has_a_remedy_in_every_dialect() -> None:
    for start, rows in (("", REFUSED), ("context overflow: ", OVERFLOW)):
        for name, status, fault, remedy, passes in rows:
            error = DIALECTS[name].error(status, (), json.dumps({"error": fault}).encode())
            assert error.what.startswith(f"{start}{status}")
            assert str(fault["message"] if isinstance(fault, dict) else fault) in error.what
            assert remedy in error.remedy
            assert (error.status, error.passes) == (status, passes)


def test_how_long_to_wait_is_read_in_seconds_or_milliseconds() -> None:
    for headers, seconds in (
        ({"Retry-After": "30"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "0"}, None),
    ):
        assert refusal(429, tuple(headers.items()), b"").retry_after == seconds


def test_a_context_overflow_inside_an_answer_is_named_too() -> None:
    said = Failed(message="Your input exceeds the limit.", vendor="context_length_exceeded", start=0, end=0)
    assert failure(said).what == "context overflow: context_length_exceeded: Your input exceeds the limit."
    assert failure(replace(said, vendor="server_error")).what == "server_error: Your input exceeds the limit."
