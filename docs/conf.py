"""How the documentation is built: `sphinx-build -W --keep-going -j auto docs docs/_build/html`, without a network."""

from __future__ import annotations

import sys
from pathlib import Path

import contactlab

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "contactlab"
author = "contactlab developers"
copyright = author
version = release = contactlab.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "api_pages",
    "faster_pages",
    "gallery_pages",
    "literal_links",
    "mathml",
    "notebooks",
    "tour_pages",
]
exclude_patterns = ["_build", "_ext", "notebooks"]
templates_path: list[str] = []

# Markdown: formulas between dollars, a label for every heading.
myst_enable_extensions = ["dollarmath", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3

# A name between single backticks in a docstring is code, and a link if it is the name of a documented object.
default_role = "code"
nitpicky = True
# Types of other libraries are not looked up, because that needs a network.
nitpick_ignore_regex = [("py:.*", ".*")]
suppress_warnings = ["ref.python"]  # a name that several classes have, in prose that Sphinx takes for a type
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
add_module_names = False

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"contactlab {release}"
html_static_path = ["_static"]
html_css_files = ["contactlab.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
pygments_style = "friendly"
