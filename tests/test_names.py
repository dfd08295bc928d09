"""One name for each object: the names that packages list, no name for two objects, messages for old names."""

import importlib
import pkgutil
from pathlib import Path

import pytest
import rooms

import contactlab

PACKAGES = [
    "contactlab",
    "lcp",
    "problem_data",
    *(
        found.name
        for found in pkgutil.walk_packages(contactlab.__path__, "contactlab.")
        if found.ispkg and "__dir__" in vars(importlib.import_module(found.name))
    ),
]

# Not of one kind: `lcp.solve` solves a problem, `contactlab.multibody.constraints.solve` has methods for systems of
# equations. `contactlab.view.tour` is a package with a function of that name.
TWICE = {"solve", "tour"}


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_lists_its_public_names_alone(name: str) -> None:
    """Completion offers the public names, neither modules nor imports."""
    package = importlib.import_module(name)
    assert dir(package) == sorted(package.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        package.no_such_name  # noqa: B018


def test_no_name_stands_for_two_things() -> None:
    """Whichever package a public name is imported from."""
    found: dict[str, dict[str, object]] = {}
    for name in PACKAGES:
        package = importlib.import_module(name)
        for public in package.__all__:
            found.setdefault(public, {})[name] = getattr(package, public)
    twice = {name: list(homes) for name, homes in found.items() if len({id(thing) for thing in homes.values()}) > 1}
    assert twice.keys() == TWICE, twice


def test_every_room_has_tests_and_the_page_says_which() -> None:
    """`docs/tests.md` is what `python tests/rooms.py` prints, and every file of tests is about one room."""
    page = (Path(__file__).parents[1] / "docs" / "tests.md").read_text(encoding="utf-8")
    assert page.endswith(rooms.table()), "docs/tests.md is old: print its table with python tests/rooms.py"
    assert rooms.room_of(rooms.TESTS / "test_impact_laws.py") == "impact"
    assert rooms.room_of(rooms.TESTS / "test_event_driven.py") == "event_driven"
