"""Readers of published data sets: one file each, every entry checked before it is used."""

from __future__ import annotations

from contactlab.lab.datasets.cube_toss import CubeTosses, Toss, load_cube_tosses, save_cube_tosses
from contactlab.lab.errors import DatasetError

__all__ = ["CubeTosses", "DatasetError", "Toss", "load_cube_tosses", "save_cube_tosses"]
