"""What servers ask of their client, answered over both transports in both eras."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from typing_extensions import override

from tests.answers.chained import steps_of
from tests.kit.mcp_server import tool
from tests.servers.answers import Scripted
from tests.servers.running import made_with_sdk, remote, scripted, started
from tui_host.capture.json.narrowing import mapping
from tui_host.capture.record import Place
from tui_host.chat.schema_check import misfits as misfits_now
from tui_host.errors import JSON, ServerError
from tui_host.servers.catalog import CallProgress, ToolOutput
from tui_host.servers.server_questions import (
    Answerer,
    Answering,
    Declines,
    Elicitation,
    ElicitationAnswer,
    Sampler,
    SamplingAnswer,
    SamplingRequest,
)
from tui_host.settings.schema import ServerSpec

WAYS = [("stdio", "auto"), ("stdio", "legacy"), ("http", "auto"), ("http", "legacy")]


@pytest.fixture(params=WAYS, ids=[f"{kind}-{mode}" for kind, mode in WAYS])
def spec(request: pytest.FixtureRequest, http_url: str) -> ServerSpec:
    kind, mode = request.param
    if kind == "http":
        return remote("sdk", http_url, mode=mode)
    return made_with_sdk("sdk", mode=mode)


FORM = {"message": "How many?", "requestedSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}}
TIMES = {"createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z"}
CAPABILITIES: Mapping[str, object] = {"tools": {}, "logging": {}}
ANSWERS = {"answers": True}


def asks(method: str = "elicitation/create", params: object = FORM, **more: object) -> Mapping[str, object]:
    return {"ask": method, "params": params, **more}


def at_once(times: int = 1, method: str = "elicitation/create", params: object = FORM) -> Mapping[str, object]:
    return asks(method, params, times=times, wait=False)


def takes_back(question: str) -> Mapping[str, object]:
    return {"notify": "notifications/cancelled", "params": {"requestId": question}}


def logs(level: str, times: int) -> Mapping[str, object]:
    params = {"level": level, "logger": "l", "data": {"n": times}}
    return {"notify": "notifications/message", "params": params, "times": times}


def task(status: str, **more: object) -> Mapping[str, object]:
    kind = "task" if not more else "complete"
    state = {"resultType": kind, "taskId": "t1", "status": status, "ttlMs": None, "pollIntervalMs": 50}
    return {"result": {**state, **TIMES, **more}}


PAGE = {"mode": "url", "message": "Sign in", "url": "https://example.test/a", "elicitationId": "e1"}
WANTS_PAGE = {"error": {"code": -32042, "message": "first sign in", "data": {"elicitations": [PAGE]}}}
HANDSHAKE: Mapping[str, Sequence[object]] = {
    "many": [at_once(33), asks("ping", {}), ANSWERS],
    "pings": [at_once(499, "ping", {}), asks("ping", {}), ANSWERS],
    "withdraw": [*(at_once(), asks("ping", {}), takes_back("q1"), at_once(), takes_back("q3")),
        *(asks(params={**FORM, "message": "The last?"}), ANSWERS)],
    "undeclared": [asks("roots/list"), asks("sampling/createMessage"), asks(params={"mode": "telepathy"}), ANSWERS],
    "two": [at_once(), asks(), ANSWERS],
    "visit": [[WANTS_PAGE], [WANTS_PAGE], [{"text": "visited"}]],
    "page": [
        *(at_once(params=PAGE), {"notify": "notifications/elicitation/complete", "params": {"elicitationId": "e1"}}),
        *(asks(params=PAGE), ANSWERS)],
    "logs": [logs("error", 3), logs("debug", 2997), {"text": "logged"}],
}  # fmt: skip
QUESTION = {"q": {"method": "elicitation/create", "params": {"mode": "form", **FORM}}}
AGAIN = {"result": {"resultType": "input_required", "requestState": "again"}}
STATELESS: Mapping[str, Sequence[object]] = {
    "state_only": [[{"result": {"resultType": "input_required", "requestState": "one"}}],
        [{"result": {"resultType": "input_required", "requestState": "two"}}], [{"text": "twice"}]],
    "endless": [AGAIN],
    "task": [task("working")],
}  # fmt: skip


def frames(tools: Mapping[str, Sequence[object]] = HANDSHAKE, **on: Sequence[object]) -> ServerSpec:
    """A server whose tools are what it asks of its client."""
    calls = {f"tools/call {name}": steps for name, steps in tools.items()}
    era = "handshake" if tools is HANDSHAKE else "discover"
    tasks = {f"tasks/{name}": steps for name, steps in on.items()}
    return scripted(
        "frames", {"era": era, "capabilities": CAPABILITIES, "tools": [*map(tool, tools)], "on": {**calls, **tasks}}
    )


def told(output: ToolOutput) -> Mapping[str, JSON]:
    """What the client answered, by the server's questions; an error as its code."""
    answers = mapping(json.loads(output.content[0].text))
    return {question: mapping(answer).get("code", answer) for question, answer in answers.items()}


