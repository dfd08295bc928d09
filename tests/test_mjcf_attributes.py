"""Every attribute of MuJoCo's files is taken, idle or named on load, and the table says which."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from contactlab.world.mjcf import load_mjcf
from contactlab.world.mjcf.source import TABLE, AttributeSupport, row_of, unknown_attributes

SECTIONS = ("equality", "tendon", "actuator", "sensor")


def words(one: str) -> list[str]:
    """The attributes of a column of the table."""
    return [word.split("=")[0] for word in one.split()]


@pytest.mark.parametrize("kind", TABLE)
def test_what_is_read_is_quiet_and_the_rest_is_named(kind):
    """By the table, and each attribute has one place in it."""
    row = TABLE[kind]
    every = [word for column in row for word in words(column)]
    assert len(set(every)) == len(every)
    section = kind if kind in SECTIONS else "worldbody"
    found = unknown_attributes([(section, kind, dict.fromkeys([*every, "unheard-of"], "7"))])
    assert found == [f"{kind} {name}" for name in (*words(row.unsupported), "unheard-of")]


def test_the_guide_has_the_table():
    """Element by element, and says how each is taken."""
    page = (Path(__file__).resolve().parents[1] / "docs" / "from_mujoco.md").read_text(encoding="utf-8")
    _, _, section = page.partition("## Attribute by attribute\n\n")
    lines = section.partition("\n\n")[0].splitlines()[2:]
    rows = {cells[0]: cells[1:] for cells in ([cell.strip(" `") for cell in line[1:-1].split("|")] for line in lines)}
    assert list(rows) == list(TABLE)
    for kind, row in TABLE.items():
        taken, how, *others = rows[kind]
        assert how
        for cell, column in zip(
            (taken, *others), (row.supported, row.partial, row.unsupported, row.no_effect), strict=True
        ):
            assert re.findall(r"\w+", cell) == words(column), kind


def test_values_that_change_nothing_are_quiet():
    """Zeros in any form, and elements that nobody knows are named as such."""
    said = [
        ("worldbody", "geom", {"margin": "0.0", "surfacevel": "0 0 0"}),
        ("actuator", "motor", {"actearly": "false"}),
    ]
    assert unknown_attributes(said) == []
    assert unknown_attributes([("worldbody", "gadget", {})]) == ["<gadget>"]


def schema(mujoco):
    """Section, tag and attributes of every element that mujoco reads."""
    found, stack = [], list[str]()
    for line in mujoco.mj_printSchema(False, True).splitlines():
        head = re.match(r"( *)(?:\(world\))?(\w+) \([!*?R]\) *(.*)", line)
        if head:
            stack[len(head[1]) // 3 :] = [head[2]]
            section = {"body": "worldbody"}.get(stack[1], stack[1]) if len(stack) > 2 else ""
            found.append((section, stack[-1], head[3].split()))
        else:
            found[-1][2].extend(line.split())
    return found


def test_the_table_is_mujocos_schema():
    """Nothing that mujoco reads is missing in it, and it invents nothing."""
    mujoco = pytest.importorskip("mujoco")
    if int(mujoco.__version__.split(".")[0]) != 4:
        pytest.skip(f"the table is of mujoco 4, this is {mujoco.__version__}: what it does not know it names")
    elements = schema(mujoco)
    assert len(elements) > 150
    known: dict[int, set[str]] = {}
    for section, tag, attributes in elements:
        row = row_of(section, tag)
        assert row != AttributeSupport(), tag
        if row is not None:
            assert set(attributes) <= {word for column in row for word in words(column)}, (section, tag)
            known.setdefault(id(row), set()).update(attributes)
    # That one is of mujoco 3.
    invented = {
        word for row in TABLE.values() for column in row for word in words(column) if word not in known[id(row)]
    }
    assert invented == {"passive"}


TEXT = """<mujoco><option o_friction="2 2 0 0 0" o_margin="0.1"><flag override="enable"/></option>
  <default><geom solref="0.01 1"/></default>
  <worldbody><geom name="floor" type="plane" size="1 1 1" margin="0.01" priority="2"/>
    <body pos="0 0 1"><freejoint/><geom name="a" size="0.1" condim="6" gap="0"/></body>
    <body pos="1 0 1"><joint margin="0.1" solreflimit="0.1 1"/><geom name="b" size="0.1" adhesion="3"/></body>
  </worldbody><contact><pair geom1="a" geom2="b" condim="1" friction="2 2 0 0 0"/></contact></mujoco>"""


def test_a_file_names_what_it_says_in_vain(tmp_path):
    """Included files, too; what is taken is not among it."""
    pytest.importorskip("mujoco")
    (tmp_path / "part.xml").write_text(TEXT)
    (tmp_path / "main.xml").write_text('<mujoco><include file="part.xml"/><statistic extent="2"/></mujoco>')
    notes = load_mjcf(tmp_path / "main.xml").notes
    listed = next(note for note in notes if note.startswith("attributes not taken: ")).split(": ")[1].split(", ")
    assert sorted(listed) == sorted(
        [
            "geom solref",
            "geom margin",
            "joint margin",
            "joint solreflimit",
            "geom adhesion",
            "pair condim",
            "pair friction",
        ]
    )
    assert any("o_friction" in note for note in notes)
    assert any("condim" in note and note.endswith("'a'") for note in notes)
    assert not any("priority" in note for note in notes)
