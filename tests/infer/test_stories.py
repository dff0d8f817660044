"""Which taps are one story, whose they are, what they tell of themselves, and what the chat of a story tells."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import pytest

from tests.capture.ladder_wires import matching
from tests.infer.forms import FORMS, form
from tests.infer.kept import KeptModelTap, KeptServerTap, keep_story
from tests.infer.scene import Scene, call, chat_of
from tests.infer.world import MS, ModelTap, World
from tests.kit.bodies import Answer, Call, Entry, Results, User
from tui_host.capture.exports.formats import FORMATS
from tui_host.capture.http.exchange_end import Ending
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.record import Head, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.deletion import delete_session
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import AnswerItem, CallItem, Conversation, Item, NoteItem, UserItem, item_from_text
from tui_host.errors import StoreError, TuiHostError
from tui_host.infer.stories import Links, Stories, TapStory, grouped, story_of
from tui_host.infer.story import Story
from tui_host.infer.story_chat import StoryChat
from tui_host.infer.story_reader import TAPS_SECONDS, LiveStory, WholeStory, readers_of
from tui_host.infer.tap_facts import TapFacts
from tui_host.opening.importing import import_files
from tui_host.settings.paths import DATABASE
from tui_host.tap.session import RecorderOptions, TapSession

HOSTS = {
    "anthropic": ("claude-cli/2.0.14", "claude-code"),
    "gemini": ("GeminiCLI/v0.9.0/gemini-x", "gemini-cli-mcp-client"),
}


def recorded(tmp_path: Path, *titles: str, client: str = "mcp") -> Path:
    """Taps of servers with these titles, in the order in which they began; gives the database."""
    for title in titles:
        tap = KeptServerTap(tmp_path, title)
        tap.start(["add"], client=client)
        assert tap.kept.recording.close()
    return tmp_path / "data" / DATABASE


def titles(store: Store) -> list[str]:
    listed = [story for story in Stories(store).listed() if isinstance(story, TapStory)]
    return sorted(" ".join(tap.title for tap in story.taps) for story in listed)


def by_title(store: Store) -> dict[str, str]:
    return {info.title: info.id for info in store.sessions.list()}


def story_id(tap: str) -> str:
    return f"{tap[:-5]}s{tap[-5:]}"


def test_a_story_keeps_its_id_when_taps_join_and_a_taps_id_gives_its_half(tmp_path: Path) -> None:
    store = Store.open(recorded(tmp_path, "a"))
    stories, a = Stories(store), by_title(store)["a"]
    (alone,) = stories.listed()
    assert alone.id == story_id(a)
    recorded(tmp_path, "b")
    (story,) = stories.listed()
    assert (story.id, titles(store)) == (alone.id, ["a b"])
    b = by_title(store)["b"]
    assert isinstance(story, TapStory)
    for name in ("last", story.id, story.id[:-1], story.id[:10]):  # the last begins the taps' ids, too
        assert stories.find(name) == story
    assert [(half.id, [tap.id for tap in half.taps]) for half in story.halves] == [(tap, [tap]) for tap in (a, b)]
    assert [stories.find(name) for name in (a, b[:-1])] == story.halves
    with pytest.raises(TuiHostError, match="there is no such session"):
        stories.find(f"{a}x")
    delete_session(store, a)
    assert (titles(store), Stories(store).get(story.id)) == (["b"], None)
    store.close()


def test_what_a_person_joins_and_parts_stays_so_for_every_process(tmp_path: Path) -> None:
    recorded(tmp_path, "a", "b", client="Cline")
    path = recorded(tmp_path, "c", client="zed")
    store, reader = Store.open(path), Store.open_to_read(path)
    stories, ids = Stories(store), by_title(store)
    following = LiveStory(store, story_id(ids["a"]))
    following.read(60)
    assert titles(reader) == ["a b", "c"]
    with pytest.raises(TuiHostError, match=f"name the tap to part: {ids['a']}, {ids['b']}"):
        stories.part(story_id(ids["a"]))
    with pytest.raises(TuiHostError, match="by itself already"):
        stories.part(ids["c"])
    with pytest.raises(TuiHostError, match="there is no such session"):
        stories.join(ids["a"], "nothing")
    with pytest.raises(TuiHostError, match="the same tap"):
        stories.join(ids["c"], story_id(ids["c"]))

    joined = stories.join(story_id(ids["c"]), ids["b"])
    assert (joined.id, [tap.title for tap in joined.taps]) == (story_id(ids["a"]), ["a", "b", "c"])
    assert titles(reader) == ["a b c"]
    following._looked_for_taps = 0.0  # pyright: ignore[reportPrivateUsage] - a second later
    following.read(60)
    assert {record.capture for piece in following.updates for record in piece.records} == {*ids.values()}

    assert [tap.title for tap in stories.part(ids["a"]).taps] == ["a"]
    assert titles(reader) == ["a", "b c"]
    following._looked_for_taps = 0.0  # pyright: ignore[reportPrivateUsage]
    following.read(60)
    assert following.updates[-1].state.is_stale  # a screen begins anew
    delete_session(store, ids["a"])
    assert titles(reader) == ["b c"]
    assert not [row for row in store.read("SELECT tap, other FROM tap_links") if ids["a"] in row]
    reader.close()
    store.close()


def test_of_a_live_tap_the_capture_of_a_recorder_that_died_grows_no_more(tmp_path: Path) -> None:
    options = RecorderOptions(name="math", data_dir=str(tmp_path / "data"), began_ns=1, seed="a1")
    for earlier in range(2):
        tap = TapSession(options._replace(earlier=earlier), print)
        tap.look()
        tap.recorder.append(Record(wire="mcp", kind="frame", peer="math", data=b"{}", place=tap.place))
        tap.recorder.flush(5)
    with closing(Store.open(tmp_path / "data" / DATABASE)) as store:
        following = LiveStory(store, Stories(store).listed()[0].id)
        following.read(60)
        state = following.updates[-1].state
        assert (state.live, state.running) == (
            True,
            {store.sessions.names(store.sessions.list()[0].id, "captures")[-1]},
        )


def model(*hosts: str) -> str:
    return json.dumps({"kind": "llm", "speakers": [{"host": host, "agent": host} for host in hosts]})


def server(*clients: str) -> str:
    return json.dumps({"kind": "stdio", "clients": clients})


SDK = "the OpenAI SDK for Python"
OF_TWO = {"a": model("Claude Code"), "b": model("Cline"), "a1": server("claude-code"), "b1": server("Cline")}
PAIRS = (("a", "b"), ("a1", "b"), ("a", "b1"), ("a1", "b1"))
ALIKE = {"a": model(SDK), "a1": server("mcp"), "b": model(SDK), "b1": server("mcp")}
APART = {"a": model("Claude Code"), "b": server("Cline"), "c": server("mcp")}
THREE = {"a": model(SDK), "b": server("mcp"), "c": server("mcp")}
LATER = {"a": (0, 10), "b": (40, 50), "c": (41, 50)}


@pytest.mark.parametrize(
    ("facts", "links", "times", "stories"),
    [
        # One time: one story, unless they name different hosts.
        ({"a": model(SDK), "b": server("mcp"), "c": "{}"}, {}, {}, ["a b c"]),
        (OF_TWO, {}, {}, ["a a1", "b b1"]),
        ({**OF_TWO, "x": model(SDK), "y": server("mcp")}, {}, {}, ["a a1", "b b1", "x y"]),
        ({"a": server("claude-code"), "b": server("Cline"), "c": model("Claude Code", "Cline")}, {}, {}, ["a b c"]),
        ({"by hand": server("mcp-inspector"), "b": model("Cline")}, {}, {}, ["by hand", "b"]),
        # Other times: two stories, unless another tap overlaps both.
        (THREE, {}, {"a": (0, 10), "b": (11, 20), "c": (40, 50)}, ["a b", "c"]),
        (THREE, {}, {"a": (0, 10), "b": (11, 20), "c": (21, 50)}, ["a b c"]),
        (THREE, {}, {"a": (0, 50), "b": (11, 20), "c": (40, 50)}, ["a b c"]),
        # A server that several hosts use joins them, one that tells no host is of none.
        ({**OF_TWO, "z": server("claude-code", "Cline")}, {}, {}, ["a b a1 b1 z"]),
        ({**OF_TWO, "z": server("mcp")}, {}, {}, ["a a1", "b b1", "z"]),
        # What a person parts and joins.
        (ALIKE, {("a", "b"): False, ("a1", "b"): False, ("b", "b1"): False}, {}, ["a a1 b1", "b"]),
        (ALIKE, dict.fromkeys(PAIRS, False), {}, ["a a1", "b b1"]),
        (APART, {}, LATER, ["a", "b c"]),
        (APART, {("a", "c"): True, ("a", "b"): True}, LATER, ["a b c"]),
        ({**APART, "d": server("claude-code")}, {("a", "c"): True, ("b", "c"): False}, {}, ["a c d", "b"]),
    ],
)
def test_taps_are_one_story_by_time_by_hosts_and_by_hand(
    facts: Mapping[str, str], links: Links, times: Mapping[str, tuple[int, int]], stories: list[str]
) -> None:
    taps: list[TapStory] = []
    for number, (name, stated) in enumerate(facts.items()):
        began, ended = (second * 1_000_000_000 for second in times.get(name, (number, 90)))
        taps.append(story_of([SessionInfo(name, name, "tap", created_ns=began, updated_ns=ended, facts=stated)]))
    assert [" ".join(tap.id for tap in group.own) for group in grouped(taps, links)] == stories


SECRET = "wonderful-" * 4


def test_a_tap_writes_down_its_first_question_and_its_hosts_and_models_as_it_records() -> None:
    world, redactor = World(), Redactor([("KEY", SECRET)])
    tap, head = world.model(), Head(method="GET", url="https://api.example/v1/models")
    for number in range(40):
        tap.keep(Record(wire="llm", kind="request", peer="example", exchange=f"g{number}", direction="out", head=head))
    world.model().ask(FORMS["openai"], [User(f"what is {SECRET}?")], "Cline/3")
    facts, changes = TapFacts(), list[bool]()
    for _, record in world.records:
        facts = TapFacts(facts.text, redactor.text)  # a recorder that takes over
        changes.append(bool(facts.feed(record)))
    assert changes == [True, *[False] * 39, True]
    (speaker,) = facts.speakers
    assert (facts.kind, speaker.host, speaker.model) == ("llm", "Cline", "gpt-x")
    assert facts.question == "what is ⟨secret:KEY⟩?"


# What the chat of a story tells, as it goes on and whole.

OPENAI = FORMS["openai"]


def ends(status: int, body: bytes, ending: Ending, model: ModelTap, exchange: str) -> None:
    draft = Record(wire="llm", kind="response", peer="example", exchange=exchange)
    model.keep(replace(draft, head=Head(status=status, headers=(("content-type", "application/json"),))))
    if body:
        model.keep(replace(draft, kind="chunk", data=body))
    model.keep(replace(draft, kind=ending.kind, data=ending.to_bytes()))


CUT = b'{"choices": [{"message": {"content": "a"}, "finish_reason": "length"}]}'
EMPTY = b'{"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}'


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (ModelTap.refuse, "example answered 429: slow down"),
        (ModelTap.fail, "no answer came: cut by peer"),
        (partial(ends, 200, b"", Ending(reason="closed by host")), "the answer broke off: closed by host"),
        (partial(ends, 200, b'{"choices": [{"me', Ending(size=30, kept=17)), "of the answer 17 of 30 bytes are kept"),
        (partial(ends, 200, CUT, Ending()), "cut at the token limit"),
        (partial(ends, 200, EMPTY, Ending()), "an empty answer"),
    ],
)
def test_an_answer_that_did_not_come_is_told_in_its_own_words(end: Callable[[ModelTap, str], None], words: str) -> None:
    world = World()
    model = world.model()
    end(model, model.ask(OPENAI, [User("what is one and two?")]))
    assert [item.what for item in chat_of(world.story()) if isinstance(item, NoteItem)] == [words]


@pytest.mark.parametrize("says_which", [True, False])
def test_equal_calls_are_joined_by_order_and_say_so(*, says_which: bool) -> None:
    scene = Scene()
    math, calls = scene.server("math", "add"), [call("math__add", name) for name in ("c1", "c2")]
    scene.asks("one and two, twice", *calls)
    for one in calls:
        scene.world.now += 50 * MS
        identity, _ = math.call("add", one.arguments, meta={"claudecode/toolUseId": one.id} if says_which else {})
        scene.world.now += 50 * MS
        math.result(identity, "3")
    scene.goes_on("one and two, twice", calls, [(one, "3") for one in calls])
    story = scene.world.story()
    words = "approved by its host, not here" + " · maybe: by order" * (not says_which)
    assert {item.words for item in chat_of(story) if isinstance(item, CallItem)} == {words}
    ladder = Ladder("story")
    ladder.feed(story.clock.on_it(record) for _, record in scene.world.records)
    ladder.feed(link.record(9_000 + number, 0, 0) for number, link in enumerate(story.links()))
    sent = [row for row in ladder.rows if row.method == "tools/call" and row.outward]
    assert [row.maybe for row in sent] == [not says_which] * 2
    assert set(matching(ladder, "kind:maybe")) >= {row.number for row in sent if row.maybe}


# From where it begins.

CALL = Call("c1", "math__add", {"a": 1, "b": 2})
EARLIER = [User("first"), Answer("I look.", [CALL]), Results([(CALL, "3")]), Answer("It is three."), User("second")]
NOT_CAPTURED = "4 earlier messages were not captured: the request repeats them"
TOLD = [NOT_CAPTURED, "> first", "I look.", "math__add = 3", "It is three.", "> second"]


def words_of(item: Item) -> str:
    match item:
        case UserItem():
            return f"> {item.text}"
        case AnswerItem():
            return item.text.strip()
        case CallItem():
            return f"{item.tool} = {item.result}"
        case NoteItem():
            return item.what
        case _:
            return repr(item)


@pytest.mark.parametrize("name", ["openai", "anthropic", "gemini", "ollama", "cline", "cherry", "hermes"])
def test_a_conversation_in_the_middle_is_told_from_its_beginning(name: str) -> None:
    world = World()
    world.model().ask(form(name, ["math__add"]), EARLIER)
    items = chat_of(world.story())
    (item,) = (item for item in items if isinstance(item, CallItem))
    assert "3" in item.result  # of some forms with what is around it
    assert [words_of(item).replace(result, "3") for result in [item.result] for item in items] == TOLD
    assert (item.turn, item.step, item.words, item.state) == (1, 0, "told in the request", "done")


MORE = [*EARLIER, Answer("", [CALL]), Results([(CALL, "4")])]
FAILED = "example answered 404: slow down"


@pytest.mark.parametrize(
    ("steps", "words", "places"),
    [
        (  # it goes on as any other, and nothing is told again
            [
                (1, EARLIER, Answer("", [CALL])),
                (1, MORE, Answer("Four.")),
                (1, [*MORE, Answer("Four."), User("third")], Answer("Five.")),
            ],
            [*TOLD, "math__add = 4", "Four.", "> third", "Five."],
            [(1, 1), (1, 2), (2, 1)],
        ),
        (  # what was said while a tap did not run is told, and no more
            [
                (1, EARLIER[:1], Answer("I look.", [CALL])),
                (2, [*EARLIER, Answer("Yes."), User("third")], Answer("No.")),
            ],
            [*TOLD[1:4], NOT_CAPTURED, *TOLD[4:], "Yes.", "> third", "No."],
            [(1, 1), (2, 1)],
        ),
        (  # what fails in the same way several times is one line
            [(1, [User("hello")], status) for status in (*[404] * 42, 429, 404, Answer("Hello."))],
            ["> hello", f"{FAILED} (42 times)", "example answered 429: slow down", FAILED, "Hello."],
            [(1, 1)] * 45,
        ),
    ],
    ids=["goes on", "after a gap", "failures"],
)
def test_a_conversation_is_told_step_by_step(
    steps: Sequence[tuple[int, Sequence[Entry], Answer | int]], words: list[str], places: list[tuple[int, int]]
) -> None:
    world, chat, story = World(), Conversation(), Story()
    telling, taps = StoryChat(story, chat), {1: world.model(), 2: world.model()}

    def hear() -> None:
        world.now += 100 * MS
        for _, record in world.records:
            story.feed(record)
        world.records.clear()
        telling.tell()

    for tap, entries, answer in steps:
        exchange = taps[tap].ask(OPENAI, entries)
        hear()
        if isinstance(answer, Answer):
            list(taps[tap].answer(OPENAI, exchange, answer))
        else:
            taps[tap].refuse(exchange, answer)
        hear()
    assert list(map(words_of, chat)) == words
    assert [(exchange.turn, exchange.step) for exchange in story.conversations.exchanges.values()] == places


# From the disk.


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    keep_story(tmp_path)
    with closing(Store.open(tmp_path / "data" / DATABASE)) as opened:
        yield opened


def test_what_could_not_be_read_is_read_in_a_moment_and_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds, read = time.monotonic(), store.records
    monkeypatch.setattr(time, "monotonic", lambda: seconds)
    following = LiveStory(store, Stories(store).listed()[0].id)

    def breaks_off(*, capture: str, after: int = 0, until_seq: int | None = None) -> Iterator[Record]:
        yield from islice(read(capture=capture, after=after, until_seq=until_seq), 1 - min(after, 1))
        raise StoreError("the database cannot be read", str(store.path), "start again")

    monkeypatch.setattr(store, "records", breaks_off)
    with pytest.raises(StoreError):
        following.read(1)
    monkeypatch.setattr(store, "records", read)
    before, seconds = following.version, seconds + TAPS_SECONDS
    assert following.version != before, "nobody would ask again"
    following.read(1)
    records = [record for piece in following.updates for record in piece.records if record.kind != "link"]
    assert len({record.key for record in records}) == len(records)
    assert sum(b'"tools/call"' in record.data for record in records) == 1
    assert (following.updates[-1].state.is_whole, following.updates[-1].state.turns) == (True, 1)


def test_an_answer_whose_recorder_was_killed_is_cut_for_who_reads_and_who_follows(tmp_path: Path) -> None:
    tap = KeptModelTap(tmp_path, "example")
    pieces = tap.answer(FORMS["openai"], tap.ask(FORMS["openai"], [User("hello")]), Answer("It is three."))
    for _ in range(2):
        next(pieces)
    assert tap.kept.recording.close()  # without an end of the answer
    store = Store.open(tmp_path / "data" / "tui-host.db")
    following = LiveStory(store, whole_of(store).info.id)
    following.read(5)
    shown = [item for update in following.updates for _, item in update.items]
    for items in (shown, [item_from_text(text) for text in whole_of(store).session_items("")]):
        assert [item.state for item in items if isinstance(item, AnswerItem)][-1:] == ["cut"]
        assert "the recorder was killed" in str(items[-1])
    store.close()


def whole_of(store: Store, name: str = "last") -> WholeStory:
    story = Stories(store).find(name)
    assert isinstance(story, TapStory)
    return WholeStory(store, story)


def exported(store: Store, name: str = "last") -> bytes:
    whole = whole_of(store, name)
    return b"".join(FORMATS["jsonl"].export(whole, whole.info))


def test_a_story_is_taken_away_whole_with_its_calls_joined_and_comes_in_again(store: Store, tmp_path: Path) -> None:
    def records(name: str) -> set[tuple[str, int]]:
        head, *lines = map(json.loads, exported(store, name).splitlines())
        assert head["session"]["id"] == name
        return {(line["capture"], line["seq"]) for line in lines if line["kind"] != "link"}

    whole, before = whole_of(store), exported(store)
    assert (whole.info.title, whole.info.turns) == ("Cline: what is one and two? (tap llm example, tap stdio math)", 1)
    assert (whole.info.model, whole.info.protocol) == ("example/deepseek-chat", "cline")
    head, *lines = map(json.loads, before.splitlines())
    assert (head["session"]["id"], head["session"]["source"]) == (whole.info.id, "tap")
    carried = [line for line in lines if line["kind"] != "link"]
    wires = [line["wire"] for line in carried if line["kind"] in {"request", "frame"}]
    assert wires == [*["mcp"] * 4, "llm", "mcp", "mcp", "llm"]
    assert {(line.get("turn"), line.get("step")) for line in carried if line["wire"] == "llm"} == {(1, 1), (1, 2)}
    assert [line.get("step") for line in carried if "tools/call" in line.get("text", "")] == [1]
    links = [json.loads(line["text"]) for line in lines[len(carried) :]]
    joined = [(link["relation"], link["known"]) for link in links if link["call"]]
    # By capture, whose names tell the second in which they began.
    assert sorted(joined) == [("answered", "value"), ("asked", "id"), ("sent", "value"), ("told", "value")]
    assert [json.loads(text)["item"] for text in whole.session_items("")] == ["user", "answer", "call", "answer"]
    document = b"".join(FORMATS["markdown"].export(whole, whole.info)).decode()
    assert document.index("> what is one and two?") < document.index("tools/call") < document.index("> It is three.")
    halves = [records(tap.id) for tap in whole.taps]
    assert [{capture for capture, _ in half} for half in halves] == [{tap.id} for tap in whole.taps]
    assert records(whole.info.id) == halves[0] | halves[1]
    path = tmp_path / "story.jsonl"
    path.write_bytes(before)
    for _ in range(2):  # also where it is already
        brought = import_files(store, [path], Redactor()).id
        assert exported(store, brought) == before
        whole = whole_of(store, brought)
        assert ([tap.id for tap in whole.taps], len(whole.session_items(""))) == ([brought], 4)
        story = Stories(store).find(brought)
        assert isinstance(story, TapStory)
        importing = replace(story, taps=[replace(tap, live=True) for tap in story.taps])
        assert [reader.is_live for reader in readers_of(store, importing).values()] == [True] * 2, "it reads both"
