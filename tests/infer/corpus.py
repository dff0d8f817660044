"""Worlds of tapped turns whose truth is known: hosts that differ in dialect, words, names, order and patience."""

import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from tests.infer.forms import DIALECTS, NAMES, Form, form
from tests.infer.habits import NOT_TAPPED, REWORDINGS, TOOLS, Habits, habits, schema_of
from tests.infer.world import MS, Asked, ModelTap, ServerTap, World
from tests.kit.bodies import SYSTEM, Answer, Call, Entry, Results, User, dumped
from tui_host.errors import JSON

Kind: TypeAlias = Literal["usual", "reworded", "shared"]
KINDS: tuple[Kind, ...] = ("usual", "reworded", "shared")
OWN = "Task"
"""A host's own tool: an agent below, which talks by itself."""
_IDS = ("openai", "openai-responses", "anthropic")
"""Where the model's calls have ids."""
_TIMED_OUT = "MCP error -32001: Request timed out"
_LONG = "\n".join(f"{number}. A page about {'things and ' * (number % 7)}more" for number in range(60))
_HOST_NAMES = (
    ("", "some-host"),
    ("Cline/3.1", "Cline"),
    ("claude-cli/2.1.0", "claude-code"),
    ("OpenAI/Python 2.1", "mcp"),
    ("OpenAI/Python 2.1", "mcp"),
)
"""What hosts call themselves before models, and before servers; many do not say more than what they are made with."""


def play(seed: int, name: str, kind: Kind = "usual") -> World:
    """Return a world of one kind, whose first host speaks to its model in this form.

    `usual`: one host, or two that share taps; `reworded`: hosts that tell less than what came, or something else; `shared`: two hosts
    that share the servers, with taps of their own or one before each server, of which one may ask a model behind no tap.
    """
    chance, is_shared = random.Random(f"{kind} {seed} {name}"), kind == "shared"  # noqa: S311 - the same each time
    off = 0 if is_shared else chance.choice([0, 5])
    world = World()
    servers = Servers(world, chance, off, has_no_sessions=not is_shared and chance.random() < 0.2)
    hosts = [Host(chance, name, servers)]
    if is_shared or chance.random() < 0.2:
        others = Servers(world, chance) if is_shared and chance.random() < 0.5 else servers
        hosts.append(Host(chance, chance.choice(NAMES), others, 2))
    for host in hosts:
        host.agent, host.client = chance.choice(_HOST_NAMES) if is_shared else _HOST_NAMES[0]
        host.connect()
        if kind == "reworded" or (is_shared and chance.random() < 0.1):
            host.habits = replace(host.habits, reword=chance.choice(REWORDINGS))
    alike = seed + 1 if chance.random() < (0.6 if is_shared else 0.15) else 0
    talks: list[Generator[int, None, object]] = [
        host.talk(chance.randint(2, 6), number=alike) for host in hosts for _ in range(chance.choice([1, 1, 2, 3]))
    ]
    if not is_shared and chance.random() < 0.3:
        for host in hosts:  # nobody could tell a call that waits for ever from one that no model asked for
            host.leaves = 0
        talks.append(hosts[0].beat(8))
    world.run(*talks)
    for model in hosts[1].models if is_shared and chance.random() < 0.4 else ():
        world.hide(model)
    return world


@dataclass
class Talk:
    """A conversation on its way; one with the `number` of another begins as that does. `task` is what an agent below is to do."""

    name: int
    number: int
    chance: random.Random
    task: str
    entries: list[Entry] = field(default_factory=list[Entry])
    told: list[tuple[Asked, str]] = field(default_factory=list[tuple[Asked, str]])  # which the next request tells first

    @property
    def system(self) -> str:
        return f"You are an agent below another: {self.number}." if self.task else SYSTEM

    def choose_as_others(self, number: int) -> None:
        """Let what was said, without ids, decide what comes next."""
        said: list[object] = []
        for entry in self.entries:
            match entry:
                case User():
                    said.append(entry.text)
                case Answer():
                    said.append((entry.text, [(call.name, call.text) for call in entry.calls]))
                case Results():
                    said.append([(call.name, text) for call, text in entry.told])
        if number:
            self.chance = random.Random(f"{number} {said!r}")  # noqa: S311 - the same each time


