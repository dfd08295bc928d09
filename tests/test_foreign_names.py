"""Names of Drake, RBDL, Pinocchio and MuJoCo, asked of a package, are answered by what is called so here."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from typing import Any

import pytest
from guides import DOCS

import contactlab
from contactlab.naming import foreign_names

NAMES = [(name, library, meant) for name, found in foreign_names().items() for library, meant in found]
# Words of the guides' tables that no package of theirs has: members of objects, arguments, and letters.
MEMBERS = set(
    re.findall(
        r"\S+",
        """
        gravity mIsVirtual mFixedBodies q_size qdot_size dof_count mBodies mJoints X_T lambda mDoFCount XJ X_lambda S
        c_J jcalc_X_lambda_S U Dinv u d_u X_base QDDot weight num_steps error_norm step_tol max_steps dlambda 6DoF
        update_kinematics f_ext toMatrix toMatrixAdjoint toMatrixTranspose fromMatrix conjugate rotate timeStep size
        T_stab floating planar rpy acceleration constraints gamma force QDotPlus impulse v_plus K Y Z XYZ YXZ ZXY Size
        Type Id AssignedId ById RangeSpaceSparse NullSpace PartialPivLU HouseholderQR ColPivHouseholderQR
        LinearSolverLLT Model ConstraintSet CustomConstraint cf nv Reinitialize get_num_pivots A_solve fast_A_solve
        MM qq a N_mult N_transpose_mult F_mult L_mult G_mult N_minus_muQ_transpose_mult kN kF kL kG tau Mv mu r
        gammaN gammaF gammaE gammaL mu_sliding mu_non_sliding sliding_contacts non_sliding_contacts
        use_complementarity_problem_solver solve_inertia GetRodConfig GetContactJacobianRow GetContactPoints
        """,
    )
)


def resolved(address: str) -> Any:
    """What stands at the beginning of an address: a thing, or an annotated field of a class."""
    path = re.match(r"[\w.]+", address)
    assert path is not None
    parts = path[0].split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            fields = {
                field for base in getattr(thing, "__mro__", ()) for field in vars(base).get("__annotations__", {})
            }
            assert hasattr(thing, part) or part in fields, address
            thing = getattr(thing, part, None)
        return thing
    raise AssertionError(address)


@pytest.mark.parametrize(("name", "library", "meant"), NAMES, ids=lambda value: value if value.isidentifier() else "")
def test_every_answer_is_there(name: str, library: str, meant: str) -> None:
    """Each address can be imported, and is public."""
    resolved(meant)
    assert not re.search(r"\._", meant)
    assert library in ("RBDL's", "Drake's", "Pinocchio's", "MuJoCo's")


@pytest.mark.parametrize(
    ("package", "name", "words"),
    [
        ("contactlab.multibody", "ForwardDynamics", "RBDL's ForwardDynamics is contactlab.multibody.forward_dynam"),
        ("contactlab.constraints", "CalcAssemblyQ", "RBDL's CalcAssemblyQ is contactlab.constraints.assemble_q here"),
        ("contactlab", "CalcAssemblyQ", "RBDL's CalcAssemblyQ is contactlab.constraints.assemble_q here"),
        ("contactlab", "SolveImpactProblem", "Drake's SolveImpactProblem is contactlab.ConstraintSolver.solve_impact"),
        ("contactlab.simulation", "mj_step", "MuJoCo's mj_step is contactlab.simulation.Simulation.step here"),
        ("contactlab.contact", "computeCollisions", "Pinocchio's computeCollisions is contactlab.contact.detection"),
        ("contactlab.multibody", "rnea", "Pinocchio's rnea is contactlab.multibody.inverse_dynamics here"),
        ("contactlab.constraints", "ConstraintVelProblemData", "is problem_data.ConstraintVelProblemData here"),
        ("contactlab.constraints", "ForwardDynamicsConstraintsNullSpace", r"constraints\(method='null_space'\) here"),
        ("lcp", "UnrevisedLemkeSolver", "Drake's UnrevisedLemkeSolver is lcp.Lemke here"),
        ("lcp", "LinearComplementarityProblem", "Siconos' LinearComplementarityProblem is lcp.LCP here"),
        ("problem_data", "ConstraintSolver", "Drake's ConstraintSolver is contactlab.ConstraintSolver here"),
        # Names of this library, misspelt.
        ("contactlab.multibody", "RandomConfiguration", "it is contactlab.multibody.random_configuration$"),
        ("contactlab.multibody", "forward_dynamic", "; close: forward_dynamics"),
        ("contactlab", "ConstraintSolvr", "; close: ConstraintSolver"),
    ],
)  # fmt: skip
def test_packages_answer(package: str, name: str, words: str) -> None:
    """An AttributeError says what the name is called here, with its address; the name is in it for tools."""
    with pytest.raises(AttributeError, match=words) as caught:
        getattr(importlib.import_module(package), name)
    assert caught.value.name == name
    assert str(caught.value).startswith(f"module {package!r} has no attribute {name!r}")


def test_private_names_are_refused_at_once() -> None:
    """Tools that look for `__wrapped__` and its like get the plain error."""
    with pytest.raises(AttributeError, match=r"^module 'contactlab.multibody' has no attribute '_forward'$"):
        importlib.import_module("contactlab.multibody")._forward  # noqa: B018


@pytest.mark.parametrize("guide", ["from_rbdl.md", "from_drake.md"])
def test_functions_of_the_guides_are_answered(guide: str) -> None:
    """Every function and class in the first columns has an answer, and it is one that its row names."""
    library = "RBDL's" if guide == "from_rbdl.md" else "Drake's"
    known, head, heading = foreign_names(), "", ""
    checked = 0
    for line in (DOCS / guide).read_text(encoding="utf-8").splitlines():
        heading = line if line.startswith("## ") else heading
        if not line.startswith("|"):
            head = ""
            continue
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if not head:
            head = cells[-1]
        elif head == "contactlab" and not line.startswith("| ---"):
            for code in re.findall(r"`([^`]+)`", cells[0]):
                name = re.sub(r"<T>|\(.*\)$", "", code).replace("::", ".").rpartition(".")[2]
                if "..." in code or not name.isidentifier() or name in MEMBERS or re.match(r"X\d?\.", code):
                    continue
                answers = [meant for theirs, meant in known.get(name, ()) if theirs == library]
                assert answers, f"{name} of {heading}"
                checked += 1
                if "the same" not in cells[-1] and "list of targets" not in cells[-1]:
                    last = re.match(r"[\w.]+", answers[0])
                    assert last is not None
                    assert last[0].rpartition(".")[2] in cells[-1], f"{name}: {answers[0]} is not in {cells[-1]}"
    assert checked > (80 if library == "RBDL's" else 15)


def test_tables_of_lcp_and_contactlab_agree() -> None:
    """Both answer alike for what Drake's solvers of LCPs are."""
    import lcp

    for here, names in lcp._FOREIGN["Drake's"].items():
        for name in names.split():
            assert foreign_names()[name] == (("Drake's", f"lcp.{here}"),)
    for table in lcp._FOREIGN.values():
        assert all(hasattr(lcp, here) for here in table)


def test_what_the_solver_takes_is_imported_from_the_top() -> None:
    """Problem data, their solver and its backends have one address each in `contactlab`, loaded on first use."""
    import problem_data
    from contactlab import formulation
    from contactlab.formulation.quadratic_programs import ConvexRelaxation, StaggeredProjections

    assert contactlab.ConstraintVelProblemData is problem_data.ConstraintVelProblemData
    assert contactlab.ConstraintAccelProblemData is problem_data.ConstraintAccelProblemData
    assert contactlab.problem_data_from is formulation.problem_data_from
    assert contactlab.ConvexRelaxation is ConvexRelaxation
    assert contactlab.StaggeredProjections is StaggeredProjections
    code = "import sys, contactlab; print([name for name in ('numpy', 'scipy', 'problem_data') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
