"""Adapters of docs/derivatives_elsewhere.md run, each where its package is installed, and print what the page says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "derivatives_elsewhere.md"
SECTION = re.compile(r"^## (.*)\n", re.MULTILINE)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ADAPTERS = ("torch", "jax", "casadi", "scipy")


def sections() -> dict[str, list[tuple[str, str]]]:
    """The blocks of each section, (language, text), by its title."""
    _, *parts = SECTION.split(PAGE.read_text(encoding="utf-8"))
    return {title: BLOCK.findall(text) for title, text in zip(parts[::2], parts[1::2], strict=True)}


@pytest.mark.parametrize("package", ADAPTERS)
@pytest.mark.slow
def test_adapter_runs(package: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The block on top and the package's own run from top to bottom, and print what stands behind them."""
    pytest.importorskip(package)
    page = sections()
    values: dict[str, Any] = {"__name__": "page"}
    for language, text in page["One step as a function of vectors"] + page[package]:
        if language == "python":
            exec(compile(text, f"{PAGE.name}: {package}", "exec", dont_inherit=True), values)
        else:
            printed = capsys.readouterr().out
            assert doctest.OutputChecker().check_output(text, printed, OPTIONS), printed


def test_page_has_every_adapter() -> None:
    """A section for each, with code and what it prints."""
    page = sections()
    assert all({language for language, _ in page[package]} == {"python", "text"} for package in ADAPTERS)
