"""The colours of words in a theme, moved towards black or white as far as it takes to read them on the theme's grounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.color import Color

CONTRAST = 4.5  # the least contrast of words that decide something. Source: WCAG 2.2, 1.4.3
GROUNDS = ("surface", "panel")  # what words stand on: panes and questions; header, titles and key bar
WORDS = ("foreground", *(f"text-{word}" for word in ("primary", "secondary", "accent", "success", "warning", "error")))
STEPS = 20
DIM_PERCENTS = range(60, 101, 5)  # how strong dim words may be, Textual's own strength first


def readable(variables: Mapping[str, str]) -> dict[str, str]:
    """Return a theme's variables with readable words; a colour that can be read stays as it is."""
    grounds = [Color.parse(variables[name]) for name in GROUNDS]
    if any(ground.ansi is not None or ground.a < 1 for ground in grounds):
        return dict(variables)  # the terminal's own colours, of which nothing is known here
    goals = [ground.get_contrast_text(1.0) for ground in grounds]
    words: dict[str, str] = {}
    for name in WORDS:
        color = Color.parse(variables[name])
        shades = [[color.blend(goals[0], step / STEPS)] * len(grounds) for step in range(STEPS + 1)]
        words[name] = shades[_first_readable(shades, grounds)][0].hex
    foreground = Color.parse(words["foreground"])
    percents: list[int] = []  # of the colour that contrasts most with each ground, and of the foreground
    for strong in (goals, [foreground] * len(grounds)):
        pairs = list(zip(strong, grounds, strict=True))
        dimmed = [[ground.blend(color, percent / 100) for color, ground in pairs] for percent in DIM_PERCENTS]
        percents.append(DIM_PERCENTS[_first_readable(dimmed, grounds)])
    dim = foreground.with_alpha(percents[1] / 100).hex
    return {**variables, **words, "text-muted": f"auto {percents[0]}%", "foreground-muted": dim}


def contrast(first: Color, second: Color) -> float:
    """From 1 to 21. Source: WCAG 2.2, contrast ratio."""
    lights: list[float] = []  # relative luminances
    for color in (first, second):
        parts = (color.normalized[0], color.normalized[1], color.normalized[2])
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        lights.append(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def _first_readable(shades: Sequence[Sequence[Color]], grounds: Sequence[Color]) -> int:
    """Return the number of the first shade, a colour for each ground, that can be read on all of them; else of the last one."""
    for number, colors in enumerate(shades):
        if all(contrast(color, ground) >= CONTRAST for color, ground in zip(colors, grounds, strict=True)):
            return number
    return len(shades) - 1
