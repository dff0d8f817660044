"""A turn through a tool protocol of plain text: the same loop, everything in words, every byte of it linked, and told in the inspector's Parts."""

import json

import pytest
from typing_extensions import override

from tests.chat.bench import Answers, Bench, asks, says
from tests.chat.conftest import Make
from tests.kit.bodies import event
from tests.llm.protocols.answers import PLAIN, call, made_up
from tests.tui.inspector_wires import Wires, drawn
from tui_host.answers.bodies import body_of
from tui_host.answers.row_facts import row_facts
from tui_host.capture.ladder.row import Row
from tui_host.capture.link import Link, Span
from tui_host.capture.record import Record
from tui_host.chat.conversation import CallItem, NoteItem
from tui_host.chat.policy import Question
from tui_host.chat.queued_messages import Queued
from tui_host.errors import JSON, SettingsError
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.dialects.table import DIALECTS
from tui_host.llm.layout import outline_of
from tui_host.servers.catalog import READ, ContentBlock, Resource, Tool, ToolOutput
from tui_host.tui.widgets.details.tabs import tabs_of
from tui_host.tui.widgets.pages.parts_page import parts_sheet
from tui_host.tui.widgets.pages.tree_page import TreePage

CALL = '<tool_use>\n  <name>math__add</name>\n  <arguments>{"a": 6, "b": 5}</arguments>\n</tool_use>'
ASKED = "what is 6 + 5?"


def texts(at: Bench, number: int) -> list[tuple[str, str]]:
    body = json.loads(at.requests()[number])
    assert "tools" not in body
    return [(message["role"], message["content"]) for message in body["messages"]]


async def test_a_call_in_words_is_run_and_its_result_told_in_the_words_of_each_protocol(bench: Make) -> None:
    answers = (says(f"Let me see.\n{CALL}"), says("It is 11."), says("again"))
    async with bench.hearing(*answers, yes=True, protocol="cherry") as at:
        result = await at.ask(ASKED)
        at.session.protocol = "hermes"
        await at.ask("and now?")
    assert (result.stop, result.answer, at.pool.sent) == ("done", "It is 11.", [("math.add", b'{"a":6,"b":5}')])
    role, prompt = texts(at, 0)[0]
    assert (role, "<name>math__add</name>" in prompt) == ("system", True)
    asked = [("user", ASKED), ("assistant", f"Let me see.\n{CALL}")]
    told = "<tool_use_result>\n  <name>math__add</name>\n  <result>11</result>\n</tool_use_result>"
    assert texts(at, 1)[1:] == [*asked, ("user", told)]
    told = '<tool_response>\n{"name": "math__add", "content": "11"}\n</tool_response>'
    assert texts(at, 2)[1:4] == [*asked, ("user", told)]


async def test_what_is_said_for_the_next_step_stands_behind_its_results_in_words(bench: Make) -> None:
    async with bench.hearing(says(CALL), says("Eleven."), yes=True, protocol="cherry") as at:
        at.session.queued.append(Queued(text="in words", joins_step=True))
        await at.ask(ASKED)
    role, said = texts(at, 1)[-1]
    assert (role, said.endswith("</tool_use_result>\n\nin words"), at.session.queued) == ("user", True, [])


async def test_what_the_model_makes_up_behind_its_call_is_cut_and_not_sent_back(bench: Make) -> None:
    invented = made_up("cherry")
    async with bench.hearing(says(f"{CALL}\n{invented}"), says("It is 11."), yes=True, protocol="cherry") as at:
        result = await at.ask(ASKED)
    assert (result.answer, texts(at, 1)[2]) == ("It is 11.", ("assistant", CALL))
    assert len(at.linked("cut")) == 1
    kinds = [type(item) for item in at.session.conversation]
    assert kinds.index(NoteItem) == kinds.index(CallItem) + 1, "it stands below the call that it followed"
    made = f"{len(invented)} characters that the model made up"
    assert at.notes() == [f"left out behind the call: {made}; the inspector shows them / "]


@pytest.mark.parametrize("name", ["cline", "react", "json", "cherry"])
async def test_a_call_behind_the_call_is_told_not_to_have_been_run(bench: Make, name: str) -> None:
    second = call(name, "multiply")
    answer = f"{call(name)}\n{made_up(name)}\n{second}" if name == "cherry" else f"{call(name)}\n{second}"
    async with bench.hearing(says(answer), says("It is 11."), yes=True, protocol=name) as at:
        result = await at.ask("what is 6 + 5, and 6 × 5?")
    tool = "math multiply" if name == "cline" else "math__multiply"
    assert (result.answer, [sent for sent, _ in at.pool.sent]) == ("It is 11.", ["math.add"])
    told = f"a call of {tool} stood behind a call whose result you did not have yet, and was not run"
    assert told in texts(at, 1)[-1][1]
    (note,) = at.items(NoteItem)
    assert (f"with a call of {tool} that was not run" in note.what, note.remedy) == (True, "the model was told")


