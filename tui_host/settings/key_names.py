"""The names of the app's actions and their default keys, by the places where they work; `[keys]` gives an action other keys."""

from __future__ import annotations

import re

from tui_host.settings.mistakes import shown
from tui_host.settings.table_reader import SettingsTable, is_array

# They stand here, since the settings are read before Textual is imported; the app's bindings are made of them.
_TABLE = """
everywhere | help=f1 inspector=f2 servers=f3 model=f4 sessions=f5 new=ctrl+n request=ctrl+o again=ctrl+r editor=ctrl+g
everywhere | copy=ctrl+c palette=ctrl+p quit=ctrl+q profile= look= time= bill= tools= edit= branch= login= reload=
everywhere | rules= code= theme= suspend= servers_page=
prompt     | step=ctrl+enter,alt+enter clear=ctrl+u paste=ctrl+v open_paste=ctrl+t
approval   | approve=y,a approve_all=Y approve_tool=A approve_for_good=k edit_arguments=e reject=n reject_because=r
approval   | raw=p about=d
question   | decline=ctrl+d
login      | open_page=o decline=ctrl+d
chat       | fork=f previous_branch=left_square_bracket next_branch=right_square_bracket contents=v values=o
chat       | copy_code=c filter=slash
inspector  | filter=slash next=n previous=N chain=c changes=d export=x signs=question_mark mark=m note=M join=J zoom=z
inspector  | split=vertical_line row=o bytes=r path=p by_size=b
inspector  | previous_heading=left_square_bracket,ctrl+pageup next_heading=right_square_bracket,ctrl+pagedown
request    | changes=d without=w filter=slash row=o bytes=r path=p by_size=b
servers    | reconnect=r switch=o switch_for_good=O instructions=i try=t filter=slash by_size=b
sessions   | export_session=ctrl+s join_tap=ctrl+l remove=delete
rules      | keep_rule=k take_back=delete by_size=b
contents   | view=v save=s open_saved=o by_size=b
"""
PLACES: dict[str, dict[str, str]] = {}
for _place, _, *_actions in (_row.split() for _row in _TABLE.strip().splitlines()):
    for _name, _, _keys in (_action.partition("=") for _action in _actions):
        PLACES.setdefault(_place, {})[_name] = _keys
DEFAULT_KEYS = {name: keys for names in PLACES.values() for name, keys in names.items()}
_TYPED = {"everywhere", "prompt", "question", "sessions"}  # where letters are text
# Patterns, compiled where there is something to check.
_FREE = r"(.*\+)?f\d+|(shift\+)?(alt|ctrl|hyper|meta|super)\+.*"  # keys that are no text
_MOVING = r"up|down|left|right|page(up|down)|home|end|(shift\+)?tab|enter|escape|space|backspace|\d"
# To a terminal the last are tab, new line, enter, escape, and how its own answers begin.
_FIXED = rf"{_MOVING}|ctrl\+([ijm]|left_square_bracket)|alt\+([OPX]|(left|right)_square_bracket)"
_OF_LISTS = r"[hjklgG]|plus|minus"
_KNOWN = rf"{_MOVING}|f([1-9]|1\d|2[0-4])|insert|delete|\w"
_MODIFIERS = {"alt", "ctrl", "hyper", "meta", "shift", "super"}
_RENAMED = {"solidus": "slash", "reverse_solidus": "backslash", "commercial_at": "at", "hyphen_minus": "minus"}
_RENAMED.update(plus_sign="plus", low_line="underscore")


def read_keys(table: SettingsTable) -> dict[str, str]:
    """Return the keys, joined by commas, of each action that the table names; those of two actions that clash stay."""
    chosen, clashes = dict[str, str](), dict[str, str]()
    for name, value in table.data.items():
        texts = [table.text(name, text) for text in (value if is_array(value) else [value])]
        keys = {text: _key_of(text) for text in texts if text is not None}
        places = {place for place, names in PLACES.items() if name in names}
        wrong = None if texts else ("no key", "write one, or remove the line")
        for text, key in keys.items():
            if not key:
                wrong = f'"{shown(text)}" is no key', "write it like x, ?, f6, ctrl+e or alt+enter"
            elif places and key not in DEFAULT_KEYS[name].split(","):
                is_of_lists = re.fullmatch(_OF_LISTS, key) and not places & {*_TYPED, "approval", "login"}
                if re.fullmatch(_FIXED, key) or is_of_lists:
                    wrong = f"{text} moves, chooses or goes back, and stays", "choose another key"
                elif places & _TYPED and not re.fullmatch(_FREE, key):
                    wrong = f"{text} is text where {name} works", "choose a function key, or one with ctrl or alt"
        if not places:
            from difflib import get_close_matches

            words = {*name.split("_")}  # one in common is enough
            near = sorted((known for known in DEFAULT_KEYS if words & {*known.split("_")}), key=len)
            meant = " or ".join((near or get_close_matches(name, DEFAULT_KEYS))[:3])
            wrong = "no action has this name", f"did you mean {meant}?" if meant else "its document lists the names"
        if wrong is not None:
            table.mistake(name, *wrong)
        elif None not in texts:
            chosen[name] = ",".join(keys.values())
    for names in PLACES.values() if chosen else ():
        taken = dict[str, str]()
        for name, default in {**PLACES["everywhere"], **names}.items():
            for key in filter(None, chosen.get(name, default).split(",")):
                other = taken.setdefault(key, name)
                if other != name and (name in chosen or other in chosen) and clashes.get(name) != other:
                    clashes[name] = other
                    own, others = (name, other) if name in chosen else (other, name)
                    table.mistake(own, f"{key} is the key of {others} too", "give one of them another key")
    return {name: keys for name, keys in chosen.items() if name not in {*clashes, *clashes.values()}}


def _key_of(text: str) -> str:
    """Return Textual's name of a key; empty if there is no such key."""
    from string import punctuation
    from unicodedata import name  # imported late: mostly not needed

    signs = {sign: name(sign).lower().replace("-", "_").replace(" ", "_") for sign in punctuation}
    signs = {sign: _RENAMED.get(words, words) for sign, words in signs.items()}
    *modifiers, key = [text] if len(text) == 1 else text.split("+")
    key = signs.get(key, key if len(key) == 1 and "ctrl" not in modifiers else key.lower())
    if modifiers == ["shift"] and len(key) == 1:
        modifiers, key = [], key.upper()
    is_known = _MODIFIERS.issuperset(modifiers) and (key in signs.values() or re.fullmatch(_KNOWN, key))
    whole = "+".join((*sorted({*modifiers}), key)) if is_known else ""
    return whole.replace("ctrl+space", "ctrl+space,ctrl+@")  # as most terminals send it
