"""One name for each object: the names that packages list, no name for two objects, messages for old names."""

import importlib
import pkgutil
import warnings
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

BEFORE = [
    ("contactlab.multibody.constraints", "delassus", "delassus_matrix"),
    ("contactlab.event_driven", "Kink", "EventKink"),
    ("contactlab.constraint_solver", "ContactForce", "ContactLoad"),
    ("contactlab.impact", "Motion", "ContactMotion"),
    ("contactlab.impact", "sweep", "impact_map"),
    ("contactlab.view.plotting", "save", "save_figure"),
]


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


@pytest.mark.parametrize(("package", "old", "new"), BEFORE)
def test_an_old_name_warns_with_the_new_one(package: str, old: str, new: str) -> None:
    """And is the same thing for one more release."""
    module = importlib.import_module(package)
    with pytest.warns(DeprecationWarning, match=rf"{package}\.{old} is now {package}\.{new}"):
        assert getattr(module, old) is getattr(module, new)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert old not in dir(module)


def test_every_room_has_tests_and_the_page_says_which() -> None:
    """`docs/tests.md` is what `python tests/rooms.py` prints, and every file of tests is about one room."""
    page = (Path(__file__).parents[1] / "docs" / "tests.md").read_text(encoding="utf-8")
    assert page.endswith(rooms.table()), "docs/tests.md is old: print its table with python tests/rooms.py"
    assert rooms.room_of(rooms.TESTS / "test_impact_laws.py") == "impact"
    assert rooms.room_of(rooms.TESTS / "test_event_driven.py") == "event_driven"
