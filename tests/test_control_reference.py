"""The page of signatures is true: names, arguments, shapes of what is returned, and which way round vectors stand."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

from contactlab.simulation.world.surface import ALL

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = (DOCS / "control_reference.md").read_text(encoding="utf-8")


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
