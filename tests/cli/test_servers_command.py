"""`servers`: what is configured, and what each server offers when it is asked."""

import re
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.desk import Desk, desk, server
from tests.kit.program import Ended, Programs
from tests.servers.running import sdk_configured
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.chat.schema_check import misfits
from tui_host.cli.commands.server_check import check_server, output_faults
from tui_host.errors import JSON
from tui_host.servers.catalog import ServerStatus, Tool, ToolOutput

OTHERS = """
[servers.nowhere]
command = "no-such-command-here"
[servers.docs]
url = "http://ann:pass-word@127.0.0.1:9/mcp?key=s3cr3t-value"
headers = { X-Key = "${NOT_THERE}" }
enabled = false
[servers.bare]
command = "true"
args = ["--api-key", "s3cr3t-argument-1"]
env = { TOKEN = "${NOT_THERE}" }
"""
SERVERS = (
    server("good", "good")
    + server("exits", "exits")
    + server("mute", "no-initialize", "timeout = 0.5")
    + server("odd", "malformed-tools", "enabled = false")
    + OTHERS
)


@pytest.fixture(scope="module")
def place(program: Programs, tmp_path_factory: pytest.TempPathFactory) -> Generator[Desk]:
    with desk(program, tmp_path_factory.mktemp("servers"), servers=SERVERS) as found:
        yield found


@pytest.fixture(scope="module")
def checked(place: Desk) -> Ended:
    return place.run("servers", "check")


def servers_of(ended: Ended) -> dict[str, dict[str, JSON]]:
    return {str(found["name"]): found for found in ended.objects("servers")}


def test_list_says_what_is_configured_and_shows_no_secret(place: Desk) -> None:
    listed = place.run("servers", "list")
    assert listed.code == 0
    assert "servers.bare.args: the file contains the secret itself (api-key)" in listed.err
    rows = [line.split(maxsplit=3) for line in listed.text.splitlines()]
    assert rows[0][:3] == ["NAME", "TRANSPORT", "STATE"]
    assert [row[0] for row in rows[1:]] == ["good", "exits", "mute", "odd", "nowhere", "docs", "bare"]
    assert rows[6] == ["docs", "http", "disabled", "http://127.0.0.1:9/mcp"]
    as_json = place.run("servers", "list", "--json")
    assert [each["enabled"] for each in servers_of(as_json).values()] == [True, True, True, False, True, False, True]
    for ended in (listed, as_json):
        assert "pass-word" not in ended.text
        assert "s3cr3t" not in ended.text
        assert "true --api-key •••" in ended.text


def test_check_tells_of_each_enabled_server_and_fails_if_one_does(checked: Ended, place: Desk) -> None:
    lines = checked.text.splitlines()
    assert checked.code == 1
    names = [line.partition(":")[0] for line in lines if not line.startswith(" ")]
    assert names == ["good", "exits", "mute", "nowhere", "bare"]
    good = next(at for at, line in enumerate(lines) if line.startswith("good: ready"))
    assert re.fullmatch(
        r"good: ready  2025-11-25 \(begun with initialize\)  hostile good 1  ready in [\d,]+ ms", lines[good]
    )
    assert lines[good + 1 : good + 4] == ["  echo  ~21 tokens", "  slow  ~21 tokens", "  progress  ~23 tokens"]
    assert "mute: failed  no answer to initialize within 0.5 s" in lines
    assert any(line.startswith("nowhere: failed") and "no-such-command-here was not found" in line for line in lines)
    assert any(line.startswith("bare: failed") and "NOT_THERE is not set" in line for line in lines)
    assert lines[lines.index("exits: failed  exited 4") + 1] == "  | ␛[2Jno license found␇"
    # A check is no session: it leaves nothing.
    assert not place.data.exists()


def test_check_as_json_says_it_exactly(place: Desk) -> None:
    as_json = place.run("servers", "check", "good", "exits", "--json")
    found = servers_of(as_json)
    assert (as_json.code, list(found)) == (1, ["good", "exits"])
    good, exits = found["good"], found["exits"]
    about = {"state": "ready", "protocol": "2025-11-25", "era": "stateful", "server": "hostile good 1"}
    assert good == {**good, **about, "findings": [], "noise": []}
    assert (exits["state"], exits["exit_code"], exits["stderr"]) == ("failed", 4, ["\x1b[2Jno license found\x07"])
    tools = good["tools"]
    assert isinstance(tools, list)
    assert tools[0] == {"name": "echo", "description": "The tool echo.", "tokens": 21, "problem": None}


