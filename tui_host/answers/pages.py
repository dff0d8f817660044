"""The pages by name: those of a heading, and those of a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from tui_host.answers.bill_page import bill_page
from tui_host.answers.chain_page import chain_page
from tui_host.answers.changes_page import changes_page
from tui_host.answers.servers_page import servers_page
from tui_host.answers.time_page import time_page
from tui_host.answers.tools_page import tools_page

if TYPE_CHECKING:
    from tui_host.answers.section import Section
    from tui_host.answers.sheet import Sheet
    from tui_host.answers.steps import Steps
    from tui_host.answers.wires import Wires
    from tui_host.capture.ladder.row import Row

SectionPage: TypeAlias = "Callable[[Wires, Section], Steps[Sheet]]"
RowPage: TypeAlias = "Callable[[Wires, Row], Steps[Sheet]]"

SECTION_PAGES: Mapping[str, SectionPage] = MappingProxyType(
    {"Time": time_page, "Bill": bill_page, "Tools": tools_page, "Servers": servers_page}
)
"""The pages of a heading, in the order of their tabs."""

ROW_PAGES: Mapping[str, RowPage] = MappingProxyType({"Chain": chain_page, "Changes": changes_page})
"""The pages of a row that are answers."""