async def misfits(schema: JSON, value: JSON) -> list[str] | None:
    return misfits_now(schema, value)


async def test_forms_are_filled_in_declined_or_cancelled_one_after_the_other(spec: ServerSpec) -> None:
    refusals = [ElicitationAnswer(action="decline"), ElicitationAnswer(action="cancel")]
    filled = {"seats": 2, "meal": "plants", "window": False}
    person = Scripted({"seats": 99}, filled, *refusals, {"seats": 1}, {"name": "Ada"})
    async with started(spec, answering=Answering(answerer=lambda: person, misfits=misfits)) as at:
        output = await at.call("sdk", "book", b'{"train":"IC 1"}', call="booking")
        assert output.content[0].text == "IC 1: 2 plants False"
        first, second = person.questions
        assert (first.server, first.message, first.call) == ("sdk", "Which seats?", "booking")
        assert "seats" in str(first.schema)
        assert (first.mistake, "99" in second.mistake) == ("", True), "what does not fit is asked again"
        sent = b"".join(at.lines("sdk", "out"))
        assert b'"elicitation":{"form":{},"url":{}}' in sent
        assert not [words for words in (b'"sampling"', b'"roots"', b'"seats":99') if words in sent]
        asked = [record for record in at.records("sdk", kind="frame") if b"Which seats?" in record.data]
        assert {record.place.call for record in asked} == {"booking"}
        for refusal in refusals:
            assert (await at.call("sdk", "book", b'{"train":"IC 1"}')).is_error
            assert b'"action":"%b"' % refusal.action.encode() in b"".join(at.lines("sdk", "out"))
            assert at.status("sdk").questions == 0
        assert ((await at.call("sdk", "greet_twice")).content[0].text, person.most) == ("Ada 1", 1)


class Colours(Sampler):
    @override
    def model_for(self, session: str | None, hints: Sequence[str]) -> str:
        return f"{hints or 'mine'}/{session}"

    @override
    async def sample(self, request: SamplingRequest, place: Place) -> SamplingAnswer:
        content: JSON = {"type": "text", "text": f"blue in {place.call}"}
        return SamplingAnswer(result={"role": "assistant", "content": content, "model": request.model})


async def test_a_model_answers_between_two_reviews_and_the_shared_folders_alone_are_told(
    spec: ServerSpec, tmp_path: Path
) -> None:
    person, folder = Scripted(), tmp_path / "a b"
    people: list[Answerer] = [person]
    answering = Answering(answerer=lambda: people[-1], sampler=Colours())
    async with started(replace(spec, sampling=True, roots=(str(folder),)), answering=answering) as at:
        output = await at.call("sdk", "ask_the_model", call="c9")
        assert output.content[0].text == "mine/s: blue in c9"
        asked, same, _ = person.requests
        assert isinstance(asked, SamplingRequest)
        assert (asked.model, asked.call, same) == ("mine/s", "c9", asked)
        assert (asked.params["maxTokens"], asked.params["systemPrompt"]) == (50, "Be brief.")
        assert (await at.call("sdk", "folders")).content[0].text == folder.as_uri()
        sent = b"".join(at.lines("sdk", "out"))
        assert [words in sent for words in (b'"sampling":{"tools":{}}', b'"roots":{}')] == [True, True]
        people.append(Declines())
        with pytest.raises(ServerError, match="User rejected"):
            await at.call("sdk", "ask_the_model")


