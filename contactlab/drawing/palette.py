"""Colours that can be distinguished with any kind of colour vision (Okabe and Ito 2008)."""

from __future__ import annotations

from contactlab.simulation import OPEN, SLIDE, STICK

Color = tuple[int, int, int]

#: Colours of bodies, in turn; green and vermilion are reserved for contact modes.
BODIES: tuple[Color, ...] = ((86, 180, 233), (240, 228, 66), (204, 121, 167), (0, 114, 178), (230, 159, 0))
UNPAINTED: Color = (196, 198, 202)  # colour of a mesh without a colour
FIXED: Color = (178, 176, 170)
GROUND: Color = (222, 220, 214)
GRID: Color = (176, 174, 168)
EDGE: Color = (40, 40, 40)
MODE_COLORS: dict[int, Color] = {OPEN: (90, 90, 90), STICK: (0, 158, 115), SLIDE: (213, 94, 0)}
MODE_NAMES: dict[int, str] = {OPEN: "open", STICK: "stick", SLIDE: "slide"}


def srgb_to_linear(color: Color) -> Color:
    """Return a colour with linear light intensities from screen values, by a power of 2.2, close to IEC 61966-2-1."""
    red, green, blue = (round(255.0 * (value / 255.0) ** 2.2) for value in color)
    return red, green, blue


def hexadecimal(color: Color) -> str:
    """Return a colour as a hexadecimal web colour."""
    return "#{:02x}{:02x}{:02x}".format(*color)