@dataclass
class Servers:
    """Servers behind taps, which one host has for itself, or several share; without sessions they know nothing of who asks."""

    world: World
    chance: random.Random
    off: int = 0
    has_no_sessions: bool = False
    taps: dict[str, ServerTap] = field(default_factory=dict[str, ServerTap])

    def open(self, name: str, connection: str, client: str = "some-host") -> None:
        """Connect; a server that died is started again, behind a tap of its own."""
        tap = self.taps.get(name) or self.world.server(name, has_no_sessions=self.has_no_sessions, off=self.off * MS)
        self.taps[name] = tap
        tap.start([schema_of(name, tool) for tool in TOOLS[name]], client, connection)


class Host:
    agent = client = ""  # what it calls itself before models, and before servers

    def __init__(self, chance: random.Random, name: str, servers: Servers, number: int = 1) -> None:
        self.chance, self.world, self.servers = chance, servers.world, servers
        self.connection = f"c{number}"
        dialect = chance.choice(tuple(DIALECTS))
        self.habits: Habits = habits(chance, is_native=name in DIALECTS, with_ids=name in _IDS)
        self.is_cline = name == "cline"
        tool_names = [self.habits.name(server, tool) for server, tools in TOOLS.items() for tool in tools]
        self.form: Form = form(name, tool_names, dialect)
        self.models: list[ModelTap] = []
        self.model: ModelTap = self._model()
        self.counter = 1000 * number
        self.leaves = 0.015
        self._meant: dict[str, tuple[str, str]] = {}
        self._told: dict[str, str] = {}  # by what was asked

    def connect(self) -> None:
        for server in (name for name in TOOLS if name not in NOT_TAPPED):
            self.servers.open(server, self.connection, self.client)

    def _model(self) -> ModelTap:
        self.models.append(self.world.model())
        return self.models[-1]

    def wait(self, low: int, high: int) -> int:
        return self.chance.randint(low, high) * MS

    # One conversation.

    def talk(self, turns: int, task: str = "", *, number: int = 0) -> Generator[int, None, str]:
        """A conversation of several turns; gives the last answer. One that is given a number goes as others with it as far as it can."""
        self.counter += 1
        talk = Talk(self.counter, number or self.counter, self.chance, task)
        last = Answer("")
        yield self.wait(0, 300)
        for turn in range(turns):
            before = [*talk.entries]
            talk.entries.append(User(task or f"conversation {talk.number}, turn {turn}: what is it?"))
            talk.choose_as_others(number)
            for _ in range(talk.chance.randint(1, 4)):
                talk.choose_as_others(number)
                if not (yield from self._works(talk)):
                    return "nothing"
            last = Answer(f"It is {talk.chance.randrange(100000)}.")
            yield from self._step(talk, last)
            talk.entries.append(last)
            talk.told = []
            yield self.wait(100, 3000)
            if self.chance.random() < 0.05:  # the person takes it back, and says something else
                talk.entries = before
        return last.text

    def _works(self, talk: Talk) -> Generator[int, None, bool]:
        before = talk.entries[-2] if len(talk.entries) > 1 else None
        if isinstance(before, Answer) and before.calls and talk.chance.random() < 0.1:  # it asks for the same once more
            answer = replace(before, calls=[self._anew(call) for call in before.calls])
        else:
            words = talk.chance.choice(["", "Let me see."])
            answer = Answer(words, self._calls(talk), f"Hm, {talk.number}?" if self.habits.thinks else "")
        asked = yield from self._step(talk, answer)
        if self.chance.random() < self.leaves:
            return False
        results = yield from self._run(asked, answer.calls)
        if self.chance.random() < self.leaves:
            return False
        if self.chance.random() < self.leaves:  # the person, or the host, goes back to what was asked
            answer = replace(answer, calls=[self._anew(call) for call in answer.calls])
            asked = yield from self._step(talk, answer)
            results = yield from self._run(asked, answer.calls)
        told = [(answer.calls[place], text) for place, text in results]
        talk.told = [(asked[place], text) for place, text in results]
        talk.entries = self._kept([*talk.entries, answer, Results(told)])
        return True

    def _anew(self, call: Call) -> Call:
        return self._call(*self._meant[call.id], dict(call.arguments)) if call.id in self._meant else call

    def _kept(self, entries: list[Entry]) -> list[Entry]:
        """What the next request still holds: some hosts drop the middle, or put a summary in place of it."""
        if len(entries) < 6 or self.chance.random() >= self.habits.forgets:
            return entries
        first = self.chance.choice([entries[0], User("Summary: there was a question, and some of it is answered.")])
        return [first, *entries[-2:]]

    def _calls(self, talk: Talk) -> list[Call]:
        chance, is_eager = talk.chance, self.habits.is_eager
        count = chance.choice([2, 3, 4] if is_eager else [1, 1, 1, 2, 3]) if self.form.several else 1
        if self.is_cline and chance.random() < 0.1:
            self.counter += 1
            return [Call("", "access_mcp_resource", {"server_name": "docs", "uri": f"docs://{chance.randrange(50)}"})]
        if not talk.task and self.form.several and chance.random() < 0.04:
            return [self._call("", OWN, {"prompt": f"look into {chance.randrange(1 << 30)}"})]
        server = chance.choice(tuple(TOOLS)) if is_eager and chance.random() < 0.7 else ""
        wanted = [_wanted(chance, server) for _ in range(count)]
        if count > 1 and chance.random() < 0.3:
            wanted = [wanted[0]] * count
        elif count > 1 and chance.random() < 0.1:  # the same of two servers
            wanted[:2] = [("web", "search", {"q": "same"}), ("docs", "search", {"q": "same"})]
        return [self._call(*call) for call in wanted]

    def _call(self, server: str, tool: str, arguments: dict[str, JSON]) -> Call:
        self.counter += 1
        name = self.habits.name(server, tool) if server else tool
        call = Call(f"call_{self.counter}_{self.chance.randrange(1 << 30):x}", name, arguments)
        self._meant[call.id] = server, tool
        return call

    def _step(self, talk: Talk, answer: Answer) -> Generator[int, None, list[Asked]]:
        """An exchange, sent again while it fails; gives the calls that the host acts on."""
        if self.chance.random() < 0.03:
            self.model = self._model()  # the tap was started again
        while True:
            model = self.model
            exchange = model.ask(self.form, talk.entries, self.agent, talk.system)
            for call, text in talk.told:
                self.world.told(call, model.id, exchange, text)
            yield self.wait(5, 400)
            failing = self.chance.random()
            if failing < 0.05:
                model.refuse(exchange, self.chance.choice((429, 500, 529)))
            elif failing < 0.07:
                model.fail(exchange)
            elif failing < 0.1:
                yield from model.answer(self.form, exchange, answer, cut=True)
            else:
                yield from model.answer(self.form, exchange, answer)
                if failing >= 0.11 or answer.calls:  # else a person asks for another answer
                    return [(model.id, exchange, number) for number in range(len(answer.calls))]
            yield self.wait(50, 900)

    # Its calls.

    def _run(self, asked: Sequence[Asked], calls: Sequence[Call]) -> Generator[int, None, list[tuple[int, str]]]:
        """Run them in its way; gives what the model is told of each, by its place, in the order in which it is."""
        yield self.wait(1, 2000 if self.chance.random() < 0.3 else 20)
        order = [*range(len(calls))]
        if self.habits.runs == "as approved" or self.habits.order == "any":
            self.chance.shuffle(order)
        elif self.habits.order == "reversed":
            order.reverse()
        works = [(place, self._one(asked[place], calls[place])) for place in order]
        for _, work in works if self.habits.runs == "at once" else ():
            yield min(next(work, 0), MS // 10)  # it is sent at once, and answers later
        if self.habits.runs == "at once":
            self.chance.shuffle(works)
        told: dict[int, str] = {}  # in the order in which it came
        for place, work in works:
            if self.habits.runs == "as approved":
                yield self.wait(300, 4000)
            told[place] = yield from work
        yield self.wait(2, 30)
        ways = {"as asked": sorted(told), "as run": order, "as they came": list(told)}
        return [(place, told[place]) for place in ways[self.habits.tells]]

    def _one(self, asked: Asked, call: Call) -> Generator[int, None, str]:
        if call.name == "access_mcp_resource":
            return (yield from self._resource(asked, call))
        server, tool = self._meant[call.id]
        if server == "":
            return (yield from self.talk(1, str(call.arguments["prompt"])))
        if self.chance.random() < 0.08:
            yield self.wait(1, 20)
            return self.habits.denial
        text = self._result(server, tool, call)
        if server in NOT_TAPPED:
            yield self.wait(1, 200)
            return self.habits.tell(text)
        said = f"{server} {tool} {dumped(dict(call.arguments))!r}"
        if self.chance.random() < self.habits.keeps:  # it tells what it was told before, or that nothing has changed
            yield MS
            if said in self._told:
                return self.chance.choice((self._told[said], "[nothing has changed since the last call]"))
        told = yield from self._sent(asked, call, text)
        self._told[said] = told if told == _TIMED_OUT else self.habits.reword(told)
        return self._told[said]

    def _sent(self, asked: Asked, call: Call, text: str) -> Generator[int, None, str]:
        (server, tool), own = self._meant[call.id], self.habits
        arguments = self.habits.send(call.arguments, TOOLS[server][tool])
        meta: dict[str, JSON] = {"progressToken": self.counter}
        if self.habits.names_calls:
            meta["claudecode/toolUseId"] = call.id
        fate = self.chance.random()
        tap = self.servers.taps[server]
        identity = self._sends(asked, tap, tool, arguments, meta)
        yield MS  # this is cut short where calls are sent at once; what comes is not
        while self.chance.random() < own.again:  # it gives a frame up, and sends it again
            yield self.wait(50, 1500)
            self._gives_up(tap, identity, text, 0.3)
            identity = self._sends(asked, tap, tool, arguments, meta)
        yield self.wait(1, 60)
        if fate < 0.06:  # the server dies before it answers, and is asked again
            yield self.wait(10, 500)
            if self.servers.taps[server] is tap:
                del self.servers.taps[server]
            self.servers.open(server, self.connection, self.client)
            tap = self.servers.taps[server]
            identity = self._sends(asked, tap, tool, arguments, meta)
            yield self.wait(1, 60)
        elif fate < 0.08:  # the host gives up, and the server answers all the same
            yield self.wait(1000, 2000)
            self._gives_up(tap, identity, text, 1.0)
            return _TIMED_OUT
        words = self._ends_otherwise(tap, identity, text, fate)
        if words is not None:
            return words
        tap.result(identity, text, connection=self.connection)
        return self.habits.tell(text)

    def _gives_up(self, tap: ServerTap, identity: int, text: str, late: float) -> None:
        """Wait no longer for an answer, which may come all the same."""
        if self.habits.cancels:
            tap.frame("out", {"method": "notifications/cancelled", "params": {"requestId": identity}}, self.connection)

        def answer() -> Generator[int]:
            yield self.wait(1, 3000)
            tap.result(identity, text, connection=self.connection)

        if self.chance.random() < late:
            self.world.start(answer())

    def _sends(self, asked: Asked, tap: ServerTap, tool: str, arguments: dict[str, JSON], meta: dict[str, JSON]) -> int:
        identity, seq = tap.call(tool, arguments, self.connection, meta)
        self.world.carried(asked, (tap.id, seq))
        return identity

    def _ends_otherwise(self, tap: ServerTap, identity: int, text: str, fate: float) -> str | None:
        """An answer that is no plain text; what the model is told of it, None if it is one."""
        chance = self.chance
        if 0.08 <= fate < 0.1:
            message = f"no such thing: {chance.randrange(100)}"
            tap.frame("in", {"id": identity, "error": {"code": -32603, "message": message}}, self.connection)
            return chance.choice([message, f"Error: {message}", f"MCP error -32603: {message}", "The call failed."])
        if 0.1 <= fate < 0.12:
            tap.result(identity, "bad", is_error=True, connection=self.connection)
            return chance.choice(["bad", "Error: bad", "Error executing tool: bad"])
        if 0.12 <= fate < 0.14:
            image: JSON = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
            content = [{"type": "text", "text": text}, image] if chance.random() < 0.5 else [image]
            tap.answer(identity, {"content": [*content]}, self.connection)
            return f"{text}\n[image]" if len(content) > 1 else "[image]"
        if 0.14 <= fate < 0.15:
            tap.answer(identity, {"content": []}, self.connection)
            return chance.choice(["(No response)", "[]", "Tool ran without output or errors"])
        return None

    def _resource(self, asked: Asked, call: Call) -> Generator[int, None, str]:
        tap, uri = self.servers.taps["docs"], str(call.arguments["uri"])
        identity, seq = tap.ask("resources/read", {"uri": uri}, self.connection)
        self.world.carried(asked, (tap.id, seq))
        yield self.wait(1, 60)
        text = f"page {uri}: {self.chance.randrange(3)}"
        tap.answer(identity, {"contents": [{"uri": uri, "text": text}]}, self.connection)
        return text

    def _result(self, server: str, tool: str, call: Call) -> str:
        if tool in TOOLS["math"]:
            a, b = float(str(call.arguments["a"])), float(str(call.arguments["b"]))
            return f"{a + b if tool == 'add' else a * b:g}"
        if tool == "now":
            self.counter += 1
            return f"{server} says 2026-11-22T10:{self.counter % 60:02}:{self.chance.randrange(60):02}.{self.chance.randrange(1000):03}"
        texts = {"convert": 'it is "noon" in <c>\n\tthere, 12 o’clock', "readPage": "[]", "list_items": "[]"}
        texts["search"] = f"{call.arguments.get('q')} on {server}\n{_LONG}"
        return texts.get(tool) or self.chance.choice(["pending", "done"])

    def beat(self, times: int) -> Generator[int]:
        """Calls that no model asked for, and lists that are read again."""
        for _ in range(times):
            yield self.wait(500, 6000)
            server, tool = self.chance.choice([("clock", "now"), ("jobs", "status"), ("time", "now")])
            tap = self.servers.taps[server]
            if self.chance.random() < 0.3:
                tap.frame("in", {"method": "notifications/tools/list_changed"}, self.connection)
                tap.start([schema_of(server, name) for name in TOOLS[server]], self.client, self.connection)
            arguments: dict[str, JSON] = {"id": self.chance.randrange(60)} if tool == "status" else {}
            identity, _ = tap.call(tool, arguments, self.connection)
            yield self.wait(1, 30)
            tap.result(identity, f"beat {self.chance.randrange(1 << 20)}", connection=self.connection)


def _wanted(chance: random.Random, of: str = "") -> tuple[str, str, dict[str, JSON]]:
    tools = [(server, tool) for server, tools in TOOLS.items() for tool in tools]
    server, tool = chance.choice([pair for pair in tools if not of or pair[0] == of])
    arguments: dict[str, JSON] = {}
    match tool:
        case "add" | "multiply":
            numbers: tuple[JSON, ...] = (1, 2.0, 3.5, "7", 9007199254740993, 12345678901234567890)
            arguments = {"a": chance.randrange(40), "b": chance.choice(numbers)}
        case "convert":
            place, hour = chance.choice(["Asia/東京", 'a "b"\n<c>', "\U0001f600"]), chance.randrange(24)
            arguments = {"to": place, "at": {"h": hour}, **chance.choice([{}, {"zone": None}, {"exact": False}])}
        case "search":
            arguments = {"q": f"word {chance.randrange(40)}", **chance.choice([{}, {"limit": 10}, {"limit": None}])}
        case "now":
            pass
        case _:
            arguments = {"id": chance.randrange(60)}
    return server, tool, arguments