async def test_a_page_that_a_call_needs_is_asked_for_until_the_visit_is_complete() -> None:
    person = Scripted(ElicitationAnswer(action="decline"), ElicitationAnswer(action="accept"))
    async with started(frames(), answering=Answering(answerer=lambda: person)) as at:
        with pytest.raises(ServerError, match="a page to be visited first, which was declined"):
            await at.call("frames", "visit")
        output = await at.call("frames", "visit", b'{"a":1.0}', call="visiting")
        assert output.content[0].text == "visited"
        question = person.questions[1]
        assert (question.url, question.is_retry, question.call) == ("https://example.test/a", True, "visiting")
        calls = [line for line in at.lines("frames", "out") if b'"arguments":{"a":1.0}' in line]
        assert len(calls) == 2, "it is sent again"
        assert told(await at.call("frames", "page")) == {key: {"action": "accept"} for key in ("q1", "q2")}
        # The server says so while it asks: where its word comes first, the question is answered before it is shown.
        assert person.closed == len(person.questions[2:]) <= 1


async def test_open_questions_block_no_ping_and_close_with_their_call_or_as_they_are_taken_back() -> None:
    class Patient(Scripted):
        @override
        async def elicit(self, request: Elicitation) -> ElicitationAnswer:
            self.contents = [{"n": 1}] if request.message == "The last?" else []
            return await super().elicit(request)

    person = Patient()
    async with started(frames(), answering=Answering(answerer=lambda: person, misfits=misfits)) as at:
        answers = told(await at.call("frames", "withdraw"))
        assert answers == {"q2": {}, "q4": {"action": "accept", "content": {"n": 1}}}
        assert (person.closed >= 1, at.status("frames").questions) == (True, 0)
        closed = person.closed
        assert told(await at.call("frames", "many")) == {**answers, "q37": -32000, "q38": {}}
        await at.until(lambda: at.status("frames").questions == 0)
        assert (person.most, person.closed) == (1, closed + 1)
        assert len([line for line in at.lines("frames", "out") if b'"action":"cancel"' in line]) == 32
        assert len(told(await at.call("frames", "pings"))) == 500 + 36


async def test_log_messages_are_counted_by_level_and_what_was_not_declared_is_refused_and_told() -> None:
    asked = b'"logging/setLevel","params":{"level":"error"}'
    async with started(replace(frames(), log_level="error", mode="legacy")) as at:
        await at.until(lambda: any(asked in line for line in at.lines("frames", "out")))
        await at.call("frames", "logs")
        status = at.status("frames")
        assert dict(status.log_counts) == {"error": 3, "debug": 2997}
        assert (len(status.log), status.log[-1].text, status.log[-1].logger) == (300, '{"n": 2997}', "l")
        answers = told(await at.call("frames", "undeclared"))
        assert answers == {"q1": -32601, "q2": -32601, "q3": -32602}
        notices = " ".join(at.status("frames").notices)
        told_words = ("sampling = true in its entry", 'roots = ["PATH"]', "this mode of elicitation was not declared")
        assert [words for words in told_words if words not in notices] == []
        sent = b"".join(at.lines("frames", "out"))
        assert (sent.count(b"evel"), b"extensions" in sent) == (2, False), "once, and no tasks in the handshake's era"


async def test_all_questions_of_a_server_are_declined_at_once() -> None:
    person = Scripted(None)
    async with started(frames(), answering=Answering(answerer=lambda: person)) as at:
        answers: list[JSON] = []

        async def call() -> None:
            answers.append(told(await at.call("frames", "two")))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await at.until(lambda: at.status("frames").questions == 2)
            connection = at.pool.server("frames").connection
            assert connection is not None
            connection.requests.decline_all()
        assert answers == [{"q1": {"action": "decline"}, "q2": {"action": "decline"}}]
        assert len(person.questions) == 1
        assert any("declined until it is connected again" in notice for notice in at.status("frames").notices)


