"""Taps of the tests' world that record into a database, as real ones do."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from typing_extensions import override

from tests.infer.forms import FORMS
from tests.infer.world import ModelTap, ServerTap, World
from tests.kit.bodies import Answer, Call, Results, User
from tui_host.capture.record import Record
from tui_host.infer.tap_facts import TapFacts
from tui_host.tap.session import RecorderOptions, TapSession


class Recorded:
    """What makes a tap of the tests' world one that records into a database, by so many nanoseconds later than it is."""

    def __init__(self, folder: Path, title: str) -> None:
        self.ahead_ns = 0

        def learn(text: str) -> Callable[[Record], str]:
            return TapFacts(text).feed

        self.recording = TapSession(RecorderOptions(name=title, data_dir=str(folder / "data"), learn=learn), print)
        self.recording.look()

    def keep(self, draft: Record) -> int:
        recorder = self.recording.recorder
        seq = recorder.append(replace(draft, place=self.recording.place), recorder.now() + self.ahead_ns)
        recorder.flush(5)
        self.recording.look()  # writes what is learned of the host
        return seq


class KeptModelTap(ModelTap):
    def __init__(self, folder: Path, title: str) -> None:
        super().__init__(World(), title)
        self.kept = Recorded(folder, title)

    @override
    def keep(self, draft: Record) -> int:
        return self.kept.keep(draft)


class KeptServerTap(ServerTap):
    def __init__(self, folder: Path, title: str) -> None:
        super().__init__(World(), title, title)
        self.kept = Recorded(folder, title)

    @override
    def keep(self, draft: Record) -> int:
        return self.kept.keep(draft)


def keep_story(folder: Path) -> None:
    """Two taps of one host: a turn of two steps, and the call between them."""
    form, call = FORMS["cline"], Call("", "math__add", {"a": 1, "b": 2})
    asked = [User("what is one and two?")]
    model, math = KeptModelTap(folder, "example"), KeptServerTap(folder, "math")
    math.start(["add"], client="Cline")
    list(model.answer(form, model.ask(form, asked), Answer("", [call])))
    math.result(math.call("add", call.arguments)[0], "3")
    second = model.ask(form, [*asked, Answer("", [call]), Results([(call, "3")])])
    list(model.answer(form, second, Answer("It is three.")))
    assert model.kept.recording.close()
    assert math.kept.recording.close()
