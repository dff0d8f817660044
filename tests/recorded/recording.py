"""Plays the stories through the real host: child processes as servers, an HTTP server as provider, a person by a script."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
from typing_extensions import override

from tests.cases import some
from tests.host.test_host import asked, serving
from tests.kit.mcp_server import mcp_server
from tests.kit.peer import peer, until
from tests.recorded.scripted_model import scripted
from tests.recorded.stories import STORIES, Story
from tui_host.capture.record import Record
from tui_host.chat.policy import Question, Refuse
from tui_host.errors import JSON
from tui_host.host.host import Host
from tui_host.host.request_preview import preview_request
from tui_host.settings.load import Overrides, load
from tui_host.settings.schema import Settings


class Person(Refuse):
    """Decides the calls of each story by its script, at a pace."""

    def __init__(self, pace: float) -> None:
        scripts = [(story, [decides for *_, decisions in story.turns for decides in decisions]) for story in STORIES]
        self._left = {server: decisions for story, decisions in scripts for server in story.servers}
        self._pace = pace

    @override
    async def decide(self, questions: Sequence[Question]) -> None:
        for question in questions:
            question.appear()
            decides = self._left[question.request.tool.server].pop(0)
            await anyio.sleep(decides.seconds * self._pace)  # a person who reads
            edited = json.dumps(decides.edited, ensure_ascii=False, separators=(",", ":")).encode()
            if decides.reason:
                question.reject(decides.reason)
            else:
                question.approve(edited=None if decides.edited is None else edited)


def configured(folder: Path, urls: Sequence[str], pace: float) -> Settings:
    """Write `config.toml` and the servers' scripts into the data folder: with them, what comes next in a session can be seen too."""
    text = f'model = "{STORIES[0].model}"\n'
    for story, url in zip(STORIES, urls, strict=True):
        provider_name = story.model.partition("/")[0]
        text += f'[providers.{provider_name}]\nbase_url = "{url}"\n'
        text += f"[profiles.{story.name}]\nmodel = {quoted(story.model)}\nprotocol = {quoted(story.protocol)}\n"
        text += f"system = {quoted(story.system)}\nservers = {quoted(list(story.servers))}\n"
        for name, script in story.servers.items():
            file = folder / f"{name}.json"
            file.write_text(json.dumps(at_pace(script, pace)), encoding="utf-8")
            text += mcp_server({"file": file}).table(quoted(name))
    (folder / "config.toml").write_text(text, encoding="utf-8")
    environment = {f"{name}_API_KEY": "sk-test-0123456789abcdef" for name in ("OPENAI", "MISTRAL", "DEEPSEEK")}
    environment |= {"HOME": str(folder), "PATH": os.environ["PATH"]}
    return load(Overrides(config=folder / "config.toml", data_dir=folder), environment)


def at_pace(script: JSON, pace: float) -> JSON:
    """The script of a server whose waits are as long as this pace has them."""
    match script:
        case {"wait": int() | float() as seconds}:
            return {"wait": seconds * pace}
        case Mapping():
            return {name: at_pace(member, pace) for name, member in script.items()}
        case list():
            return [at_pace(member, pace) for member in script]
        case _:
            return script


def quoted(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False)


async def play(host: Host, story: Story) -> Record:
    """Have the turns of a story in a new session; the request that comes next."""
    # Each turn begins once the servers are there, their lists are read, and the time in the system prompt is another.
    session = host.sessions.new()
    host.sessions.take_profile(session, story.name)
    pool = some(host.pool)
    second = 0

    def is_ready() -> bool:
        ready = {status.name for status in pool.statuses() if status.state == "ready"}
        return ready >= set(story.servers) and all(map(pool.has_current_tools, ready)) and int(time.time()) > second

    for question, *_ in story.turns:
        await until(is_ready)
        await asked(host, session, question)
        second = int(time.time())
        assert some(host.turns.result(session)).stop == "done", (question, session.end_note)
    coming, *_ = await preview_request(host, session, "")
    return coming


async def record(folder: Path, pace: float = 1.0) -> Mapping[str, Record]:
    """Record the stories, all at once; by their names the requests that come next, which name their sessions."""
    async with AsyncExitStack() as stack:
        answers = [scripted([says for _, said, _ in story.turns for says in said], pace) for story in STORIES]
        peers = [await stack.enter_async_context(peer(*each)) for each in answers]
        coming: dict[str, Record] = {}

        async def keep(story: Story) -> None:
            coming[story.name] = await play(host, story)

        async with serving(configured(folder, [each.url for each in peers], pace)) as host:
            host.approver = Person(pace)
            async with anyio.create_task_group() as group:
                for story in STORIES:
                    group.start_soon(keep, story)
        return coming
