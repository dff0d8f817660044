"""A small terminal for tests: reads what a program writes, keeps its screen and its modes, and every sequence it saw."""

import codecs
import re
import unicodedata
from dataclasses import dataclass, field

_SEQUENCE = re.compile(
    r"\x1b\[(?P<csi>[0-?]*[ -/]*[@-~])"
    r"|\x1b\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|\x1b[PX^_](?P<string>[^\x1b]*)\x1b\\"
    r"|\x1b(?P<escape>[ -/]*[0-Z\\`-~])"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f-\x9f])"
    r"|(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
)
_COVERED = "\0"
"""The second cell of a wide character."""


@dataclass(slots=True)
class Screen:
    """What a person would see, and what a terminal would have done; `sequences` are all that is not text, as `csi:2J`, `control:07`."""

    columns: int
    lines: int
    modes: set[int] = field(default_factory=lambda: {7, 25})  # the private ones that are set
    keyboard: int = 0  # how many of kitty's protocols are pushed
    sequences: list[str] = field(default_factory=list[str])
    _rest: str = ""
    _row: int = 0
    _column: int = 0
    _cells: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    _shown: str | None = None
    _decoder: codecs.IncrementalDecoder = field(default_factory=codecs.getincrementaldecoder("utf-8"))

    def feed(self, data: bytes) -> None:
        self._shown = None
        text = self._rest + self._decoder.decode(data)
        place = 0
        while place < len(text):
            match = _SEQUENCE.match(text, place)
            if match is None:
                break
            place = match.end()
            kind = match.lastgroup
            assert kind is not None
            self._take(kind, match[kind])
        self._rest = text[place:]

    @property
    def text(self) -> str:
        """All lines, trailing blanks left out."""
        if self._shown is None:
            rows = [["" for _ in range(self.columns)] for _ in range(self.lines)]
            for (row, column), cell in self._cells.items():
                if row < self.lines and column < self.columns:
                    rows[row][column] = cell
            lines = ("".join(cell or " " for cell in row).replace(_COVERED, "").rstrip() for row in rows)
            self._shown = "\n".join(lines)
        return self._shown

    @property
    def before_cursor(self) -> str:
        return "".join(self._cells.get((self._row, column), " ") for column in range(self._column))

    @property
    def unfinished(self) -> str:
        return self._rest

    def resize(self, columns: int, lines: int) -> None:
        self.columns, self.lines = columns, lines
        self._cells.clear()
        self._shown = None

    def _take(self, kind: str, value: str) -> None:
        if kind == "text":
            self._write(value)
            return
        if kind == "control":
            if value == "\n":
                self._row = min(self._row + 1, self.lines - 1)
            elif value == "\r":
                self._column = 0
            self.sequences.append(f"control:{ord(value):02x}")
            return
        self.sequences.append(f"{kind}:{value}")
        if kind == "csi":
            self._obey(value)

    def _write(self, text: str) -> None:
        for character in text:
            if unicodedata.combining(character) or unicodedata.category(character) == "Cf":
                continue
            self._cells[self._row, self._column] = character
            wide = unicodedata.east_asian_width(character) in "WF"
            if wide:
                self._cells[self._row, self._column + 1] = _COVERED
            self._column += 2 if wide else 1

    def _obey(self, sequence: str) -> None:
        final = sequence[-1]
        mode = re.compile(r"\?([0-9;]+)([hl])").fullmatch(sequence)
        if mode is not None:
            for number in map(int, mode[1].split(";")):
                if mode[2] == "h":
                    self.modes.add(number)
                else:
                    self.modes.discard(number)
                if number == 1049:
                    self._cells.clear()
        elif final == "H":
            row, _, column = sequence[:-1].partition(";")
            self._row, self._column = int(row or 1) - 1, int(column or 1) - 1
        elif final == "u" and sequence[0] in "<>":
            self.keyboard += 1 if sequence[0] == ">" else -1
        elif final == "J":
            self._cells.clear()
