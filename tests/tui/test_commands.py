"""What commands of the prompt show in the inspector: a filtered list, and any tab of a row, by the names that pages print."""

from pathlib import Path

from tests.cases import some
from tests.kit.app import WIDE
from tests.tui.still import still
from tui_host.tui.widgets.inspector.inspector_pane import FilterInput

STATION = b'{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"station GZ-7741-K"}]}}'


async def test_a_filter_selects_its_first_row_finds_identifiers_in_bodies_and_n_goes_on(tmp_path: Path) -> None:
    async with still(tmp_path, size=WIDE) as app:
        app.a_whole_turn()
        app.wires.frame(STATION, 5.0, direction="in")
        app.wires.decision(5.1, call="1.2.1", tool="gz-7741-k")
        await app.until_shown("station GZ-7741-K")
        ladder, rows = app.inspector.ladder, app.inspector_source.ladder.rows
        await app.send("/filter tool:multiply", "5 of", "esc clears")
        kept = [row.number for row in rows if "s.1.1.1" in row.calls]
        assert (app.focused, ladder.selected_number) == (ladder, kept[0])
        for number in (*kept[1:], kept[-1]):  # each, also the call, which deserves no look
            await app.press("n")
            assert ladder.selected_number == number
        await app.until_shown("This is the last match of the filter.")
        await app.reach("enter", ">[Parts]")
        await app.press("escape", "escape")
        await app.send("/filter GZ-7741-K", "2 of")
        assert some(ladder.selected).kind == "frame"
        await app.press("escape", "escape", "f2", "f2")
        await app.send("/filter size>", "size> needs a number such as 10k")
        assert app.main.arrangement == "both"
        await app.press("escape", "escape")
        await app.send("/filter", "13 of 13")  # the last one, to be written anew
        assert isinstance(app.focused, FilterInput)


async def test_a_tab_of_the_details_is_a_command_that_takes_names_of_requests_frames_and_calls(tmp_path: Path) -> None:
    async with still(tmp_path, size=WIDE) as app:
        app.a_whole_turn()
        await app.until_shown("6 × 5 = 30")
        selected, relative = app.inspector.details
        for command, shown in {
            "/headers LLM 1": "LLM 1 request",
            "/raw llm:2": "LLM 2 request",
            "/events 2": "LLM 2 request",
            "/frame math #4": "math #4 tools/call",
            "/frame s.1.1.1": "math #4 tools/call",
            "/parts s.1.1.1": "LLM 1 response",
            "/decision multiply": "decision",
            "/headers": "LLM 2 response",
        }.items():
            tab = command[1:].partition(" ")[0].title()
            await app.send(command, f"[{tab}]", shown)
            await app.until(lambda tab=tab: (selected.tab, app.focused) == (tab, selected.view))
            await app.press("escape")
            if command == "/headers LLM 1":
                assert (relative.tab, relative.row) == ("Headers", app.inspector_source.ladder.rows[5])
        for command, told in {
            "/headers math #4": "math #4 has no Headers (it has Frame, Raw, Chain)",
            "/frame LLM 9": "has no request LLM 9 (its requests are LLM 1 to LLM 2)",
            "/raw add": "has no call add (its calls are s.1.1.1)",
        }.items():
            await app.send(command)
            await app.until_told(told)
