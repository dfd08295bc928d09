"""Code in the text that names a page (`docs/scenes.md`) or an object of the API (`lcp.Lemke`) becomes a link to it.

The pages stay readable as plain files. The name of a page that does not exist gives a warning.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.domains.python import ObjectEntry
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

PAGE = re.compile(r"(docs/)?([\w/]+)\.md")
#: Files beside the code that are not pages.
FILES = {"README", "CONTRIBUTING", "CHANGELOG"}
NAME = re.compile(r"(?:contactlab|lcp|problem_data)(?:\.\w+)+")
log = logging.getLogger(__name__)


def page_of(app: Sphinx, source: str, match: re.Match[str]) -> str | None:
    """The page that a file name means: in the folder of the current page, or in the folder of pages."""
    beside = str(PurePosixPath(source).parent / match[2])
    return next((page for page in (beside, match[2]) if page in app.env.found_docs), None)


def short_names(objects: dict[str, ObjectEntry]) -> dict[str, str]:
    """Classes and functions by their last name, as docstrings call them, if the name is unique."""
    found: dict[str, list[str]] = {}
    for name, entry in objects.items():
        if entry.objtype in ("class", "exception", "function"):
            found.setdefault(name.rpartition(".")[2], []).append(name)
    return {short: names[0] for short, names in found.items() if len(names) == 1}


def link_literals(app: Sphinx, doctree: nodes.document, source: str) -> None:
    """Turn literals that name a page or an object into references."""
    objects = app.env.domains.python_domain.objects
    shorts = short_names(objects) if source.startswith("api/") else {}
    for literal in list(doctree.findall(nodes.literal)):
        text = literal.astext()
        if isinstance(literal.parent, nodes.reference):
            continue
        target, anchor = None, ""
        if match := PAGE.fullmatch(text):
            target = page_of(app, source, match)
            if target is None and match[2].split("/")[-1] not in FILES:
                log.warning("no page is called %s", text, location=literal)
        elif (name := text if NAME.fullmatch(text) else shorts.get(text)) in objects:
            target, anchor = objects[name].docname, objects[name].node_id
        if target is not None and (target != source or anchor):
            reference = make_refnode(app.builder, source, target, anchor, literal.deepcopy())
            literal.replace_self(reference)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transformation."""
    app.connect("doctree-resolved", link_literals)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
