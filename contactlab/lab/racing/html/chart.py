"""Charts as SVG text: lines, steps and points on linear or logarithmic axes, with a legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["COLOURS", "Axis", "Series", "chart", "look"]

#: Ten colours told apart on white; each comes back with another dash.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00",
    "#56B4E9", "#222222", "#8C564B", "#7F3FBF", "#7A9A01",
)  # fmt: skip
DASHES = ("", "7 4", "2 3")
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM, _LINE = 980, 430, 66, 250, 14, 48, 17


@dataclass(frozen=True)
class Axis:
    """An axis: what it shows, from where to where, and whether by powers of ten."""

    label: str
    low: float
    high: float
    log: bool = True

    def place(self, value: float) -> float:
        """Where a value lies between 0 and 1, no further out than a hair."""
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log10(low), math.log10(high), math.log10(max(value, self.low * 1e-3))
        return min(1.03, max(-0.03, (at - low) / (high - low)))

    def ticks(self) -> list[tuple[float, str]]:
        """Values with their labels: powers of ten, with 2 and 5 where there is one decade or two."""
        if not self.log:
            step = (self.high - self.low) / 5
            return [(self.low + i * step, f"{self.low + i * step:.3g}") for i in range(6)]
        first, last = math.floor(math.log10(self.low) + 1e-9), math.ceil(math.log10(self.high) - 1e-9)
        every = max(1, math.ceil((last - first) / 8))
        values = [10.0**k for k in range(first, last + 1, every)]
        if last - first <= 2:
            values = [m * 10.0**k for k in range(first, last + 1) for m in (1, 2, 5)]
        return [(v, _power(v)) for v in values if self.low * 0.999 <= v <= self.high * 1.001]


@dataclass(frozen=True)
class Series:
    """Points of one solver: joined by lines, by steps that rise at each point, or not at all."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    form: str = "line"
    look: int = 0
    legend: bool = True


def look(number: int) -> tuple[str, str]:
    """Colour and dash of the number-th solver."""
    return COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]


def chart(series: Sequence[Series], x: Axis, y: Axis, *, name: str) -> str:
    """Return the chart; ``name`` says to who cannot see it what it shows."""
    named = [one for one in series if one.legend]
    height = max(_HEIGHT, _TOP + _BOTTOM + _LINE * len(named))
    wide, high = _WIDTH - _LEFT - _RIGHT, height - _TOP - _BOTTOM

    def at(px: float, py: float) -> tuple[float, float]:
        return _LEFT + wide * x.place(px), _TOP + high * (1.0 - y.place(py))

    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(name, quote=True)}">',
        f'<rect class="plane" x="{_LEFT}" y="{_TOP}" width="{wide}" height="{high}"/>',
    ]
    for value, text in x.ticks():
        px = _LEFT + wide * x.place(value)
        parts.append(f'<line class="grid" x1="{px:.1f}" x2="{px:.1f}" y1="{_TOP}" y2="{_TOP + high}"/>')
        parts.append(f'<text class="tick" x="{px:.1f}" y="{_TOP + high + 18}" text-anchor="middle">{text}</text>')
    for value, text in y.ticks():
        py = _TOP + high * (1.0 - y.place(value))
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_LEFT + wide}" y1="{py:.1f}" y2="{py:.1f}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 6}" y="{py + 4:.1f}" text-anchor="end">{text}</text>')
    middle = _TOP + high / 2
    parts.append(
        f'<text class="axis" x="{_LEFT + wide / 2}" y="{height - 8}" text-anchor="middle">{escape(x.label)}</text>'
        f'<text class="axis" x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">'
        f"{escape(y.label)}</text>"
    )
    for one in series:
        parts.append(_drawn(one, [at(px, py) for px, py in zip(one.x, one.y, strict=True)], _LEFT + wide))
    for i, one in enumerate(named):
        colour, dash = look(one.look)
        py = _TOP + 10 + _LINE * i
        px = _LEFT + wide + 14
        mark = f'<circle cx="{px + 11}" cy="{py - 4}" r="3.2" fill="{colour}"/>' if one.form == "points" else ""
        parts.append(
            f'<line x1="{px}" x2="{px + 22}" y1="{py - 4}" y2="{py - 4}" stroke="{colour}" stroke-width="2"'
            f'{_dashed(dash)}/>{mark}<text class="key" x="{px + 28}" y="{py}">{escape(_short(one.label))}</text>'
        )
    return "".join([*parts, "</svg>"])


def _drawn(one: Series, points: list[tuple[float, float]], end: float) -> str:
    colour, dash = look(one.look)
    title = f"<title>{escape(one.label)}</title>"
    if not points:
        return ""
    if one.form == "points":
        dots = "".join(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.6"/>' for px, py in points)
        return f'<g class="series" fill="{colour}" fill-opacity="0.65">{title}{dots}</g>'
    if one.form == "steps":
        path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
        path += "".join(f"H{px:.1f}V{py:.1f}" for px, py in points[1:]) + f"H{end:.1f}"
        dots = ""
    else:
        path = "M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in points)
        dots = "".join(
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.2" fill="{colour}" stroke="none"/>' for px, py in points
        )
        if len(points) == 1:
            px, py = points[0]
            path, dots = "", f'<circle cx="{px:.1f}" cy="{py:.1f}" r="4" fill="{colour}" stroke="none"/>'
    line = f'<path d="{path}"{_dashed(dash)}/>' if path else ""
    return f'<g class="series" fill="none" stroke="{colour}">{title}{line}{dots}</g>'


def _dashed(dash: str) -> str:
    return f' stroke-dasharray="{dash}"' if dash else ""


def _short(label: str, most: int = 32) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"


def _power(value: float) -> str:
    """10 to a power as people write it."""
    k = math.floor(math.log10(value) + 1e-9)
    if -3 <= k <= 3:
        return f"{value:g}"
    return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
