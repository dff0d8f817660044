"""What the chat of a story tells, as it goes on and whole."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import pytest

from tests.capture.ladder_wires import matching
from tests.infer.forms import FORMS, form
from tests.infer.kept import KeptModelTap, keep_story
from tests.infer.scene import Scene, call, chat_of
from tests.infer.world import MS, ModelTap, World
from tests.kit.bodies import Answer, Call, Entry, Results, User
from tui_host.capture.exports.formats import FORMATS
from tui_host.capture.http.exchange_end import Ending
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.record import Head, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import AnswerItem, CallItem, Conversation, Item, NoteItem, UserItem, item_from_text
from tui_host.errors import StoreError
from tui_host.infer.stories import Stories, TapStory
from tui_host.infer.story import Story
from tui_host.infer.story_chat import StoryChat
from tui_host.infer.story_reader import TAPS_SECONDS, LiveStory, WholeStory, readers_of
from tui_host.opening.importing import import_files
from tui_host.settings.paths import DATABASE

OPENAI = FORMS["openai"]


def ends(status: int, body: bytes, ending: Ending, model: ModelTap, exchange: str) -> None:
    """An answer that ends like this."""
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
def test_an_answer_that_did_not_come_is_told_in_the_words_of_who_refused_it(
    end: Callable[[ModelTap, str], None], words: str
) -> None:
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
    assert list(map(words_of, chat.items)) == words
    assert [(exchange.turn, exchange.step) for exchange in story.conversations.exchanges.values()] == places


# From the disk.


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    keep_story(tmp_path)
    store = Store.open(tmp_path / "data" / DATABASE)
    yield store
    store.close()


def test_what_could_not_be_read_is_read_in_a_moment_and_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds, read = time.monotonic(), store.records
    monkeypatch.setattr(time, "monotonic", lambda: seconds)
    following = LiveStory(store, Stories(store).listed()[0].id)

    def breaks_off(*, capture: str, after: int = 0, until_seq: int | None = None) -> Iterator[Record]:
        records = read(capture=capture, after=after, until_seq=until_seq)
        yield from islice(records, 1 - min(after, 1))
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
