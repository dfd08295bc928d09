"""The page of signatures is true: names, arguments, shapes of what is returned, and which way round vectors stand."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

from contactlab.simulation import Simulation, WorldBuilder, sensors
from contactlab.simulation.world.surface import ALL

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = (DOCS / "control_reference.md").read_text(encoding="utf-8")
CONTROL = (DOCS / "control.md").read_text(encoding="utf-8")
#: Arguments that are given and not called, and functions that build a world from another one.
SPECIAL = {"WorldBuilder.gravity", "WorldBuilder.add_actions"}


def signatures():
    """Return module, name, arguments (None for a name that is not called) and the return value, as written."""
    for block in re.findall(r"^```text\n# (.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL):
        module, _, lines = block.partition("\n")
        for one in re.sub(r"\n +", " ", lines).splitlines():
            call, returned = one.split(" -> ")
            name, bracket, rest = call.partition("(")
            yield module, name, bracket + rest if bracket else None, returned


def found(module, name):
    """Return the names in the page."""
    thing = importlib.import_module(module)
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


def arguments_of(thing):
    """The arguments of a call as the page writes them."""
    said = inspect.signature(thing)
    own = [one.replace(annotation=inspect.Parameter.empty) for one in said.parameters.values() if one.name != "self"]
    text = str(said.replace(parameters=own, return_annotation=inspect.Signature.empty))
    return text.replace("<factory>", "...").replace(str(ALL), "ALL")


@pytest.mark.parametrize(("module", "name", "arguments", "returned"), list(signatures()), ids=lambda one: str(one)[:40])
def test_signatures_are_as_written(module, name, arguments, returned):
    thing = found(module, name)
    assert returned
    if arguments is None:
        assert not callable(thing)
    else:
        assert arguments_of(thing) == arguments


def test_what_control_calls_is_written():
    """All methods of builder and run, and all imports of `control.md`, have a line."""
    written = {name.removeprefix("sensors.") for _, name, _, _ in signatures()}
    for owner in (WorldBuilder, Simulation):
        of_it = {f"{owner.__name__}.{name}" for name in dir(owner) if not name.startswith("_")}
        assert of_it - written <= SPECIAL, owner
    imported = set()
    for block in re.findall(r"^```python\n(.*?)^```$", CONTROL, flags=re.MULTILINE | re.DOTALL):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom):
                imported |= {one.name for one in node.names}
    assert imported - written == {"joints", "multibody", "sensors"}  # packages
    assert set(sensors.__all__) - written == {"Sensor", "StepView"}  # for sensors of one's own
