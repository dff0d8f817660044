"""The transcript: what each item looks like, what opens, what stays still."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.kit.app import Running
from tests.tui.selecting import Chat, screen
from tests.tui.still import a_call
from tests.tui.waiting import at_work, until
from tui_host.capture.visible import hidden
from tui_host.chat.conversation import AnswerItem, Conversation, Item, NoteItem, SummaryItem, UserItem
from tui_host.tui.widgets.transcript.items import Items
from tui_host.tui.widgets.transcript.transcript_view import Transcript

MULTIPLY = replace(
    a_call(state="done", decision="approved", by="person", words="approved once, by you, after 2.5 s", result="30"),
    asked='{"a": 6, "b": 5}',
    waited=2.5,
    milliseconds=12.3,
)
TURN: Sequence[Item] = (
    UserItem(turn=1, text="what's 6 × 5?"),
    AnswerItem(turn=1, step=1, state="done"),
    MULTIPLY,
    AnswerItem(turn=1, step=2, text="6 × 5 = **30**", thinking="t" * 312, state="done"),
    SummaryItem(turn=1, steps=2, calls=1, seconds=3.62, tokens_in=612, tokens_out=85, tokens_cached=64),
)

HOSTILE = "\x1b[2J\x1b]52;c;eA==\x07 \x9b2J \u202egnirts [@click=app.quit]x[/] \u200b"
FOREIGN: Sequence[Item] = (
    UserItem(turn=1, text=HOSTILE),
    AnswerItem(turn=1, step=1, text=f"{HOSTILE}\n```\n{HOSTILE}\n```", thinking=HOSTILE, state="done"),
    replace(a_call(state="failed", result=f"{HOSTILE}\n│ Approve? y/n", words=HOSTILE, progress=HOSTILE, sent=HOSTILE),
        tool=HOSTILE, asked=HOSTILE),
    NoteItem(turn=1, kind="error", what=HOSTILE, where=HOSTILE, remedy=HOSTILE),
    NoteItem(turn=1, kind="note", what=HOSTILE),
)  # fmt: skip


def shown(view: Transcript) -> str:
    return "\n".join(screen(view)).strip("\n")


@pytest.mark.parametrize(
    ("changes", "first", "others"),
    [
        ({"state": "waiting", "words": ""}, '◐ math.multiply {"a":6,"b":5} waiting for you', []),
        ({"state": "running", "progress": "3/10 loading"}, '◐ math.multiply {"a":6,"b":5} 3/10 loading', None),
        ({"state": "failed", "result": "boom"}, '✗ math.multiply {"a":6,"b":5} failed: boom', None),
        ({"tool": "查\x1b询\n"}, """✓ math.'查␛询␊' {"a":6,"b":5} 30""", None),  # nobody has to decide any more
        ({"tool": "multіply", "state": "waiting"}, """◐ math.'mult\\u0456ply' {"a":6,"b":5} waiting for you""", None),
        ({"decision": "edited", "words": ""}, '✓ math.multiply {"a":6,"b":5} 30', ['the model asked {"a": 6, "b": 5}', "ran 12 ms"]),
        ({}, '✓ math.multiply {"a":6,"b":5} 30', ["approved once · you 2.5 s · ran 12 ms"]),
        (
            {"words": "session rule", "waited": 0.0, "contents": "image/png, 2 kB\naudio/wav, 3 kB"},
            '✓ math.multiply {"a":6,"b":5} 30',
            ["session rule · ran 12 ms", "image/png, 2 kB · audio/wav, 3 kB"],
        ),
        (
            {"misfits": "a: '6' is not of type 'number'\n'b' is a required property", "words": ""},
            '✓ math.multiply {"a":6,"b":5} 30',
            ["! does not fit the tool's schema: a: '6' is not of type …", "ran 12 ms"],
        ),
    ],
)  # fmt: skip
def test_a_call_says_its_state_who_decided_and_what_is_wrong_with_it(
    changes: dict[str, str | float], first: str, others: list[str] | None
) -> None:
    items = Items(Conversation([replace(MULTIPLY, **changes)]), str)
    items.width = 60
    lines = [" ".join(line.strip.text.split()) for part in items.parts(0) for line in part.lines]
    assert lines[0] == first
    assert others is None or lines[1:] == others


async def test_enter_and_clicks_open_and_close_items_and_nothing_foreign_leaves_its_place() -> None:
    async with at_work(Chat(Conversation(TURN)), (60, 24)) as (app, pilot):
        closed = screen(app.view)
        row = next(y for y, line in enumerate(closed) if "thinking" in line)
        await pilot.click(app.view, offset=(5, row))
        assert " │ ttttt" in shown(app.view)
        assert "enter closes" in shown(app.view)
        await pilot.click(app.view, offset=(5, row))
        assert "tttttt" not in shown(app.view)
        assert app.view.current_source()[1] == "6 × 5 = **30**"
        app.view.focus()
        await pilot.press("g")
        assert app.view.current_source()[1] == "what's 6 × 5?"
        await pilot.press("j", "enter")
        assert app.view.current_source()[1] == 'math.multiply {"a":6,"b":5}\napproved once, by you, after 2.5 s\n30'
        text = shown(app.view)
        assert '   │ arguments\n   │ {\n   │   "a": 6,\n   │   "b": 5\n   │ }\n   │ result\n   │ 30' in text
        assert "> ✓ math.multiply" in text or ">✓ math.multiply" in text
        await pilot.press("enter", "G")
        assert [line.lstrip(" >") for line in screen(app.view)] == [line.lstrip(" >") for line in closed]
        await pilot.resize_terminal(50, 60)
        app.view.show(Conversation(FOREIGN))
        for number in range(len(FOREIGN)):
            app.view.toggle(number)
        await pilot.pause()
        assert "Approve? y/n" in shown(app.view)
        for line in screen(app.view):
            assert not hidden(line), line
            assert line[:1] in {"", " ", "▌", ">"}, line


async def test_an_answer_is_followed_until_the_reader_moves_and_what_is_read_stays_in_its_place() -> None:
    conversation = Conversation([])
    async with at_work(Chat(conversation), (40, 12)) as (app, pilot):
        app.view.focus()
        conversation.add(UserItem(turn=1, text="hello"))
        app.view.sync()
        await pilot.press("1")
        assert shown(app.view) == "▌hello"
        assert not app.picked
        number = conversation.add(AnswerItem(turn=1, step=1))
        text, still = "", list[str]()
        for paragraph in range(60):
            text += f"paragraph {paragraph}\n\n"
            conversation.put(number, AnswerItem(turn=1, step=1, text=text), keep=False)
            app.view.sync()
            await pilot.pause()
            assert f"paragraph {paragraph}" in shown(app.view) or screen(app.view) == still
            if paragraph == 29:
                await pilot.press("pageup", "pageup")
                still = screen(app.view)
        assert screen(app.view) == still
        assert app.view.new_below == 60, "a paragraph and the empty line before it"
        await pilot.press("G")
        await until(pilot, lambda: "paragraph 59" in shown(app.view))
        assert app.view.new_below == 0
        items: list[Item] = []
        for n in range(1, 151):
            text = f"answer {n}\n\n" + "some words " * (n % 40)
            items += [UserItem(turn=n, text=f"question {n}"), AnswerItem(turn=n, step=1, text=text, state="done")]
        app.view.show(Conversation(items))
        await pilot.pause()
        for _ in range(60):
            before = screen(app.view)
            app.view.scroll_to(y=app.view.scroll_offset.y - 3, animate=False)
            await pilot.pause()
            assert screen(app.view)[3:] == before[:-3], "nothing jumps"
        app.view.scroll_to(y=app.view.scroll_offset.y // 2, animate=False)
        await pilot.pause()
        top = next(line for line in screen(app.view) if "question" in line or "answer" in line)
        for size in ((34, 30), (1, 1), (60, 20)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda size=size: size[0] == 1 or top in shown(app.view))


async def test_the_values_of_an_answer_lead_to_their_results_or_are_from_nowhere(app: Running) -> None:
    async def values(*shown: str) -> None:
        await app.until_idle()
        app.transcript.focus()
        await app.reach("o", *shown)
        await app.press("enter")

    await app.until_ready()
    await app.send('call math.multiply {"a": 6, "b": 5}')
    await app.decide("y")
    await values("Values of the answer in turn 1, step 2", "> 30  from math.multiply (math #")
    await app.until_shown("[Frame]", '"text": "30"')
    await app.until(lambda: app.focused in app.inspector.details[0].walk_children())
    app.prompt.focus()
    await app.send("hello")
    await values("Values of the answer in turn 2, step 1", "from nowhere")
    await app.until_shown("No result holds it")