async def test_a_prompt_of_ones_own_stands_in_for_the_shipped_one(bench: Make) -> None:
    async with bench.hearing(says("hi"), yes=True, protocol="cherry") as at:
        own = at.services.settings.config_dir / "protocols"
        own.mkdir()
        (own / "cherry.md").write_text("Mine: {tools}")
        await at.ask("hello")
        assert texts(at, 0)[0][1].startswith("Mine: <tools>")
        (own / "cherry.md").write_text("Mine, without a place for them.")
        error = (await at.ask("hello")).error
    assert isinstance(error, SettingsError)
    assert (error.where, "{tools} is missing" in error.what) == (str(own / "cherry.md"), True)


async def test_a_question_to_the_person_ends_the_turn_and_its_answer_is_framed(bench: Make) -> None:
    options = '<options>["a", "b"]</options>'
    question = f"<ask_followup_question><question>Which one?</question>{options}</ask_followup_question>"
    ending = "<attempt_completion><result>\nIt is a.\n</result></attempt_completion>"
    async with bench.hearing(says(question), says(f"So.\n{ending}"), yes=True, protocol="cline") as at:
        first = await at.ask("choose")
        proposed = at.session.conversation.proposed()
        second = await at.ask("a")
    assert (first.stop, first.answer, proposed) == ("done", "Which one?", ["a", "b"])
    assert (second.stop, second.answer, at.session.conversation.proposed()) == ("done", "It is a.", [])
    details = "<environment_details>\n# Connected MCP Servers\n- math\n</environment_details>"
    assert texts(at, 1)[1:] == [
        ("user", f"<task>\nchoose\n</task>\n\n{details}"),
        ("assistant", question),
        ("user", "<answer>\na\n</answer>"),
    ]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (says(CALL), "the form of cherry"),
        (asks(("math__add", '{"a": 6, "b": 5}')), "the vendor's own function calling"),
        (says(" "), "the answer was empty"),
    ],
)
async def test_an_answer_in_another_form_is_told_to_be_none(bench: Make, answer: list[bytes], told: str) -> None:
    async with bench.hearing(answer, says(call("hermes")), says("So be it."), yes=True, protocol="hermes") as at:
        result = await at.ask(ASKED)
    assert (result.stop, result.answer, len(at.pool.sent), len(result.outcomes)) == ("done", "So be it.", 1, 1)
    role, correction = texts(at, 1)[-1]
    assert (role, told in correction, "<tool_call>" in correction) == ("user", True, True)


async def test_a_call_that_the_server_left_in_the_text_is_told_to_the_user_and_not_run(bench: Make) -> None:
    call_in_text = '<tool_call>\n{"name": "math__add", "arguments": {"a": 6, "b": 5}}\n</tool_call>'
    async with bench.hearing(says(call_in_text), says("Anything else?"), yes=True) as at:
        result = await at.ask(ASKED)
        later = await at.ask("and now?")
    assert (result.stop, result.answer, at.pool.sent) == ("error", call_in_text, [])
    assert str(result.error) == (
        "demo: the model called a tool, but its call stands unread in the text, in the form of Qwen's or Hermes'"
        " <tool_call> (use the server's parser for them (vLLM, SGLang: --tool-call-parser hermes; llama.cpp: --jinja),"
        " or the tool protocol hermes (/model, --protocol))"
    )
    assert (later.stop, later.answer) == ("done", "Anything else?")


@pytest.mark.parametrize(
    ("name", "thought", "again"),
    [
        ("react", "思考：先算。\n", "思考: 先算。\n"),
        ("cline", "<thinking>I add.</thinking>\n", "<thinking>I add.</thinking>\n"),
        ("cline", "<think>I add.</think>\n", ""),
    ],
)
async def test_what_a_model_thought_goes_back_as_its_host_did(bench: Make, name: str, thought: str, again: str) -> None:
    asked = call(name).replace("math__add", "add")  # a bare name that only one tool has
    async with bench.hearing(says(f"{thought}{asked}"), says("It is 11."), yes=True, protocol=name) as at:
        result = await at.ask(ASKED)
    role, sent = texts(at, 1)[-2]
    assert (role, sent.lstrip("\n")) == ("assistant", f"{again}{asked}")
    assert (result.stop, at.pool.sent) == ("done", [("math.add", b'{"a":6,"b":5}')])
    (item,) = at.items(CallItem)
    wrote = "" if name == "cline" else "; the model wrote add"
    assert (item.server, item.tool, item.words) == ("math", "add", f"allowed by --yes{wrote}")


@pytest.mark.parametrize("name", PLAIN)
async def test_a_malformed_call_is_corrected_three_times_at_most_each_visibly(bench: Make, name: str) -> None:
    async with bench.hearing(says(call(name, arguments='{"a": 6,}')), yes=True, protocol=name) as at:
        result = await at.ask(ASKED)
    assert (result.stop, result.steps, at.pool.sent) == ("error", 4, [])
    *others, last = at.items(NoteItem)
    assert [note.remedy for note in others] == [f"the model was told, correction {count} of 3" for count in (1, 2, 3)]
    assert ("column " in others[0].what, "6,}" in others[0].what, "4 times in a row" in last.what) == (True, True, True)
    assert all("The exact form is" in texts(at, number)[-1][1] for number in (1, 2, 3))


