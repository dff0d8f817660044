"""What is seen and written of a question before it is decided: all of it, nothing that acts, no secret, on every size."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.cases import first_values
from tests.tui.asking import (
    HOSTILE,
    KEY,
    LONG,
    SCHEMA,
    Alone,
    Asking,
    armed,
    decide,
    question,
    text,
    until_armed,
    until_said,
    verdict,
)
from tests.tui.still import still
from tests.tui.waiting import at_work, until
from tui_host.answers.masks import Mask
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.visible import hidden
from tui_host.chat.call_arguments import canonical
from tui_host.chat.policy import CallRequest
from tui_host.errors import JSON
from tui_host.servers.catalog import Tool
from tui_host.tui.glyphs import ASCII
from tui_host.tui.widgets.approval.approval_lines import Field
from tui_host.tui.widgets.approval.approval_panel import Approval
from tui_host.tui.widgets.approval.approval_words import call_row, description_of, hints_of
from tui_host.tui.widgets.approval.argument_edit import editable, misfits, read_edit
from tui_host.tui.widgets.approval.argument_lines import broken
from tui_host.tui.widgets.inspector.inspector_pane import Inspector


@pytest.mark.parametrize("size", first_values([(36, 9), (60, 20), (80, 24), (40, 12)]))
async def test_on_low_screens_arguments_and_keys_stay(size: tuple[int, int]) -> None:
    async with until_armed(Alone(question(description="words " * 200, arguments={"path": "/"})), size) as (app, _):
        assert "math.multiply" in text(app)
        assert '"path"' in text(app) or "more lines" in text(app)
        assert "y once" in text(app)
        assert app.approval.region.height <= size[1]


@pytest.mark.parametrize("size", [(60, 4), (24, 20), (30, 4)])
async def test_where_the_arguments_cannot_be_seen_nothing_can_be_approved(size: tuple[int, int]) -> None:
    asked = question()
    async with until_armed(Alone(asked)) as (app, pilot):
        await pilot.resize_terminal(*size)
        chat = app.query_one("#chat")
        await until(pilot, lambda: chat.size.width <= size[0] and chat.size.height <= size[1])  # some frames later
        await until_said(pilot, app, "Too small to approve.")
        await until(pilot, lambda: "enlarge or press n" in text(app))
        await decide(pilot, app, "y", "a", "Y", "A", "A")
        assert asked.open
        await decide(pilot, app, "n")
        assert verdict(asked) == "rejected"


async def test_a_string_with_line_breaks_is_shown_as_its_lines_behind_a_rule() -> None:
    code = 'def f():\n\treturn "C:\\new"\n"b": 6\n' + "word " * 30
    asked = question(arguments={"a": {"text": code}, "b": 5})
    async with until_armed(Alone(asked), (60, 30)) as (app, pilot):
        lines = [line[4:-4].rstrip() for line in text(app).splitlines() if line.startswith("│ │")]
        assert lines[2:6] == [
            '    "text": a string of 4 lines:',
            "      │ def f():",
            '      │ ␉   return "C:\\new"',
            '      │ "b": 6',
        ]
        assert [line[:8] for line in lines[6:10]] == ["      │ ", *["      · "] * 3]
        assert {word for line in lines[6:10] for word in line[8:].split()} == {"word"}
        await pilot.press("p")
        assert "\\\\new" in text(app)


@pytest.mark.parametrize("width", [26, 27, 28, 29, 30, 31])
def test_lines_are_broken_between_words_and_never_inside_an_escape(width: int) -> None:
    parts = [
        "plain words",
        '\\"',
        "\\u001b",
        "⟨202e⟩",
        "averyveryverylongwordthatfitsnoline",
        "中文也在这里一直写到末尾",
        "e\u0301",
    ]
    content = " ".join(parts * 20) + "".join(parts * 20)
    lines = list(broken(content, width))
    assert "".join(lines) == content
    assert max(cell_len(line.rstrip()) for line in lines) <= width
    for line in lines:
        assert not re.search(r"(?<!\\)\\(u[0-9a-f]{0,3})?$|⟨[0-9a-f]*$", line), line
    assert all(line.endswith(" ") for line in broken("some words of a sentence " * 9, width))


async def test_z_gives_the_approval_the_width_of_the_screen(tmp_path: Path) -> None:
    async with still(tmp_path, size=(120, 30)) as app:
        app.a_question()
        await app.until_shown("Approve 2 calls?", "ready", "z wider")
        approval, inspector = app.app.screen.query_one(Approval), app.app.screen.query_one(Inspector)
        widths: list[int] = []
        for _ in range(3):
            widths.append(approval.region.width)
            await app.press("z")
        assert widths[0] == widths[2] < widths[1] == 120
        await app.press("f2")
        assert inspector.region.width == 120


async def test_what_the_model_wrote_wrongly_is_marked() -> None:
    asked = question(misfits=["a: '6' is not of type 'number'", *"123"], numbers=[("1.0000000000000000001", "1.0")])
    async with until_armed(Asking(asked), (100, 30)) as (app, pilot):
        await until_said(pilot, app, "! the number 1.0000000000000000001 is sent as 1.0")
        await until_said(
            pilot, app, "! does not fit the tool's schema: a: '6' is not of type 'number'; 1; 2; and 1 more"
        )
        await decide(pilot, app, "e")
        app.query_one("#approval-edit", Field).load_text('{"a": 7, "b": 5}')
        await pilot.press("enter")
        await until_said(pilot, app, "edited: this will be sent")
        assert "schema" not in text(app)


async def test_every_hidden_character_is_seen_and_nothing_acts() -> None:
    asked = question(HOSTILE, {"command": HOSTILE, HOSTILE: 1}, description=HOSTILE, changed=HOSTILE)
    async with until_armed(Asking(asked), (120, 40)) as (app, pilot):
        for line in text(app).splitlines():
            assert not hidden(line), line
            assert line[0] in "╭│╰", line
        assert "⟨202e⟩" in text(app)
        assert "hidden characters, written as codes" in text(app)
        await pilot.press("p")
        assert not hidden(text(app).replace("\n", ""))
        await pilot.press("d")
        assert not hidden(text(app).replace("\n", ""))
        await pilot.press("d")
        await decide(pilot, app, "y")
        assert asked.decision is not None
        assert json.loads(asked.decision.arguments)["command"] == HOSTILE


async def test_the_description_can_be_read_whole_and_nothing_is_approved_from_there() -> None:
    asked = question(description="\n".join(f"sentence {number}" for number in range(300)))
    async with until_armed(Asking(asked), (100, 30)) as (app, pilot):
        await pilot.press("d", "end")
        assert "sentence 299" in text(app)
        await decide(pilot, app, "y")
        assert asked.open
        await decide(pilot, app, "y")
        assert not asked.open


async def test_a_question_answered_elsewhere_makes_room_and_new_ones_join() -> None:
    first, second, third = question(), question("add"), question("divide")
    async with until_armed(Asking(first, second)) as (app, pilot):
        first.approve()
        app.approval.take([first, second, third])
        await armed(pilot, app)
        assert "Approve 2 calls?" in text(app)
        assert "> math.add" in text(app)


async def test_ascii_marks_where_the_terminal_wants_them() -> None:
    async with until_armed(Asking(question(arguments=LONG), glyphs=ASCII)) as (app, _):
        assert text(app).isascii()


@pytest.mark.parametrize(
    ("annotations", "words_said"),
    [
        ((("readOnlyHint", True), ("openWorldHint", True)), "read-only, reaches outside"),
        ((("readOnlyHint", False), ("destructiveHint", True)), "may change things, may destroy data"),
        ((("readOnlyHint", "yes"),), ""),
    ],
    ids=["outside", "destroys", "nonsense"],
)
def test_hints_are_a_claim_and_stand_where_there_is_room(
    annotations: Sequence[tuple[str, JSON]], words_said: str
) -> None:
    tool = Tool(
        server="math", name="multiply", description="Multiplies.", schema=SCHEMA, annotations=tuple(annotations)
    )
    request = CallRequest(call="c", tool=tool, arguments=b"{}")
    claim = f"server claims: {words_said}" if words_said else ""
    assert hints_of(tool) == claim
    assert call_row(tool, 80, "…", is_current=True).split("multiply")[1].strip() == claim
    assert call_row(tool, 16, "…", is_current=True) == "> math.multiply"
    assert description_of(request, hints_of(tool)).splitlines()[:-1] == ([claim] if claim else [])


async def test_a_secret_in_arguments_or_description_is_marked_and_what_is_approved_holds_it() -> None:
    asked = question(arguments={"a": KEY}, description=f"Send {KEY}.")
    other = question("add", {"b": KEY})
    async with until_armed(Asking(asked, other), (100, 40)) as (app, pilot):
        assert KEY not in text(app)
        assert '"a": "••• KEY (15)"' in text(app)
        assert "the arguments contain a secret of yours" in text(app)
        assert "Send ••• KEY (15)." in text(app)
        await decide(pilot, app, "y")
        assert asked.decision is not None
        assert KEY in asked.decision.arguments.decode()


async def test_a_secret_is_not_halved_where_a_description_is_cut() -> None:
    async with until_armed(Asking(question(description=f"{'x' * 8 * 60}{KEY} end")), (100, 40)) as (app, _):
        assert "hunter" not in text(app).replace("\n", "")


# Editing, reasons, and what does not fit.


async def test_an_edit_is_shown_as_it_will_be_sent_and_asked_again() -> None:
    asked = question()
    async with at_work(Asking(asked), (100, 34)) as (app, pilot):
        await decide(pilot, app, "e")
        field = app.query_one("#approval-edit", Field)
        assert field.has_focus
        assert field.cursor_location == (1, len('  "a": '))
        await pilot.press("y", "enter")
        assert "not JSON" in " ".join(text(app).split())
        field.load_text('{"a": "six"}')
        await pilot.press("enter")
        assert "b is missing" in text(app)
        assert "a must be number" in text(app)
        assert asked.open
        field.load_text('{"a": 7,\n "b": 5}')
        await until_said(pilot, app, "press enter to check again")
        await pilot.press("enter")
        assert asked.open
        assert "edited: this will be sent" in text(app)
        assert '"a": 7' in text(app)
        await decide(pilot, app, "y")
        assert asked.decision is not None
        assert (asked.decision.verdict, asked.decision.arguments) == ("edited", b'{"a":7,"b":5}')


async def test_a_reason_is_told_and_letters_in_it_decide_nothing() -> None:
    first, second = question(), question("add")
    async with at_work(Asking(first, second), (100, 30)) as (app, pilot):
        await decide(pilot, app, "r")
        await pilot.press(*"nay", "enter")
        assert first.decision is not None
        assert (first.decision.verdict, first.decision.reason, first.decision.stop) == ("rejected", "nay", False)
        assert second.open
        await armed(pilot, app)
        assert app.approval.has_focus


@pytest.mark.parametrize(
    ("value", "complaints"),
    [
        ({"a": 1, "b": 2}, []),
        ({"a": True, "unit": "km"}, ["b is missing", "a must be number"]),
        ({"a": 1, "b": 2, "unit": "mile"}, ['unit must be one of ["m", "km"]']),
        ({"a": 1, "b": 2, "x": 2}, ["the tool has no argument x"]),
    ],
)
def test_what_does_not_fit_the_schema_is_named(value: Mapping[str, JSON], complaints: list[str]) -> None:
    assert isinstance(SCHEMA, dict)
    assert misfits(value, {**SCHEMA, "additionalProperties": False}) == complaints


async def test_an_edit_shows_marks_and_what_is_sent_has_the_values_where_they_were_left() -> None:
    fake = "⟨secret:KEY⟩"
    asked = question(arguments={"a": KEY, "b": fake})
    async with until_armed(Asking(asked), (100, 40)) as (app, pilot):
        assert '"a": "••• KEY (15)"' in text(app)
        assert f'"b": "{fake}"' in text(app)
        await decide(pilot, app, "e")
        field = app.query_one("#approval-edit", Field)
        assert KEY not in field.text
        assert '"a": "⟨secret:KEY#2⟩"' in field.text
        await until_said(
            pilot, app, "⟨secret:KEY#2⟩: stands for a secret of yours; its value is sent in place of the mark"
        )
        field.load_text('{"a": 1, "b": ⟨secret:KEY#2⟩}')
        await pilot.press("enter")
        await until_said(pilot, app, "not JSON")
        assert "hunter2" not in text(app)
        field.load_text(f'{{"a": 7, "b": 5, "note": "Bearer ⟨secret:KEY#2⟩", "fake": "{fake}"}}')
        await pilot.press("enter")
        await until_said(pilot, app, '"note": "Bearer ••• KEY (15)"')
        await until_said(pilot, app, "its real value would be sent")
        assert "hunter2" not in text(app)
        await decide(pilot, app, "y")
        assert asked.decision is not None
        sent: JSON = {"a": 7, "b": 5, "note": f"Bearer {KEY}", "fake": fake}
        assert asked.decision.arguments == canonical(sent)


@pytest.mark.parametrize("secret", ['quo"te\\zero\u200bwidth-wörter', "12345678"])
def test_marks_left_in_place_give_back_the_same_arguments(secret: str) -> None:
    mask = Mask(lambda: Redactor([("S", secret)]))
    arguments = canonical(
        {"a": secret, "b": int(secret) if secret.isdigit() else 1, "c": f"x{secret}y", "⟨secret:S⟩": HOSTILE}
    )
    shown = editable(arguments, mask)
    assert secret not in shown.text
    assert not hidden(shown.text)
    assert shown.values
    assert read_edit(shown.text, None, shown.values) == arguments
