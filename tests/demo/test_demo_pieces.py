"""The pieces in which an answer is sent, and the estimate of tokens."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tui_host.demo.model.plan import AskedCall, CallBegun, CallEnded, Fragment, Plan, Said, Thought, pieces


@settings(max_examples=15)
@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_the_pieces_of_a_plan_are_the_plan(thinking: str, text: str, arguments: list[str]) -> None:
    calls = tuple(AskedCall(name=f"tool{index}", arguments=given) for index, given in enumerate(arguments))
    said, ended = pieces(Plan(thinking=thinking, text=text, calls=calls))
    assert "".join(piece.text for piece in said if isinstance(piece, Thought)) == thinking
    assert "".join(piece.text for piece in said if isinstance(piece, Said)) == text
    assert [piece.name for piece in said if isinstance(piece, CallBegun)] == [call.name for call in calls]
    for index, call in enumerate(calls):
        fragments = [piece.text for piece in said if isinstance(piece, Fragment) and piece.index == index]
        assert "".join(fragments) == call.arguments
    assert [piece.arguments for piece in said if isinstance(piece, CallEnded)] == arguments
    assert ended.stop == ("calls" if calls else "end")


def test_a_limit_of_tokens_cuts_wherever_it_falls() -> None:
    plan = Plan(text="a sentence of several words", calls=(AskedCall(name="math__add", arguments='{"a":1,"b":2}'),))
    complete, _ = pieces(plan)
    for most in range(1, 20):
        said, ended = pieces(plan, most)
        assert said == complete[: len(said)]
        assert ended.tokens <= most
        assert ended.stop == ("calls" if len(said) == len(complete) else "length")
