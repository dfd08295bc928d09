"""Formulas as MathML, which browsers draw without help: pages show them offline and without a script."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx


def markup(node: nodes.math | nodes.math_block, *, as_block: bool) -> str:
    """MathML of a formula in LaTeX; an unknown command stops the build."""
    return latex2mathml.tex2mathml(node.astext(), as_block=as_block)


def visit_inline(translator: Any, node: nodes.math) -> None:
    """A formula in a line of text."""
    translator.body.append(markup(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """A formula on its own lines."""
    translator.body.append(f'<div class="math">{markup(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