async def test_a_resource_is_asked_for_decided_and_told_as_a_call_is(bench: Make) -> None:
    wanted = "<access_mcp_resource>\n<server_name>math</server_name>\n<uri>math://table</uri>\n</access_mcp_resource>"
    table = Resource(uri="math://table", name="Table", description="a picture")
    held = ContentBlock(kind="resource", media_type="image/png", data="iVBORw0KGgo=", uri="math://table")
    answers = Answers(Question.approve)
    async with bench.hearing(says(wanted), says("done"), approver=answers, protocol="cline") as at:
        at.pool.offered.append(Tool(server="math", name=READ, fingerprint="f", resources=(table,)))
        at.pool.gives = ToolOutput(content=(held,), raw={"contents": []})
        result = await at.ask("look at the table")
    (question,) = answers.seen
    assert (question.request.tool.title, question.request.tool.description) == ("Table", "a picture")
    assert at.pool.sent == [("math.resources/read", b'{"uri":"math://table"}')]
    (told,) = (outcome.to_json() for outcome in result.outcomes)
    asked = {"uri": "math://table"}
    assert [told[name] for name in ("tool", "asked", "sent", "result")] == [READ, asked, asked, {"contents": []}]
    content = json.loads(at.requests()[1])["messages"][-1]["content"]
    named = "[resource: image/png, 8 bytes, math://table]"
    assert content[0]["text"] == f"[access_mcp_resource for 'math'] Result:\n{named}"
    assert content[1]["image_url"]["url"] == "data:image/png;base64,iVBORw0KGgo="
    assert at.linked("told") == [named.encode()]


def text_of(wires: Wires, row: Row, *paths: str) -> str:
    """The page with these entries flipped."""
    return "\n".join(drawn(TreePage(parts_sheet(wires, row), set(paths)), 140))


@pytest.mark.parametrize("name", PLAIN)
async def test_parts_tell_what_was_put_in_read_out_and_cut(bench: Make, name: str) -> None:
    async with bench.hearing(says(f"{call(name)}\n{made_up(name)}"), says("It is 11."), yes=True, protocol=name) as at:
        await at.ask("what is 6 + 5?")
    wires = Wires(live=False)
    wires.records = list(at.records)
    wires.ladder.feed(wires.records)
    rows = [row for row in wires.ladder.rows if row.lane == "llm"]
    first, second = (row for row in rows if row.kind == "request")
    pages = [text_of(wires, row, *(f"/messages/{key}" for key in _keys(wires, row))) for row in (first, second)]
    for words in ("added by the tool protocol: ", "lists the tools", "teaches the tool protocol"):
        assert words in pages[1]
    assert ["the result of math.add" in page for page in pages] == [False, True]
    response = next(row for row in rows if row.kind == "response")
    answered = text_of(wires, response)
    assert 'became the call  math.add {"a": 6, "b": 5}' in answered
    assert "text after the call, left out  " in answered
    assert row_facts(wires, response).words.startswith('asks math.add {"a": 6')
    assert {found for row in wires.ladder.rows for found in row.calls} == {"1.1.1"}, "what is of no call joins no rows"


async def test_the_run_of_a_vendor_s_own_tool_is_a_row_and_stands_in_parts_with_its_sources() -> None:
    page: JSON = {"type": "web_search_result", "url": "https://a.example/", "title": "A page"}
    blocks: list[JSON] = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "weather"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [page]},
    ]
    events = [({"type": "content_block_start", "index": n, "content_block": each}, n) for n, each in enumerate(blocks)]
    body = b"".join(event(began) + event({"type": "content_block_stop", "index": n}) for began, n in events)
    wires = AnthropicWires(live=False)
    response = wires.response(wires.request(b"{}", 1.0, exchange="x"), 1.1, body)
    link = Link(relation="vendor", call="", span=Span(exchange="x", start=0, end=9), words="ran its own web_search")
    wires.append(Record(wire="host", kind="link", data=link.to_bytes()), 1.2)
    lines = [line.strip() for line in text_of(wires, wires.end(response, 1.3)).splitlines()]
    assert lines[1:4] == ["the vendor ran its own web_search: weather", "▾ sources (1)", "A page  https://a.example/"]
    row = wires.ladder.rows[-1]
    assert (row.kind, tabs_of(row), b"ran its own" in body_of(wires, row).data) == ("vendor", ("Raw",), True)


class AnthropicWires(Wires):
    @override
    def dialect(self, row: Row) -> Dialect | None:
        return DIALECTS["anthropic"] if row.lane == "llm" else None


def _keys(wires: Wires, row: Row) -> list[str]:
    outline = outline_of(body_of(wires, row).wire) if wires.dialect(row) is not None else None
    return [] if outline is None else [part.key for top in outline.parts for part in top.children]
