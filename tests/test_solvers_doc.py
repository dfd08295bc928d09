"""The table of the page on solvers agrees with the traits and docstrings of the code."""

from pathlib import Path

from readme_table import solver_rows


def test_solver_table_is_that_of_the_traits() -> None:
    """Every solver has its row, as derived from its docstring and traits."""
    page = (Path(__file__).resolve().parents[1] / "docs" / "solvers.md").read_text(encoding="utf-8")
    for row in solver_rows():
        assert row in page, row
