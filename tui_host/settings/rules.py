"""Reads the rules of config.toml and rules.toml, and writes the second: the app saves there what a person allows for good."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from tui_host.settings.mistakes import Report, nearest, shown
from tui_host.settings.paths import ensure_private_dir
from tui_host.settings.save import write_toml
from tui_host.settings.schema import Rule
from tui_host.settings.table_reader import SettingsTable, line_of, shown_path
from tui_host.settings.tables import matches

RULES_FILE = "rules.toml"


def all_rules(config: SettingsTable, saved: SettingsTable, servers: Sequence[str]) -> tuple[Rule, ...]:
    """Return the rules of the user's own file, then those saved by the app for other tools; an idle one is noticed."""
    rules = _rules_of(config, ())
    rules += _rules_of(saved, rules)
    for rule in rules:
        # A `deny` with a typing mistake would protect nothing.
        if not any(matches(name, rule.server) for name in servers):
            words = f"the rule for {shown(rule.server)}.{shown(rule.tool)} matches no server"
            config.report.notices.append(f"{rule.where}: {words}; {nearest(rule.server, servers)}")
    return tuple(rules)


def _rules_of(table: SettingsTable, before: Collection[Rule]) -> list[Rule]:
    rules, decided = list[Rule](), {(rule.server, rule.tool) for rule in before}
    for entry in table.array("rules"):
        rule = entry.read(Rule(where=table.file, line=line_of(table.source, entry.path)))
        for key in ("server", "tool", "action"):
            if not entry.data.get(key):
                entry.mistake(key, "missing", "write server, tool and action; * stands for any characters")
        if (rule.server, rule.tool) not in decided:
            rules.append(rule)
    return rules


def change_rule(folder: Path, rules: Sequence[Rule], rule: Rule, *, is_kept: bool) -> list[Rule]:
    """Write a rule into rules.toml, in place of one for an older definition, or take it out. Blocks on the disk.

    Returns all rules: of `rules` those of config.toml, then those that stand in rules.toml now.
    """
    path, report = folder / RULES_FILE, Report()
    table = SettingsTable.open(path, report)
    row = {key: str(getattr(rule, key)) for key in ("server", "tool", "action", "definition")}
    kept: list[object] = []
    for entry in table.array("rules"):
        is_bound = bool(is_kept and entry.data.get("definition"))
        if any(entry.data.get(key, "") != value for key, value in row.items() if key != "definition" or not is_bound):
            kept.append(entry.data)
    report.raise_if_any()
    if is_kept:
        kept.append(row)
    if not folder.exists():
        ensure_private_dir(folder)
    write_toml(path, {**table.data, "rules": kept})
    own = [rule for rule in rules if rule.where != shown_path(path)]
    return own + _rules_of(SettingsTable.open(path, report), own)
