"""A host of nobody's: asks the model at AGENT_URL with the tools of the servers in a file, calls what it asks for, and ends with 7."""

import json
import os
import sys
import urllib.request
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any  # noqa: TID251 - as JSON comes


def main() -> None:
    entry = json.loads(Path(sys.argv[1]).read_text())["mcpServers"]["sums"]
    server = Popen([entry["command"], *entry["args"]], stdin=PIPE, stdout=PIPE, text=True, bufsize=1)
    stdin, stdout = server.stdin, server.stdout
    assert stdin is not None
    assert stdout is not None

    def ask_server(number: int, method: str, **params: object) -> Any:  # noqa: ANN401
        stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
        return json.loads(stdout.readline())["result"]

    named = {"name": "agent", "version": "1"}
    ask_server(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=named)
    listed = ask_server(2, "tools/list")["tools"]
    tools = [{"type": "function", "function": {"name": it["name"], "parameters": it["inputSchema"]}} for it in listed]
    messages: list[Any] = [{"role": "user", "content": 'call add {"a": 1, "b": 2}'}]
    for step in (3, 4):
        body = json.dumps({"model": "openai", "messages": messages, "tools": tools}).encode()
        request = urllib.request.Request(os.environ["AGENT_URL"] + "/chat/completions", body)  # noqa: S310 - of this machine
        with urllib.request.urlopen(request) as answered:  # noqa: S310
            messages.append(json.load(answered)["choices"][0]["message"])
        for call in messages[-1].get("tool_calls") or ():
            arguments = json.loads(call["function"]["arguments"])
            told = ask_server(step, "tools/call", name=call["function"]["name"], arguments=arguments)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": told["content"][0]["text"]})
    print(messages[-1]["content"].split("\n")[0])
    stdin.close()
    server.wait()
    sys.exit(7)


main()
