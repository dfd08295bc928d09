"""Guides for users of other libraries: all names on our side of the tables exist and can be called as shown."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import contactlab.collision.detection
import contactlab.simulation
from contactlab import multibody
from contactlab.multibody import constraints, spatial
from contactlab.simulation import joints

DOCS = Path(__file__).resolve().parents[1] / "docs"
CODE = re.compile(r"`([^`]+)`")
#: Types of expressions of the guide without a type in a signature.
KNOWN = {
    "model": multibody.UrdfModel,
    "builder": multibody.ModelBuilder,
    "inertia": multibody.RigidInertia,
    "result": multibody.IKResult,
    "model.bodies[i]": multibody.BodySpec,
    "model.bodies[i].joint": joints.Joint,
    **dict.fromkeys(("T", "T1", "T2"), multibody.Transform),
}
#: Letters that stand for arrays and numbers.
OPERANDS = {*"EHMWbcfimnrtwx", "q1", "q2", "T_stab", "first", "second", "key"}


def namespace(heading: str) -> dict[str, Any]:
    """The public names a section may use without saying where they are."""
    names: dict[str, Any] = {"contactlab": contactlab, "len": len, "ValueError": ValueError}
    modules = [spatial, multibody, joints]
    if heading.startswith(("Constraints", "Contacts", "What")):
        modules.append(constraints)
    for module in modules:
        names |= {name: getattr(module, name) for name in module.__all__}
    return names


def tables(guide: Path) -> list[tuple[str, str, str]]:
    """Heading, head of the last column and text of the last column, for every table."""
    found, heading, head = [], "", ""
    for line in guide.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") else []
        if line.startswith("## "):
            heading = line[3:]
        if not cells:
            head = ""
        elif not head:
            head = cells[-1].strip(" |")
            found.append((heading, head, ""))
        elif not line.startswith("| ---"):
            found[-1] = (heading, head, f"{found[-1][2]}\n{cells[-1].strip(' |')}")
    return [table for table in found if table[1] in ("contactlab", "here")]


class Reader:
    """Finds what the code of one section names."""

    def __init__(self, heading: str) -> None:
        self.names = namespace(heading)
        self.known = dict(KNOWN)
        if "ConstraintSet" in self.names:
            self.known |= {"cs": self.names["ConstraintSet"], "cs.group(key)": self.names["ConstraintGroup"]}
        self.arguments = {
            argument
            for thing in self.names.values()
            if inspect.isclass(thing) or inspect.isfunction(thing)
            for function in (thing, *(getattr(thing, name) for name in vars(thing) if inspect.isclass(thing)))
            if callable(function)
            for argument in self.parameters(function)
        }

    @staticmethod
    def parameters(function: Any) -> list[str]:
        """Names of arguments; none for what has no signature."""
        try:
            return list(inspect.signature(function).parameters)
        except (ValueError, TypeError):
            return []

    def check(self, code: str) -> None:
        """Raise unless every name in a piece of code is there and every call is possible."""
        keyword = re.fullmatch(r"(\w+)=(\w*)", code)
        if keyword:
            assert keyword[1] in self.arguments, f"nothing takes {code}"
            return
        for node in ast.walk(ast.parse(code, mode="eval")):
            if isinstance(node, ast.Name | ast.Attribute | ast.Call):
                self.meaning(node, code)

    def meaning(self, node: ast.expr, code: str) -> Any:
        """Return the object that a node names; None for a value of unknown type."""
        text = ast.unparse(node)
        if text in self.known:
            return self.known[text]
        if isinstance(node, ast.Name):
            assert text in self.names or text in self.arguments or text in OPERANDS, f"{text} of {code} is nowhere"
            return self.names.get(text)
        if isinstance(node, ast.Attribute):
            return self.member(self.meaning(node.value, code), node.attr, code)
        if isinstance(node, ast.Call):
            return self.called(self.meaning(node.func, code), node, code)
        return None

    def member(self, owner: Any, name: str, code: str) -> Any:
        """An attribute of a module or class, or of the values of a class."""
        if owner is None:
            return None
        fields = {field for base in getattr(owner, "__mro__", ()) for field in inspect.get_annotations(base)}
        assert hasattr(owner, name) or name in fields, f"{name} of {code} is nowhere"
        return getattr(owner, name, None)

    def called(self, function: Any, node: ast.Call, code: str) -> Any:
        """The class of a call's value, its arguments being those the function takes."""
        if function is None or function is len:
            return None
        signature = inspect.signature(function)
        if "." in getattr(function, "__qualname__", "") and inspect.isfunction(function):
            on_value = ast.unparse(node.func).split(".")[0] not in self.names
            positional = [None, *node.args] if on_value else node.args
        else:
            positional = node.args
        signature.bind(*positional, **{keyword.arg or "": None for keyword in node.keywords})
        if inspect.isclass(function):
            return function
        returned = getattr(inspect.unwrap(function), "__annotations__", {}).get("return")
        return getattr(inspect.getmodule(function), str(returned), None)
