"""The scripted MCP server: a program over stdio, of the standard library alone, that plays what its one argument says as JSON.

    server = mcp_server({"tools": [tool("look")], "on": {"tools/call look": [{"log": "looking"}, {"text": "seen"}]}})
    server.argv, server.table("mine")     # its command, and its table in a configuration

`mcp_http.py` plays the same scripts over HTTP. A script has, all of it optional:

- `name`, `version`, `instructions`, `capabilities`; `era`: `handshake` (2025-11-25, the default), `discover` (2026-07-28) or `both`
- `tools`, `resources`, `templates`, `prompts`: what is listed
- `on`: steps by `METHOD` or `METHOD NAME`, NAME being a tool, a prompt or a URI. A list of lists of steps has one for each time,
  the last for all that follow. What is not there is answered as usual: lists are listed, a call gives back its arguments as text
- `at start`, `at end`: steps before the first line is read, and once the input has ended

One member of a step says what it is:

- answers: `result`, `error` (`code`, `message`), `text` (with `times` repeated), `arguments`, `environment`, `answers` (to what the server
  asked, as text); `raw`, the result as it stands, in Latin-1: a text, or three of which the middle one stands `times` times. With
  `"id": "text"` the answer's id is the request's as a text
- news: `notify` a method with `params` and `times`; `log` data with `level`; `progress` with `total` and `message`;
  `redefine` a tool and announce it
- `ask` the client a method with `params` and `times`, and wait for its answer unless `wait` is false
- `bytes` (Latin-1) on standard output, `times` times a text of `size` times these; `line` a text there
- `stderr` a text (in which `\\udcff` stands for the byte 255), `times` times, or what the environment has under the name `variable`;
  with `params` those of the message behind it
- faults: `exit` with a code, `close` (1 is standard output), `wait` seconds, or those of the call's argument of that name,
  `ignore` signals, `spawn` Python code, play steps in the `background`. No step at all is a server that never answers
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeGuard

Message = dict[str, object]
HANDSHAKE, DISCOVER = "2025-11-25", "2026-07-28"
LISTS = {f"{each}/list": each for each in ("tools", "resources", "prompts")}
LISTS["resources/templates/list"] = "resourceTemplates"


def is_object(value: object) -> TypeGuard[Message]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def mapping(value: object) -> Message:
    return value if is_object(value) else {}


def listed(value: object) -> list[object]:
    return value if is_list(value) else []


def number(value: object, default: float) -> float:
    return float(value) if isinstance(value, int | float) else default


def tool(name: str, **more: object) -> Message:
    return {"name": name, "description": f"The tool {name}.", "inputSchema": {"type": "object"}, **more}


def text(words: str) -> Message:
    return {"content": [{"type": "text", "text": words}]}


def notification(method: str, params: object = None) -> Message:
    return {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}


class McpScript:
    """What a server does with a message, whatever carries it: gives messages to `send`, and bytes that are none to `write`."""

    def __init__(
        self,
        script: Mapping[str, object],
        send: Callable[[Message], None] = lambda _: None,
        write: Callable[[bytes], None] = lambda _: None,
    ) -> None:
        self.script = script
        self.send, self.write = send, write
        self.asks = itertools.count(1)
        self.answers: dict[object, Message] = {}
        self.has_answer = threading.Condition()
        self._times: dict[str, int] = {}
        self._tools = [*listed(script.get("tools"))]

    def steps(self, message: Mapping[str, object]) -> Sequence[Message]:
        method, params = str(message.get("method")), mapping(message.get("params"))
        name = params.get("name") or params.get("uri") or ""
        on = mapping(self.script.get("on"))
        for key in (f"{method} {name}", method):
            if key in on:
                return self._turn_of(key, listed(on[key]))
        return [self._usual(method)] if "id" in message else []

    def take_answer(self, message: Message) -> None:
        with self.has_answer:
            self.answers[message["id"]] = message
            self.has_answer.notify_all()

    def play(self, steps: Sequence[Message], message: Mapping[str, object]) -> None:
        for step in steps:
            self._play_one(step, message)

    def _turn_of(self, key: str, steps: list[object]) -> Sequence[Message]:
        time_of_it = self._times[key] = self._times.get(key, -1) + 1
        if steps and is_list(steps[0]):
            steps = listed(steps[min(time_of_it, len(steps) - 1)])
        return [mapping(step) for step in steps]

    def _usual(self, method: str) -> Message:
        era = self.script.get("era", "handshake")
        is_listed = LISTS.get(method)
        if method == "initialize" and era != "discover":
            info = {"name": self.script.get("name", "scripted"), "version": self.script.get("version", "1")}
            result: Message = {"protocolVersion": HANDSHAKE, "capabilities": self._capabilities(), "serverInfo": info}
        elif method == "server/discover" and era != "handshake":
            result = {"supportedVersions": [DISCOVER], "capabilities": self._capabilities()}
        elif method == "tools/list":
            result = {"tools": self._tools}
        elif is_listed:
            result = {is_listed: self.script.get("templates" if "templates" in method else is_listed, [])}
        elif method == "tools/call":
            return {"arguments": True}
        elif method in {"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}:
            result = {}
        else:
            return {"error": {"code": -32601, "message": "no such method"}}
        if "instructions" in self.script and method in {"initialize", "server/discover"}:
            result["instructions"] = self.script["instructions"]
        return {"result": result}

    def _capabilities(self) -> object:
        usual: Message = {"tools": {"listChanged": True}, "logging": {}}
        usual |= {name: {} for name in ("resources", "prompts") if name in self.script}
        return self.script.get("capabilities", usual)

    def _result(self, message: Mapping[str, object], result: object) -> None:
        if is_object(result) and self.script.get("era", "handshake") != "handshake":
            result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
        self.send({"jsonrpc": "2.0", "id": message.get("id"), "result": result})

    def _play_one(self, step: Message, message: Mapping[str, object]) -> None:
        arguments = mapping(message.get("params")).get("arguments", {})
        times = int(number(step.get("times"), 1))
        if step.get("id") == "text":
            message = {**message, "id": str(message.get("id"))}
        match step:
            case {"result": value}:
                self._result(message, value)
            case {"text": words}:
                self._result(message, text(str(words) * times))
            case {"arguments": _}:
                self._result(message, text(json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))))
            case {"environment": _}:
                self._result(message, text(json.dumps(dict(os.environ))))
            case {"answers": _}:
                told = {str(key): answer.get("result", answer.get("error")) for key, answer in self.answers.items()}
                self._result(message, text(json.dumps(told)))
            case {"error": value}:
                self.send({"jsonrpc": "2.0", "id": message.get("id"), "error": value})
            case {"raw": value}:
                begin = f'{{"jsonrpc":"2.0","id":{json.dumps(message.get("id"))},"result":'
                first, middle, last = listed(value) or ("", value, "")
                self.write(f"{begin}{first}{str(middle) * times}{last}}}\n".encode("latin-1"))
            case {"bytes": value}:
                block = str(value).encode("latin-1") * int(number(step.get("size"), 1))
                for _ in range(times):
                    self.write(block)
            case {"line": words}:
                self.write(f"{words}\n".encode("utf-8", "surrogateescape"))
            case _:
                self._tell(step, message, times)

    def _tell(self, step: Message, message: Mapping[str, object], times: int) -> None:
        match step:
            case {"notify": method}:
                for _ in range(times):
                    self.send(notification(str(method), step.get("params")))
            case {"log": data}:
                more = {"level": step.get("level", "info"), "logger": self.script.get("name", "scripted")}
                self.send(notification("notifications/message", {**more, "data": data}))
            case {"progress": done}:
                meta = mapping(mapping(message.get("params")).get("_meta"))
                token: Message = {"progressToken": meta.get("progressToken", message.get("id")), "progress": done}
                more = {name: step[name] for name in ("total", "message") if name in step}
                self.send(notification("notifications/progress", {**token, **more}))
            case {"ask": method}:
                for _ in range(times):
                    self._ask(str(method), step)
            case {"wait": seconds}:
                given = mapping(mapping(message.get("params")).get("arguments"))
                time.sleep(number(given.get(str(seconds), seconds), 1))  # the pace of its work
            case {"background": steps}:
                own = [mapping(each) for each in listed(steps)]
                threading.Thread(target=self.play, args=(own, message), daemon=True).start()
            case {"redefine": one}:
                name = mapping(one).get("name")
                self._tools[:] = [one if mapping(each).get("name") == name else each for each in self._tools]
                self.send(notification("notifications/tools/list_changed", {}))
            case {"stderr": words, "params": _}:
                misbehave({"stderr": f"{words} {json.dumps(message.get('params'))}"})
            case _:
                misbehave(step)

    def _ask(self, method: str, step: Message) -> None:
        name = f"q{next(self.asks)}"
        self.send({"jsonrpc": "2.0", "id": name, "method": method, "params": step.get("params", {})})
        if step.get("wait", True):
            with self.has_answer:
                self.has_answer.wait_for(lambda: name in self.answers)


def misbehave(step: Message) -> None:
    match step:
        case {"exit": code}:
            os._exit(int(number(code, 0)))
        case {"stderr": words}:
            words = os.environ.get(str(step.get("variable")), words)
            for _ in range(int(number(step.get("times"), 1))):
                sys.stderr.buffer.write(f"{words}\n".encode("utf-8", "surrogateescape"))
            sys.stderr.buffer.flush()
        case {"close": descriptor}:
            os.close(int(number(descriptor, 1)))
        case {"ignore": names}:
            for name in listed(names):
                signal.signal(signal.Signals[str(name)], signal.SIG_IGN)
        case {"spawn": code}:
            child = subprocess.Popen([sys.executable, "-I", "-S", "-c", str(code)])
            print(f"child {child.pid}", file=sys.stderr, flush=True)
        case _:
            raise ValueError(step)


class ScriptedServer:
    def __init__(self, argv: Sequence[str]) -> None:
        self.argv = argv

    def table(self, name: str, *more: str) -> str:
        """Its table in a configuration; `more` are further lines of it."""
        command, *words = self.argv
        lines = [f"[servers.{name}]", f"command = {json.dumps(command)}", f"args = {json.dumps(words)}", *more]
        return "\n".join(lines) + "\n"


def mcp_server(script: Mapping[str, object]) -> ScriptedServer:
    """The program that plays this script; a large one belongs into a file, whose path may stand here as `{"file": path}`."""
    words = str(script["file"]) if "file" in script else json.dumps(script)
    return ScriptedServer((sys.executable, "-S", __file__, words))


def main() -> None:
    """Play the script over stdio; each request in a thread, so that one that waits keeps no other from its answer."""
    word = sys.argv[1]
    script = json.loads(word if word.startswith("{") else Path(word).read_text("utf-8"))
    lock = threading.Lock()

    def write(data: bytes) -> None:
        with lock:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    def send(message: Message) -> None:
        write(json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")

    server = McpScript(script, send, write)
    server.play([mapping(step) for step in listed(mapping(script).get("at start"))], {})
    for line in sys.stdin.buffer:
        message = mapping(json.loads(line))
        if "method" not in message:
            server.take_answer(message)
            continue
        steps = server.steps(message)
        if message["method"] == "tools/call":
            threading.Thread(target=server.play, args=(steps, message), daemon=True).start()
        else:
            server.play(steps, message)
    server.play([mapping(step) for step in listed(mapping(script).get("at end"))], {})


if __name__ == "__main__":
    main()