def test_named_servers_alone_are_checked_also_those_that_are_not_enabled(place: Desk) -> None:
    ended = place.run("servers", "check", "odd", "good")
    lines = ended.text.splitlines()
    assert ended.code == 1
    assert [line.partition(":")[0] for line in lines if not line.startswith(" ")] == ["odd", "good"]
    task = "    advice: not offered to models: it runs only as a task of MCP 2025-11-25, which is not supported"
    assert [line for line in lines if "it runs only as a task" in line] == [task]
    assert "    mistake: not offered to models: another tool of this server has the same name" in lines


def test_what_is_bundled_is_listed_where_nothing_is_configured(program: Programs) -> None:
    listed = program.run("servers", "list", "--json").objects("servers")
    same = {"transport": "stdio", "enabled": True}
    assert listed == [{"name": name, "address": f"bundled {name}", **same} for name in ("math", "weather", "orders")]


def test_check_says_what_could_be_better_and_checks_real_calls(program: Programs, tmp_path: Path) -> None:
    refused = '[servers.refused]\nurl = "http://127.0.0.1:9/mcp"\n'
    with desk(program, tmp_path, servers=sdk_configured("own") + server("noisy", "bad-banner") + refused) as place:
        calls = ("--call", "add", '{"a": 1, "b": 2}', "--call", "fail", "{}", "--call", "gone", "{}")
        own = place.run("servers", "check", "own", *calls)
        assert own.code == 1
        assert "  add  ~" in own.text
        assert "    advice: arguments without a description: a, b\n" in own.text
        assert "mistake: the call reports an error: Error executing tool fail" in own.text
        assert "mistake: there is no such tool to call" in own.text
        assert own.text.count("mistake:") == 2
        assert place.run("servers", "check", "own", "--call", "add", '{"a": 1, "b": 2}').code == 0
        noisy = place.run("servers", "check", "noisy")
        assert noisy.code == 1
        assert "mistake: 2 lines on standard output are no JSON-RPC: «\ufffd\ufffd\ufffd starting up»" in noisy.text
        lost = place.run("servers", "check", "refused")
        assert (lost.code, lost.text.partition(" (")[0]) == (1, "refused: failed  connection refused")
        assert "try 1" not in lost.text


async def found(tool: Tool, status: ServerStatus | None = None) -> list[tuple[str, str]]:
    status = status or ServerStatus(name="s", state="ready", capabilities={"tools": {}})
    checked = await check_server(replace(status, tools=(tool,)), Recorder(None, Redactor([]), capture="c"), checks)
    return [(finding.kind, finding.words) for finding in checked.findings]


async def checks(schema: JSON, value: JSON) -> list[str] | None:
    return misfits(schema, value)


async def test_schemas_that_vendors_refuse_and_names_that_they_change_are_advice() -> None:
    properties: JSON = {"a": {"type": "array", "description": "A list."}}
    schema: JSON = {"type": "object", "properties": properties, "not": {"type": "null"}}
    refused = "openai, openai-responses would refuse the input schema as it is; what is sent is adapted:"
    assert await found(Tool(server="s", name="read.file", description="Reads.", schema=schema)) == [
        ("advice", f"{refused} removed not at the root"),
        ("advice", f"{refused} added items to arrays"),
        ("advice", "a model sees it as s__read_file_1fa2cb2e (openai, openai-responses, anthropic, ollama)"),
    ]


async def test_schemas_that_are_none_and_lists_that_are_missing_are_found() -> None:
    schema: JSON = {"type": "object", "properties": {"a": {"type": "colour", "description": "A"}}}
    tool = Tool(server="s", name="t", schema=schema)
    declared: JSON = {"tools": {}, "prompts": {}, "resources": {}}
    notices = ("prompts cannot be listed: error -32603",)
    assert await found(tool, ServerStatus(name="s", state="ready", capabilities=declared, notices=notices)) == [
        ("mistake", "prompts cannot be listed: error -32603"),
        ("advice", "it declares resources and has none"),
        ("mistake", "its input schema is no valid JSON Schema, or takes too long to check"),
        ("advice", "no description: a model sees only its name and arguments"),
    ]


async def test_a_result_is_checked_against_the_output_schema() -> None:
    schema: JSON = {"type": "object", "properties": {"sum": {"type": "number"}}}
    tool = Tool(server="s", name="t", output_schema=schema)
    wrong = ToolOutput(content=(), structured={"sum": "3"}, raw={"structuredContent": {"sum": "3"}})
    bare = ToolOutput(content=(), raw={"content": []})
    words = [words for output in (wrong, bare) for words in await output_faults(tool, output, checks)]
    assert words == [
        "the result does not fit the output schema: sum: '3' is not of type 'number'",
        "it has an output schema, but the result has no structured content",
    ]
