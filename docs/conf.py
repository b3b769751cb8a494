"""Configuration of the documentation site: ``make docs``."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from site_pages.inventories import mapping  # noqa: E402
from site_pages.repository import ADDRESS, PACKAGES, hash_of, source_link  # noqa: E402

# Agents in notebooks and in reference runs share the cores with Sphinx's own processes.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
# Pages of studies import the functions that they share.
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])

project = "periodic-gp"
author = "The periodic-gp authors"
project_copyright = author
release = installed_version("periodic-gp")
version = release

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinxcontrib.bibtex",
    "sphinx_copybutton",
    "sphinx_design",
    "site_pages",
]
exclude_patterns = ["_build", "_ext", "**/.ipynb_checkpoints"]
root_doc = "index"
nitpicky = False

# --- text and notebooks ---------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline", "attrs_block"]
myst_heading_anchors = 4
nb_execution_mode = "cache"
# Notebooks show what the code does: they are run again where it has changed, not only their text.
nb_execution_cache_path = str(
    HERE.parent / "out" / "site-cache" / f"notebooks-{hash_of(*PACKAGES)}"
)
nb_execution_timeout = 90
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_eval_name_regex = ".+"  # expressions in the sentences of studies

# --- code -----------------------------------------------------------------------------------------

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_maximum_signature_line_length = 80
add_module_names = False

# The source of a name, where the repository's address is known.
if os.environ.get(ADDRESS):
    extensions.append("sphinx.ext.linkcode")
    linkcode_resolve = source_link

# Inventories of other projects are fetched only where that is asked for, as docs.yml does when it
# publishes. One that cannot be fetched is a note and no error.
if os.environ.get("PERIODIC_GP_DOCS_INTERSPHINX"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = mapping(HERE.parent / "out" / "site-cache")
    intersphinx_timeout = 10

# --- papers ---------------------------------------------------------------------------------------

bibtex_bibfiles = ["../references.bib"]
bibtex_default_style = "alpha"
bibtex_reference_style = "author_year"

# --- looks ----------------------------------------------------------------------------------------

html_theme = "furo"
html_title = "periodic-gp"
html_favicon = "_static/icon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"
pygments_style = "default"
pygments_dark_style = "github-dark"
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
