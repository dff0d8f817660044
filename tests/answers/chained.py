"""The steps of a call's chain, read from records."""

from collections.abc import Iterable, Sequence

from tui_host.answers.chain_page import CallStep, ChainReader
from tui_host.answers.wires import RecordedWires
from tui_host.capture.record import Record


def steps_of(call: str, records: Iterable[Record]) -> Sequence[CallStep]:
    chain = ChainReader(RecordedWires(records), call).chain()
    return [step for step in chain.steps if step.target is not None] if chain is not None else []
