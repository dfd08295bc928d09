"""Time limits are respected, also inside libraries, and Ctrl-C is handled immediately, in any compiled code."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from functools import partial

import numpy as np
import pytest

import lcp
from contactlab.simulation import (
    Box,
    Cylinder,
    HalfSpace,
    Material,
    RigidInertia,
    TimeStepping,
    WorldBuilder,
    rollout,
    simulate,
    verify,
)
from lcp.catalog import murty
from lcp.farkas import feasible_point, infeasibility_proof
from lcp.interruptible import Cancelled, cpu_seconds, run_interruptibly
from problem_data import ConstraintVelProblemData

needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="sends itself signals")


def random_problem(n, seed=0):
    """A problem of no class, too large for a fast linear program."""
    rng = np.random.default_rng(seed)
    return lcp.LCP(rng.standard_normal((n, n)), rng.standard_normal(n))


def interrupted(work, after=0.3):
    """How long Ctrl-C took to be heard."""
    sent = []

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        work()
    timer.join()
    return time.perf_counter() - sent[0]


@pytest.mark.parametrize("search", [infeasibility_proof, feasible_point])
def test_linear_programs_end_at_their_limit(search):
    """Ours it takes to state them is counted, and what the library takes beyond is left to itself."""
    problem = random_problem(1500)
    clock = time.perf_counter()
    assert search(problem, 0.5) is None
    assert time.perf_counter() - clock < 5.0  # 1 s on an idle machine; without a limit minutes


@pytest.mark.parametrize(
    "solver",
    [
        lcp.ConcaveMinimization(time_limit=0.3),
        lcp.Lemke(time_limit=0.3),
        lcp.Cascade(time_limit=0.3),
        lcp.CottleDantzig(time_limit=0.3),
        lcp.Enumeration(time_limit=0.3),
        lcp.Feasibility(time_limit=0.3),
        lcp.OSQP(time_limit=0.3),
    ],
    ids=lambda solver: type(solver).__name__,
)
def test_solvers_end_at_their_limit(solver):
    """However large the problem is for one pivot, and with all proofs."""
    problem = random_problem(1500)
    lcp.solve(random_problem(6), solver)  # compiles
    clock = time.process_time()
    assert not lcp.solve(problem, solver).solved
    assert time.process_time() - clock < 2.0


def hard_contacts(count):
    """Contacts with a W of a third of full rank, mostly without solution."""
    rng = np.random.default_rng(0)
    B = rng.standard_normal((3 * count, count))
    return lcp.FrictionProblem(B @ B.T / (3 * count), rng.standard_normal(3 * count), np.full(count, 0.7))


PROXIMAL = partial(lcp.SemismoothNewton, alpha=1.0, max_iterations=5_000)


@pytest.mark.parametrize("method", [lcp.NSGS, lcp.ADMM, lcp.SemismoothNewton, PROXIMAL, lcp.ContactStrategies])
def test_friction_solvers_end_at_their_limit(method):
    """One factorisation is not cut off."""
    lcp.solve(hard_contacts(4), method(time_limit=0.3))  # compiles
    clock = time.process_time()
    assert not lcp.solve(hard_contacts(500), method(time_limit=0.1)).solved
    assert time.process_time() - clock < 3.0


def test_a_step_gives_friction_solvers_as_long_as_others(monkeypatch):
    """Half a minute for an island; a solver that is named keeps its own."""
    given, claim = [], lcp.ContactStrategies._claim
    monkeypatch.setattr(lcp.ContactStrategies, "_claim", lambda *a: given.append(a[0].time_limit) or claim(*a))
    monkeypatch.setattr("contactlab.constraint_solver.solver.solve_cones_with_strategies", lambda *_: None)
    stepper = TimeStepping(2e-3, friction="cone")
    F = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    data = ConstraintVelProblemData(M=np.eye(3), Mv=[1.0, 0.0, -0.1], N=[[0.0, 0.0, 1.0]], F=F, mu=[0.5], r=[2])
    stepper.constraint_solver.solve_discretized_problem(data, 2e-3)
    assert stepper.lcp_solver.time_limit == 30.0
    assert lcp.default_friction_solver().time_limit == 300.0
    assert given == [30.0]


def fast_cylinders():
    """Bodies so fast that every pair is within reach at every step."""
    rng = np.random.default_rng(0)
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.5))
    shapes = [Cylinder(0.1, 0.15), Cylinder(0.2, 0.05), Box((0.1, 0.2, 0.1)), Cylinder(0.05, 0.3), Cylinder(0.1, 0.1)]
    for i, shape in enumerate(shapes):
        turn = rng.standard_normal(4)
        q = [*rng.uniform(-2.0, 2.0, 2), 1.0 + 0.7 * i, *turn / np.linalg.norm(turn)]
        inertia = RigidInertia(1.0, inertia=np.diag([0.02, 0.02, 0.02]))
        builder.add_free_body(f"body {i}", inertia, shape, Material(0.5), q, 500.0 * rng.standard_normal(6))
    return builder.build()


def test_verification_of_fast_bodies_takes_no_minutes():
    """Nearest points on rims are found with a bounded number of corners: a second each they took with all of them."""
    recording = simulate(fast_cylinders(), TimeStepping(2e-3), steps=10)
    clock = time.process_time()
    assert not verify(recording).failures
    assert time.process_time() - clock < 4.0


@needs_signals
@pytest.mark.parametrize(
    "work",
    [
        lambda: infeasibility_proof(random_problem(1500)),
        lambda: lcp.solve(random_problem(1500)),
        lambda: lcp.solve(murty(44), lcp.Lemke(max_pivots=10**15, restarts=0)),
        lambda: lcp.solve(lcp.LCP(-np.eye(24) - 1e-3, -np.ones(24)), lcp.Enumeration(max_n=24)),
        lambda: lcp.classify(np.eye(1400) + 1e-3 * np.random.default_rng(0).standard_normal((1400, 1400))),
        lambda: simulate(fast_cylinders(), TimeStepping(2e-3), steps=10**7),
        lambda: rollout(w := fast_cylinders(), TimeStepping(2e-3), [w.initial_state()] * 4, steps=20_000, threads=2),
    ],
    ids=["linear program", "default", "Lemke", "enumeration", "classes", "run", "rollout"],
)
def test_ctrl_c_is_heard_at_once(work):
    """Limits end compiled code, ours and libraries'; compilation, which no limit ends, is done before."""
    rollout(w := fast_cylinders(), TimeStepping(2e-3), [w.initial_state()] * 2, steps=1, threads=2)
    assert interrupted(work) < 1.0


@needs_signals
def test_what_is_left_behind_ends_at_its_next_look_at_the_clock():
    """And not before."""
    ended = threading.Event()

    def work():
        try:
            while True:
                cpu_seconds()
                time.sleep(0.01)
        except Cancelled:
            ended.set()
            raise

    assert interrupted(lambda: run_interruptibly(work)) < 1.0
    assert ended.wait(5.0)


@needs_signals
@pytest.mark.slow
def test_ctrl_c_is_heard_while_kernels_are_compiled(tmp_path):
    """And the process ends in order, though the compiler was at work."""
    script = """
        import sys, time
        import numpy as np
        import lcp
        try:
            lcp.solve(lcp.LCP(np.eye(3), -np.ones(3)))
        except KeyboardInterrupt:
            print(time.time(), flush=True)
            sys.exit(130)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    )
    assert "compiling" in process.stderr.readline()
    time.sleep(1.5)
    sent = time.time()
    process.send_signal(signal.SIGINT)
    told = float(process.stdout.readline())
    assert told - sent < 1.0
    process.communicate(timeout=60)
    assert process.returncode == 130
