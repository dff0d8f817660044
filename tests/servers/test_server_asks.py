"""What servers ask of their client, answered over both transports in both eras."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from typing_extensions import override

from tests.answers.chained import steps_of
from tests.kit.mcp_server import tool
from tests.servers.answers import Scripted
from tests.servers.running import ASKING_SERVER, listening, made_with_sdk, remote, scripted, started
from tui_host.capture.json.narrowing import mapping
from tui_host.capture.record import Place
from tui_host.chat.schema_check import misfits as misfits_now
from tui_host.errors import JSON, ServerError
from tui_host.servers.catalog import CallProgress, ToolOutput
from tui_host.servers.server_questions import Answering, Elicitation, ElicitationAnswer, SamplingAnswer, SamplingRequest
from tui_host.servers.server_requests import CallClock
from tui_host.settings.schema import ServerSpec

WAYS = [("stdio", "auto"), ("stdio", "legacy"), ("http", "auto"), ("http", "legacy")]


@pytest.fixture(scope="module")
def http_url() -> Generator[str]:
    with listening("http", program=ASKING_SERVER) as (url, _):
        yield url


@pytest.fixture(params=WAYS, ids=[f"{kind}-{mode}" for kind, mode in WAYS])
def spec(request: pytest.FixtureRequest, http_url: str) -> ServerSpec:
    kind, mode = request.param
    if kind == "http":
        return remote("sdk", http_url, mode=mode)
    return made_with_sdk("sdk", program=ASKING_SERVER, mode=mode)


FORM = {"message": "How many?", "requestedSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}}
TIMES = {"createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z"}
CAPABILITIES: Mapping[str, object] = {"tools": {}, "logging": {}}
ANSWERS = {"answers": True}


def asks(method: str = "elicitation/create", params: object = FORM, **more: object) -> Mapping[str, object]:
    return {"ask": method, "params": params, **more}


def at_once(times: int = 1, method: str = "elicitation/create", params: object = FORM) -> Mapping[str, object]:
    """Ask without waiting for the answer."""
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
    "withdraw": [
        *(at_once(), asks("ping", {}), takes_back("q1"), at_once(), takes_back("q3")),
        *(asks(params={**FORM, "message": "The last?"}), ANSWERS),
    ],
    "undeclared": [asks("roots/list"), asks("sampling/createMessage"), asks(params={"mode": "telepathy"}), ANSWERS],
    "two": [at_once(), asks(), ANSWERS],
    "visit": [[WANTS_PAGE], [WANTS_PAGE], [{"text": "visited"}]],
    "page": [
        *(at_once(params=PAGE), {"notify": "notifications/elicitation/complete", "params": {"elicitationId": "e1"}}),
        *(asks(params=PAGE), ANSWERS),
    ],
    "logs": [logs("error", 3), logs("debug", 2997), {"text": "logged"}],
}
QUESTION = {"q": {"method": "elicitation/create", "params": {"mode": "form", **FORM}}}
AGAIN = {"result": {"resultType": "input_required", "requestState": "again"}}
STATELESS: Mapping[str, Sequence[object]] = {
    "state_only": [
        [{"result": {"resultType": "input_required", "requestState": "one"}}],
        [{"result": {"resultType": "input_required", "requestState": "two"}}],
        [{"text": "twice"}],
    ],
    "endless": [AGAIN],
    "task": [task("working")],
}


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


async def test_a_form_is_filled_in_and_an_answer_that_does_not_fit_is_asked_again(spec: ServerSpec) -> None:
    person = Scripted({"seats": 99}, {"seats": 2, "meal": "plants", "window": False})
    async with started(spec, answering=Answering(answerer=lambda: person, misfits=misfits)) as at:
        output = await at.call("sdk", "book", b'{"train":"IC 1"}', call="booking")
        assert output.content[0].text == "IC 1: 2 plants False"
        first, second = person.questions
        assert (first.server, first.message, first.call) == ("sdk", "Which seats?", "booking")
        assert "seats" in str(first.schema)
        assert (first.mistake, "99" in second.mistake) == ("", True)
        sent = b"".join(at.lines("sdk", "out"))
        assert b'"elicitation":{"form":{},"url":{}}' in sent
        assert b'"sampling"' not in sent
        assert b'"roots"' not in sent
        assert b'"seats":99' not in sent
        asked = [record for record in at.records("sdk", kind="frame") if b"Which seats?" in record.data]
        assert {record.place.call for record in asked} == {"booking"}


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_declining_and_cancelling_are_told_apart(spec: ServerSpec, action: str) -> None:
    person = Scripted(ElicitationAnswer(action="cancel" if action == "cancel" else "decline"))
    async with started(spec, answering=Answering(answerer=lambda: person, misfits=misfits)) as at:
        output = await at.call("sdk", "book", b'{"train":"IC 1"}')
        assert output.is_error
        assert b'"action":"%b"' % action.encode() in b"".join(at.lines("sdk", "out"))
        assert at.status("sdk").questions == 0


async def test_two_questions_of_a_call_are_asked_one_after_the_other(spec: ServerSpec) -> None:
    person = Scripted({"seats": 1}, {"name": "Ada"})
    async with started(spec, answering=Answering(answerer=lambda: person, misfits=misfits)) as at:
        output = await at.call("sdk", "greet_twice")
        assert output.content[0].text == "Ada 1"
        assert person.most == 1


class Colours:
    """Answers every request to a model."""

    def model_for(self, session: str | None, hints: Sequence[str]) -> str:
        return f"{hints or 'mine'}/{session}"

    async def sample(self, request: SamplingRequest, place: Place) -> SamplingAnswer:
        content: JSON = {"type": "text", "text": f"blue in {place.call}"}
        return SamplingAnswer(result={"role": "assistant", "content": content, "model": request.model})


async def test_a_model_answers_between_two_reviews(spec: ServerSpec) -> None:
    person = Scripted()
    answering = Answering(answerer=lambda: person, sampler=Colours())
    async with started(replace(spec, sampling=True), answering=answering) as at:
        output = await at.call("sdk", "ask_the_model", call="c9")
        assert output.content[0].text == "mine/s: blue in c9"
        asked, same, _ = person.requests
        assert isinstance(asked, SamplingRequest)
        assert (asked.model, asked.call, same) == ("mine/s", "c9", asked)
        assert (asked.params["maxTokens"], asked.params["systemPrompt"]) == (50, "Be brief.")
        assert b'"sampling":{"tools":{}}' in b"".join(at.lines("sdk", "out"))


async def test_a_refused_sampling_request_is_no_answer(spec: ServerSpec) -> None:
    async with started(replace(spec, sampling=True), answering=Answering(sampler=Colours())) as at:
        with pytest.raises(ServerError, match="User rejected"):
            await at.call("sdk", "ask_the_model")


async def test_the_server_learns_the_shared_folders_alone(spec: ServerSpec, tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    async with started(replace(spec, roots=(str(folder),))) as at:
        assert (await at.call("sdk", "folders")).content[0].text == folder.as_uri()
        assert b'"roots":{}' in b"".join(at.lines("sdk", "out"))


async def test_a_page_that_a_call_needs_is_asked_for_and_the_call_is_sent_again() -> None:
    person = Scripted(ElicitationAnswer(action="decline"), ElicitationAnswer(action="accept"))
    async with started(frames(), answering=Answering(answerer=lambda: person)) as at:
        with pytest.raises(ServerError, match="a page to be visited first, which was declined"):
            await at.call("frames", "visit")
        output = await at.call("frames", "visit", b'{"a":1.0}', call="visiting")
        assert output.content[0].text == "visited"
        question = person.questions[1]
        assert (question.url, question.is_retry, question.call) == ("https://example.test/a", True, "visiting")
        calls = [line for line in at.lines("frames", "out") if b'"arguments":{"a":1.0}' in line]
        assert len(calls) == 2


async def test_a_question_about_a_page_closes_when_the_server_says_that_the_visit_is_complete() -> None:
    person = Scripted()
    async with started(frames(), answering=Answering(answerer=lambda: person)) as at:
        accepted = {"action": "accept"}
        assert told(await at.call("frames", "page")) == {"q1": accepted, "q2": accepted}
        # The server says so while it asks: where its word comes first, the question is answered before it is shown.
        assert person.closed == len(person.questions) <= 1


async def test_open_questions_block_no_ping_and_close_with_their_call() -> None:
    person = Scripted()
    async with started(frames(), answering=Answering(answerer=lambda: person)) as at:
        answers = told(await at.call("frames", "many"))
        assert answers == {"q33": -32000, "q34": {}}
        await at.until(lambda: at.status("frames").questions == 0)
        assert (person.most, person.closed) == (1, 1)
        closed = [line for line in at.lines("frames", "out") if b'"action":"cancel"' in line]
        assert len(closed) == 32


async def test_hundreds_of_pings_at_once_are_all_answered() -> None:
    async with started(frames()) as at:
        assert len(told(await at.call("frames", "pings"))) == 500


async def test_a_request_that_the_server_takes_back_closes_its_question_and_is_not_answered() -> None:
    class Patient(Scripted):
        @override
        async def elicit(self, request: Elicitation) -> ElicitationAnswer:
            self.contents = [{"n": 1}] if request.message == "The last?" else []
            return await super().elicit(request)

    person = Patient()
    async with started(frames(), answering=Answering(answerer=lambda: person, misfits=misfits)) as at:
        answers = told(await at.call("frames", "withdraw"))
        assert answers == {"q2": {}, "q4": {"action": "accept", "content": {"n": 1}}}
        assert person.closed >= 1
        assert at.status("frames").questions == 0


async def test_log_messages_are_kept_by_level_and_counted() -> None:
    async with started(frames()) as at:
        await at.call("frames", "logs")
        status = at.status("frames")
        assert dict(status.log_counts) == {"error": 3, "debug": 2997}
        assert (len(status.log), status.log[-1].text, status.log[-1].logger) == (300, '{"n": 2997}', "l")


@pytest.mark.parametrize(
    ("era", "asked"),
    [("handshake", b'"logging/setLevel","params":{"level":"error"}'), ("discover", b'/logLevel":"error"')],
)
async def test_the_level_of_the_log_is_asked_for_once_or_with_each_call(era: str, asked: bytes) -> None:
    spec = frames() if era == "handshake" else frames(STATELESS)
    async with started(replace(spec, log_level="error")) as at:
        if era == "discover":
            await at.call("frames", "state_only")
        await at.until(lambda: any(asked in line for line in at.lines("frames", "out")))
        levels = [line for line in at.lines("frames", "out") if b"evel" in line]
        assert [asked in line for line in levels] == [True] * (1 if era == "handshake" else 3)


async def test_what_was_not_declared_is_refused_with_its_code_and_told() -> None:
    async with started(frames()) as at:
        answers = told(await at.call("frames", "undeclared"))
        assert answers == {"q1": -32601, "q2": -32601, "q3": -32602}
        notices = " ".join(at.status("frames").notices)
        assert "sampling = true in its entry" in notices
        assert 'roots = ["PATH"]' in notices
        assert "this mode of elicitation was not declared" in notices


@pytest.mark.parametrize("way", ["answer", "pool"])
async def test_all_questions_of_a_server_are_declined_at_once(way: str) -> None:
    person = Scripted(ElicitationAnswer(action="decline", for_all=True) if way == "answer" else None)
    async with started(frames(), answering=Answering(answerer=lambda: person)) as at:
        answers: list[JSON] = []

        async def call() -> None:
            answers.append(told(await at.call("frames", "two")))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            if way == "pool":
                await at.until(lambda: at.status("frames").questions == 2)
                at.pool.server("frames").decline_all()
        assert answers == [{"q1": {"action": "decline"}, "q2": {"action": "decline"}}]
        assert len(person.questions) == 1
        assert any("declined until it is connected again" in notice for notice in at.status("frames").notices)


async def test_the_time_that_the_person_takes_is_no_silence_of_the_server() -> None:
    waiting = anyio.Event()

    class Slow(Scripted):
        @override
        async def elicit(self, request: Elicitation) -> ElicitationAnswer:
            with anyio.move_on_after(2.5):  # longer than the call may be silent
                await waiting.wait()
            return ElicitationAnswer(action="decline")

    person = Slow()
    async with started(frames(), answering=Answering(answerer=lambda: person)) as at:
        at.limit("frames", 2)
        answers = told(await at.call("frames", "two"))
        assert answers == {"q1": {"action": "decline"}, "q2": {"action": "decline"}}


async def test_a_clock_goes_on_later_by_the_time_for_which_it_was_stopped() -> None:
    scope = anyio.CancelScope()
    clock, before = CallClock(scope, silence=600, longest=60), scope.deadline
    with clock.stopped():
        await anyio.sleep(0.05)  # the person's time
    assert scope.deadline >= before + 0.05


async def test_a_failing_answerer_tells_the_server_nothing_of_it() -> None:
    class Broken(Scripted):
        @override
        async def elicit(self, request: Elicitation) -> ElicitationAnswer:
            raise ValueError("internal words")

    async with started(frames(), answering=Answering(answerer=Broken)) as at:
        assert told(await at.call("frames", "two")) == {"q1": -32603, "q2": -32603}
        assert b"internal words" not in b"".join(at.lines("frames", "out"))
        assert any("was not answered" in notice for notice in at.status("frames").notices)


async def test_a_result_with_a_state_alone_asks_nothing_and_the_call_is_sent_again() -> None:
    person = Scripted()
    async with started(frames(STATELESS), answering=Answering(answerer=lambda: person)) as at:
        assert (await at.call("frames", "state_only", b'{"a":1.0}', call="rounds")).content[0].text == "twice"
        assert person.questions == []
        calls = [line for line in at.lines("frames", "out") if b'"tools/call"' in line]
        states = [mapping(json.loads(line)["params"]).get("requestState") for line in calls]
        assert states == [None, "one", "two"]
        assert all(b'"arguments":{"a":1.0}' in line for line in calls)
        happened = [step.happened for step in steps_of("rounds", at.records("frames"))]
        assert happened == ["sent", "answered"] * 3


async def test_a_call_is_sent_again_ten_times_at_most() -> None:
    async with started(frames(STATELESS)) as at:
        with pytest.raises(ServerError, match="asked for more input 11 times"):
            await at.call("frames", "endless")
        assert sum(b'"tools/call"' in line for line in at.lines("frames", "out")) == 11


async def test_a_task_is_polled_and_its_question_answered_once() -> None:
    person, reported = Scripted({"n": 5}), list[CallProgress]()
    done = task("completed", result={"content": [{"type": "text", "text": "done"}]})
    polls = [[task("input_required", inputRequests=QUESTION)], [done]]
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


async def test_a_failed_task_fails_its_call() -> None:
    failed = task("failed", error={"code": -32603, "message": "no luck"})
    async with started(frames(STATELESS, get=[failed])) as at:
        with pytest.raises(ServerError, match="no luck"):
            await at.call("frames", "task")


async def test_a_stopped_call_cancels_its_task() -> None:
    working = task("working", statusMessage="digging")
    async with started(frames(STATELESS, get=[working])) as at, anyio.create_task_group() as group:
        group.start_soon(at.call, "frames", "task")
        await at.until(lambda: any(b"tasks/get" in line for line in at.lines("frames", "out")))
        group.cancel_scope.cancel()
    assert any(b'"tasks/cancel","params":' in line for line in at.lines("frames", "out"))


async def test_tasks_are_not_declared_to_a_server_of_the_handshake() -> None:
    async with started(replace(frames(), mode="legacy")) as at:
        assert b"extensions" not in b"".join(at.lines("frames", "out"))
