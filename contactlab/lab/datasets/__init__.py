"""Readers of published data sets and of problems; every entry is checked before use."""

from __future__ import annotations

from contactlab.lab.datasets.files import SOURCES, DatasetError, Source, fetch
from contactlab.lab.datasets.formats import load_fclib, load_siconos, save_fclib
from contactlab.lab.datasets.problems import Problem, lcp_from_problem_data, load_problem, load_problems
from contactlab.lab.datasets.recordings import CubeTosses, Toss, load_cube_tosses, save_cube_tosses

__all__ = [
    "SOURCES", "CubeTosses", "DatasetError", "Problem", "Source", "Toss", "fetch", "lcp_from_problem_data",
    "load_cube_tosses", "load_fclib", "load_problem", "load_problems", "load_siconos",
    "save_cube_tosses", "save_fclib",
]  # fmt: skip
