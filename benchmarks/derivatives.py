"""Derivatives of a step: compared with differences, and their cost compared with `mjd_transitionFD`.

Run: ``python benchmarks/derivatives.py [differences] [products] [unique] [cost] [--scenes cube trot ...] [--states 10]
[--by linearize|differences] [--folder FOLDER --seeds 0:3] [--out benchmarks/results/derivatives_DATE.json]`` (extra
``benchmarks`` for ``cost``).

* ``differences``: A and B beside centred differences of 1e-6, at states along each scene's motion, both laws of
  friction, erp 1 and 0, where the nearest kink is farther than 1e-5 m/s. Where a column's two one-sided differences are
  two, it straddles a kink all the same, as a change of q by 1e-6 is one of the gap's speed by 1e-6 / h: its error is
  left out of median and maximum; ``one side`` says how often A is the derivative of one of the sides, which is what can
  be asked of it at erp = 0, where all that rests lies on a kink. By kind of kink: columns within, of states near one.
* ``products``: A multiplied over 500 steps of the cube and 300 of the trot, erp 0, beside differences of whole runs.
* ``unique``: random states of ten scenes; wrong where it says unique and differences in random directions disagree on
  some side at 1e-7, at smaller steps and at 1e-6; ``near`` where one of those agrees. Of those refused how many are
  smooth at 1e-7. With ``--folder``, of scenes that `campaign.py` draws there, each by its own law of friction.
* ``cost``: medians of microseconds of the processor, and of ratios, round by round in turns.

``--by differences`` replaces `linearize` by differences with another step, which shows the accuracy of the comparison.
Errors are absolute for entries up to 1, relative above. The file is written again after every row; failures stay in it.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tables import environment, markdown

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from derivative_checks import Linearize, agreement, products, uniqueness
from derivative_scenes import MOTIONS, Motion
from step_differences import linearized

PARTS = ("differences", "products", "unique", "cost")
#: Scenes whose `unique` is tested.
TRIED = ("cube", "plate", "rod", "two spheres", "stiff", "stops", "drives", "loop", "trot", "grasp")
STEP, FAR = 1e-6, 1e-5


def by_step(steps: Any, state: Any, tau: Any, targets: Any) -> Any:
    """`contactlab.derivatives.linearize`."""
    from contactlab.derivatives import linearize

    return linearize(steps.world, steps.stepper, state, tau=tau, targets=targets)


LINEARIZERS: dict[str, Linearize] = {"linearize": by_step, "differences": linearized}


def differences(args: argparse.Namespace) -> Iterable[Callable[[], dict[str, Any]]]:
    """Return one row for each scene, law of friction and erp."""
    for name in args.scenes or MOTIONS:
        motion = MOTIONS[name]()
        # Islands of dozens of bodies take seconds per state.
        count = max(2, args.states // 4) if motion.world.nv > 60 else args.states
        for friction in motion.frictions:
            for erp in (1.0, 0.0):
                yield partial(agreement, motion, friction, erp, count, LINEARIZERS[args.by], step=STEP, far=FAR)


def multiplied(args: argparse.Namespace) -> Iterable[Callable[[], dict[str, Any]]]:
    """The cube and the trot."""
    for name, count in (("cube", 500), ("trot", 300)):
        if name in (args.scenes or MOTIONS):
            yield partial(products, MOTIONS[name](), "pyramid", count, LINEARIZERS[args.by])


def drawn(folder: Path, kind: str, seed: int, erp: float, args: argparse.Namespace) -> dict[str, Any]:
    """Return `uniqueness` at states of a randomly drawn scene."""
    from campaign import made

    scene, stepper, steps, _ = made(folder, kind, seed)
    world, law = scene.world(), scene.kw.get("targets")
    names = [drive.name for drive in world.joint_actions.drives]
    fixed = {drive.name: drive.target for drive in world.joint_actions.drives}

    def targets(time: float) -> Any:
        return np.array([law[name](time) if name in law else fixed[name] for name in names])

    motion = Motion(f"{kind} {seed}", world, stepper.h, steps, targets if law else None, given=stepper)
    return uniqueness(motion, stepper.friction, erp, args.random, LINEARIZERS[args.by], args.seed)


def unique(args: argparse.Namespace) -> Iterable[Callable[[], dict[str, Any]]]:
    """Return one row for each of ten scenes, law of friction and erp."""
    if args.folder is not None:
        from campaign import kinds_of

        first, last = map(int, args.seeds.split(":"))
        for seed in range(first, last):
            for kind in kinds_of(args.folder):
                yield partial(drawn, args.folder, kind, seed, float((seed // 3 + 1) % 2), args)
        return
    for name in args.scenes or TRIED:
        motion = MOTIONS[name]()
        for friction in motion.frictions:
            for erp in (1.0, 0.0):
                yield partial(uniqueness, motion, friction, erp, args.random, LINEARIZERS[args.by], args.seed)


def costs(args: argparse.Namespace) -> Iterable[Callable[[], dict[str, Any]]]:
    """Return one row for each scene that has a MuJoCo form."""
    from derivative_cost import cost, cost_scenes

    own = args.by == "linearize"
    for name in cost_scenes():
        yield partial(cost, name, LINEARIZERS[args.by], args.rounds, own=own)


MADE = dict(zip(PARTS, (differences, multiplied, unique, costs), strict=True))


def plain(value: Any) -> Any:
    """Convert to JSON values: no NaN, no infinity, no numbers of numpy."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def shown(value: Any) -> str:
    """Return one cell of a table."""
    if isinstance(value, list):
        return str(len(value))
    if isinstance(value, dict):
        return "; ".join(f"{why}: {kind['share']:.0%} of {kind['columns']}" for why, kind in value.items())
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def write(out: Path | None, found: dict[str, Any]) -> None:
    """Write the present rows."""
    if out is not None:
        out.write_text(json.dumps(plain(found), indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Make the requested parts, all by default, and return the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--scenes", nargs="+", choices=list(MOTIONS))
    parser.add_argument("--states", type=int, default=20, help="of each motion, for differences")
    parser.add_argument("--random", type=int, default=40, help="states of each motion, for unique")
    parser.add_argument("--rounds", type=int, default=30, help="for cost")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="of a generator of scenes, for unique")
    parser.add_argument("--seeds", default="0:3", help="of its scenes")
    parser.add_argument("--by", choices=list(LINEARIZERS), default="linearize")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(arguments)
    unknown = set(args.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    found: dict[str, Any] = {"machine": environment(), "by": args.by, "failures": []}
    print(found["machine"])
    for part in args.parts or PARTS:
        rows = found[part] = []
        for make in MADE[part](args):
            try:
                row = make()
            except Exception as error:  # noqa: BLE001  # one scene that fails is a figure; the others go on
                found["failures"].append(f"{part}: {type(error).__name__}: {error}".splitlines()[0])
                print(found["failures"][-1], flush=True)
                write(args.out, found)
                continue
            rows.append(row)
            print(part, *(f"{key}: {shown(value)}" for key, value in row.items()), sep=" | ", flush=True)
            write(args.out, found)
        if rows:
            print(markdown(rows[0], ([shown(value) for value in row.values()] for row in rows)))
    return found


if __name__ == "__main__":
    main()