async def test_the_time_that_the_person_takes_is_no_silence_and_a_failing_answerer_is_not_told_of() -> None:
    class Slow(Scripted):
        @override
        async def elicit(self, request: Elicitation) -> ElicitationAnswer:
            if self.contents:
                raise ValueError("internal words")
            if not self.questions:
                await anyio.sleep(2.5)  # longer than the call may be silent
            self.questions.append(request)
            return ElicitationAnswer(action="decline")

    person = Slow()
    async with started(frames(), answering=Answering(answerer=lambda: person)) as at:
        at.limit("frames", 2)
        answers = told(await at.call("frames", "two"))
        assert answers == {"q1": {"action": "decline"}, "q2": {"action": "decline"}}
        at.limit("frames", 60)
        person.contents.append(None)
        assert told(await at.call("frames", "two")) == {**answers, "q3": -32603, "q4": -32603}
        assert b"internal words" not in b"".join(at.lines("frames", "out"))
        assert any("was not answered" in notice for notice in at.status("frames").notices)


async def test_a_result_with_a_state_alone_asks_nothing_and_is_sent_ten_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_host.servers.call.LONGEST_PAUSE_SECONDS", 0.05)
    person = Scripted()
    spec = replace(frames(STATELESS), log_level="error")
    async with started(spec, answering=Answering(answerer=lambda: person)) as at:
        assert (await at.call("frames", "state_only", b'{"a":1.0}', call="rounds")).content[0].text == "twice"
        assert person.questions == []
        calls = [line for line in at.lines("frames", "out") if b'"tools/call"' in line]
        assert [mapping(json.loads(line)["params"]).get("requestState") for line in calls] == [None, "one", "two"]
        assert all(b'"arguments":{"a":1.0}' in line and b'/logLevel":"error"' in line for line in calls)
        assert [step.happened for step in steps_of("rounds", at.records("frames"))] == ["sent", "answered"] * 3
        with pytest.raises(ServerError, match="asked for more input 11 times"):
            await at.call("frames", "endless")
        assert sum(b'"tools/call"' in line for line in at.lines("frames", "out")) == 3 + 11


async def test_a_task_is_polled_its_question_answered_once_and_it_fails_or_is_cancelled_with_its_call() -> None:
    person, reported = Scripted({"n": 5}), list[CallProgress]()
    done = task("completed", result={"content": [{"type": "text", "text": "done"}]})
    failed = task("failed", error={"code": -32603, "message": "no luck"})
    polls = [[task("input_required", inputRequests=QUESTION)], [done], [failed], [task("working")]]
    spec = frames(STATELESS, get=polls, update=[{"result": {}}])
    async with started(spec, answering=Answering(answerer=lambda: person)) as at:
        output = await at.call("frames", "task", call="long", on_progress=reported.append)
        assert output.content[0].text == "done"
        assert len(person.questions) == 1
        states = ["working", "input_required", "completed"]
        assert [progress.message for progress in reported] == [f"s, task {state}" for state in states]
        sent = at.lines("frames", "out")
        assert b'"extensions":{"io.modelcontextprotocol/tasks":{}}' in sent[0]
        answer = b'"inputResponses":{"q":{"action":"accept","content":{"n":5}}}'
        assert [answer in line for line in sent if b"tasks/update" in line] == [True]
        about = [record for record in at.records("frames", kind="frame") if b'"tasks/' in record.data]
        assert {record.place.call for record in about} == {"long"}
        with pytest.raises(ServerError, match="no luck"):
            await at.call("frames", "task")
        async with anyio.create_task_group() as group:
            group.start_soon(at.call, "frames", "task")
            await at.until(lambda: sum(b"tasks/get" in line for line in at.lines("frames", "out")) == 4)
            group.cancel_scope.cancel()
    assert any(b'"tasks/cancel","params":' in line for line in at.lines("frames", "out"))
