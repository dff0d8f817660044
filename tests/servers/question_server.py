"""A server of the handshake era, or with an argument of the stateless one, frame by frame: its tools are what it asks of its client."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeGuard

Frame: TypeAlias = Mapping[str, object]
FORM = {"message": "How many?", "requestedSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}}


def send(**frame: object) -> None:
    print(json.dumps({"jsonrpc": "2.0", **frame}), flush=True)


def ask(number: object, method: str = "elicitation/create", **params: object) -> None:
    send(id=number, method=method, params={**FORM, **params} if "elicitation" in method else params)


def next_frame() -> Frame:
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    return mapping(json.loads(line))


def is_object(value: object) -> TypeGuard[Frame]:
    return isinstance(value, dict)


def mapping(value: object) -> Frame:
    return value if is_object(value) else {}


def answer_to(number: object) -> Frame:
    while True:
        frame = next_frame()
        if frame.get("id") == number:
            return frame


def code(frame: Frame) -> object:
    return mapping(frame.get("error")).get("code") or frame.get("result")


def many() -> str:
    for number in range(32):
        ask(f"q{number}")
    ask("one too many")
    refused = code(answer_to("one too many"))
    send(id="p", method="ping")
    pong = answer_to("p").get("result")
    return f"{refused} {pong}"


def pings() -> str:
    for number in range(500):
        send(id=f"p{number}", method="ping")
    return f"{sum('result' in next_frame() for _ in range(500))} answered"


def withdraw() -> str:
    ask("a")
    send(id="p", method="ping")
    answer_to("p")
    send(method="notifications/cancelled", params={"requestId": "a"})
    for number in range(32):
        ask(f"q{number}")
        send(method="notifications/cancelled", params={"requestId": f"q{number}"})
    ask("b", message="The last?")
    frame = next_frame()
    return f"{frame.get('id')} {code(frame)}"


def undeclared() -> str:
    ask(1, "roots/list")
    ask(2, "sampling/createMessage", messages=[], maxTokens=1)
    ask(3, mode="telepathy")
    return " ".join(str(code(answer_to(number))) for number in (1, 2, 3))


def two() -> str:
    ask("a")
    ask("b")
    return f"{code(answer_to('a'))} {code(answer_to('b'))}"


def logs() -> str:
    for number in range(3_000):
        level = "error" if number % 1000 == 0 else "debug"
        send(method="notifications/message", params={"level": level, "logger": "l", "data": {"n": number}})
    return "logged"


def roots() -> str:
    ask("r", "roots/list")
    result = mapping(answer_to("r").get("result"))
    return " ".join(word for word in json.dumps(result["roots"]).split('"') if word.startswith("file:"))


TOOLS: Mapping[str, Callable[[], str]] = {
    tool.__name__: tool for tool in (many, pings, withdraw, undeclared, two, logs, roots)
}


# The stateless era: the result of a call asks.


def state_only(params: Frame) -> Frame:
    state = params.get("requestState")
    if state == "two":
        return {"content": [{"type": "text", "text": "twice"}]}
    return {"resultType": "input_required", "requestState": "two" if state else "one"}


def endless(_: Frame) -> Frame:
    return {"resultType": "input_required", "requestState": "again"}


def task(_: Frame, **more: object) -> Frame:
    times = {"createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z"}
    return {
        "resultType": "task",
        "taskId": "t1",
        "status": "working",
        "ttlMs": None,
        "pollIntervalMs": 50,
        **times,
        **more,
    }


def failing_task(_: Frame) -> Frame:
    return task(_, taskId="failing")


def endless_task(_: Frame) -> Frame:
    return task(_, taskId="endless", statusMessage="digging")


STATELESS: Mapping[str, Callable[[Frame], Frame]] = {
    tool.__name__: tool for tool in (state_only, endless, task, failing_task, endless_task)
}
answers: dict[str, object] = {}


def polled(params: Frame) -> Frame:
    match params.get("taskId"):
        case "failing":
            return task(params, resultType="complete", status="failed", error={"code": -32603, "message": "no luck"})
        case "endless":
            return task(params, resultType="complete", statusMessage="digging")
        case _ if answers:
            result = {"content": [{"type": "text", "text": json.dumps(answers)}]}
            return task(params, resultType="complete", status="completed", result=result)
        case _:
            questions = {"q": {"method": "elicitation/create", "params": {"mode": "form", **FORM}}}
            return task(params, resultType="complete", status="input_required", inputRequests=questions)


def stateless_result_of(frame: Frame) -> object:
    envelope: Frame = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    params = mapping(frame.get("params"))
    match frame.get("method"):
        case "server/discover":
            return {**envelope, "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        case "tools/list":
            return {**envelope, "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in STATELESS]}
        case "tools/call":
            return STATELESS[str(params.get("name"))](params)
        case "tasks/get":
            return polled(params)
        case "tasks/update":
            answers.update(mapping(params.get("inputResponses")))
            return envelope
        case _:
            return envelope


def result_of(frame: Frame) -> object:
    match frame.get("method"):
        case "initialize":
            capabilities: Frame = {"tools": {}, "logging": {}}
            info = {"name": "questions", "version": "1"}
            return {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
        case "tools/list":
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
        case "tools/call":
            name = str(mapping(frame.get("params")).get("name"))
            return {"content": [{"type": "text", "text": TOOLS[name]()}]}
        case _:
            return {}


is_stateless = len(sys.argv) > 1
while True:
    received = next_frame()
    if "id" not in received or "method" not in received:
        continue
    if received.get("method") == "server/discover" and not is_stateless:
        send(id=received["id"], error={"code": -32601, "message": "not here"})
    else:
        send(id=received["id"], result=stateless_result_of(received) if is_stateless else result_of(received))
