"""Sphinx settings: those of sphinx-astropy, less what needs the network."""

import os
import sys
from pathlib import Path

from sphinx_astropy.conf.v2 import *  # noqa: F403
from sphinx_astropy.conf.v2 import exclude_patterns, extensions

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from astropy_tilecomp._version import version as release  # noqa: E402

project = "astropy_tilecomp"
author = "The astropy_tilecomp developers"
copyright = author  # noqa: A001
version = release.split("+")[0]

highlight_language = "python3"
exclude_patterns += ["_templates", "changes"]
extensions = [name for name in extensions if name != "sphinx.ext.intersphinx"]
if os.environ.get("READTHEDOCS"):
    extensions.append("sphinx.ext.intersphinx")
else:
    intersphinx_mapping = {}

html_title = f"astropy_tilecomp {release}"
html_theme_options = {"navigation_with_keys": False, "show_prev_next": True}
html_sidebars = {}
templates_path = []
html_static_path = []
suppress_warnings = ["intersphinx.external"]
nitpicky = False
numpydoc_show_class_members = False
automodapi_inheritance_diagram = False
automodsumm_inherited_members = False
