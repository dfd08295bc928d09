"""Arrays of a run in memory, made when they are read: the same as those that a file holds."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from joint_scenes import busy
from simulation_scenes import tumble

from contactlab.simulation import Recording, TimeStepping, World, simulate
from contactlab.stepping.record_schema import FIELDS, TABLE_OF, RunRows, read_column

H, STEPS = 0.01, 40


def run_of(world: World, steps: int = STEPS) -> Recording:
    """A run of which nothing has been read but what `simulate` looks at."""
    return simulate(world, TimeStepping(H), steps=steps)


@pytest.mark.parametrize("make", [tumble, busy], ids=["contacts", "joints"])
def test_whatever_is_read_first_the_arrays_are_those_of_a_file(make, tmp_path) -> None:
    """In the order of the fields and against it, as a copy, from a pickle, and in chunks of a few steps."""
    world = make()
    run = run_of(world)
    simulate(world, TimeStepping(H), steps=STEPS, path=tmp_path / "run.npz")
    filed = Recording.open(tmp_path / "run.npz")
    whole = run_of(world)
    names = list(FIELDS)
    in_pieces = simulate(world, TimeStepping(H), steps=STEPS, chunk_steps=7)
    unread = run_of(world)
    for rows, order in (
        (run.rows, names),
        (whole.rows, names[::-1]),
        (copy.deepcopy(unread).rows, names),
        (pickle.loads(pickle.dumps(unread)).rows, names[::-1]),
        (in_pieces.rows, names),
    ):
        for name in order:
            found = rows[name]
            assert found.dtype == FIELDS[name].dtype, name
            np.testing.assert_array_equal(found, filed.rows[name], name)
    run.save(tmp_path / "saved.npz")
    for name, array in Recording.open(tmp_path / "saved.npz").rows.items():
        np.testing.assert_array_equal(array, filed.rows[name], name)


def test_tables_are_made_when_they_are_read_and_not_before() -> None:
    """A run that is only simulated has none; a look at a column makes none, and shows what the table will."""
    rows = run_of(tumble()).rows
    assert isinstance(rows, RunRows)
    assert not set(rows._made) & set(TABLE_OF)
    gap = read_column(rows, "contact_gap")
    assert not set(rows._made) & set(TABLE_OF)
    np.testing.assert_array_equal(gap, rows["contact_gap"])
    assert read_column(rows, "contact_gap") is rows["contact_gap"]
    assert {name for name, table in TABLE_OF.items() if table == "contact"} <= set(rows._made)


def test_rows_are_a_mapping_of_arrays_that_nobody_writes_to() -> None:
    """Read-only, the same object at every read, joined with others by |; a run of no step has them all, empty."""
    rows = run_of(tumble()).rows
    assert list(rows) == list(FIELDS)
    assert len(rows) == len(FIELDS)
    assert "contact_gap" in rows
    for name in rows:
        assert rows[name] is rows[name]
        assert not rows[name].flags.writeable
    other = rows | {"h": np.zeros(1)}
    assert other["h"].size == 1
    assert other["q"] is rows["q"]
    with pytest.raises(KeyError):
        rows["nothing"]
    none = run_of(tumble(), steps=0)
    assert none.rows["contact_gap"].shape == (0,)
    assert none.rows["q"].shape[0] == 1


def test_a_record_with_other_rows_is_another(tmp_path) -> None:
    """What is replaced in a record is read from it and from its file."""
    run = run_of(tumble())
    other = replace(run, rows={**run.rows, "contact_gap": run.rows["contact_gap"] + 1.0})
    other.save(tmp_path / "other.npz")
    np.testing.assert_array_equal(Recording.open(tmp_path / "other.npz").contacts.gap, run.contacts.gap + 1.0)


def test_a_run_leaves_nothing_to_the_next_one() -> None:
    """Runs of one world and stepper in turn, with forces, functions, other lengths, and one given up in between."""
    world, stepper = busy(), TimeStepping(H)
    push = np.full(world.nv, 0.3)

    def stopped(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if time > 5 * H:
            raise KeyError("given up")
        return push

    plans = [
        {"steps": 30},
        {"steps": 20, "tau": push},
        {"steps": 25, "tau": lambda time, q, v: time * push},
        {"duration": 0.1},
        {"steps": 30, "state": simulate(world, stepper, steps=7).state(7)},
    ]
    first = [simulate(world, TimeStepping(H), **plan) for plan in plans]
    for plan, alone in [*zip(plans, first, strict=True), *zip(plans[::-1], first[::-1], strict=True)]:
        with pytest.raises(KeyError):
            simulate(world, stepper, steps=30, tau=stopped)
        simulate(world, stepper, steps=3)
        again = simulate(world, stepper, **plan)
        for name in FIELDS:
            np.testing.assert_array_equal(again.rows[name], alone.rows[name], name)


def test_what_a_run_left_is_kept_while_others_go_on() -> None:
    """The record of a run is not written to by the next one, whether it was read before or not."""
    world, stepper = tumble(), TimeStepping(H)
    one = simulate(world, stepper, steps=STEPS)
    simulate(world, stepper, steps=STEPS, tau=np.ones(world.nv))
    same = simulate(world, TimeStepping(H), steps=STEPS)
    for name in FIELDS:
        np.testing.assert_array_equal(one.rows[name], same.rows[name], name)
