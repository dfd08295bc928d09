"""The tree that links and joints make, parents before children."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from contactlab.multibody.urdf.guarded_xml import shown
from contactlab.multibody.urdf.joints import UrdfJoint
from contactlab.multibody.urdf.reading import Element


def by_name(elements: Iterable[Element]) -> dict[str, Element]:
    """Elements by their names, which must differ."""
    named: dict[str, Element] = {}
    for element in elements:
        name = element.text("name")
        if name in named:
            raise element.error(f"the name is taken by the {element.tag} in line {named[name].line}")
        named[name] = element
    return named


def _close(name: str, names: Iterable[str]) -> str:
    # Comparing names costs the product of their lengths: not for what only an attacker would write.
    candidates = [other for other in names if len(other) <= 100][:1000] if len(name) <= 100 else []
    close = difflib.get_close_matches(name, candidates, n=3, cutoff=0.5)
    return f"; close: {', '.join(map(repr, close))}" if close else ""


def ordered(robot: Element, links: Mapping[str, Element], joints: Sequence[UrdfJoint]) -> tuple[str, list[UrdfJoint]]:
    """The root link, and the joints depth first, those of one link in the order of the file.

    Refuses unknown links, a link with two joints above it, several roots, and cycles.
    """
    above: dict[str, UrdfJoint] = {}
    below: dict[str, list[UrdfJoint]] = {name: [] for name in links}
    for joint in joints:
        for role, link in (("parent", joint.data.parent), ("child", joint.data.body)):
            if link not in links:
                raise joint.element.error(f"its {role} link {shown(link)} is not there{_close(link, links)}")
        if joint.data.parent == joint.data.body:
            raise joint.element.error(f"connects {shown(joint.data.body)} with itself")
        if joint.data.body in above:
            other = above[joint.data.body]
            place = f"joint {shown(other.data.name)} (line {other.element.line})"
            raise joint.element.error(f"its child link {shown(joint.data.body)} hangs on {place} already")
        above[joint.data.body] = joint
        below[joint.data.parent].append(joint)
    roots = [name for name in links if name not in above]
    if not links:
        raise robot.error("has no link")
    if len(roots) > 1:
        named = ", ".join(shown(name) for name in roots[:5]) + (", ..." if len(roots) > 5 else "")
        raise links[roots[1]].error(f"several links are no joint's child, there must be one root: {named}")
    order: list[UrdfJoint] = []
    waiting = [joint for root in roots for joint in reversed(below[root])]
    while waiting:
        joint = waiting.pop()
        order.append(joint)
        waiting.extend(reversed(below[joint.data.body]))
    if len(order) < len(joints):
        reached = {joint.data.name for joint in order}
        start = next(joint for joint in joints if joint.data.name not in reached)
        raise start.element.error(f"belongs to a cycle: {_cycle(start, above)}")
    return roots[0], order


def _cycle(start: UrdfJoint, above: Mapping[str, UrdfJoint]) -> str:
    """The links of the cycle above a joint that no root reaches."""
    seen: dict[str, int] = {}
    link = start.data.body
    while link not in seen:
        seen[link] = len(seen)
        link = above[link].data.parent
    links = [link, *reversed(list(seen)[seen[link] :])]
    return " -> ".join(shown(name) for name in links[:8]) + (" ..." if len(links) > 8 else "")


def check_mimics(joints: Sequence[UrdfJoint]) -> None:
    """Every mimic must follow a one-axis joint that is there, and none may follow itself through others."""
    known = {joint.data.name: joint for joint in joints}
    settled: set[str] = set()
    for joint in joints:
        path: dict[str, None] = {}
        at = joint
        while at.data.mimic is not None and at.data.name not in settled:
            if at.data.name in path:
                raise at.element.error(
                    "mimics itself: " + " -> ".join(shown(name) for name in [*list(path)[:8], at.data.name])
                )
            path[at.data.name] = None
            followed = at.data.mimic.joint
            if followed not in known:
                raise at.element.error(f"mimics joint {shown(followed)}, which is not there{_close(followed, known)}")
            if known[followed].data.kind not in ("revolute", "continuous", "prismatic"):
                raise at.element.error(f"mimics joint {shown(followed)}, which is {known[followed].data.kind}")
            at = known[followed]
        settled.update(path)
