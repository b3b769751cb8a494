"""Page of the kernels: formulas, attributes, and the names that other libraries use."""

from __future__ import annotations

import dataclasses
import inspect
import re
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from site_pages import markdown as md
from site_pages.agent_pages import prose
from site_pages.docstrings import blocks, for_myst
from site_pages.settings import arguments

FORMULAS = {
    "Constant": r"c(d) = 1",
    "Periodic": r"c(d) = \exp\left(-\frac{2}{\ell^2} \sin^2 \frac{\pi d}{\tau}\right)",
    "TruncatedPeriodic": r"c(d) = \sum_{k=0}^{K} w_k \cos\frac{2 \pi k d}{\tau}, \quad "
    r"w_k \propto (1 + [k > 0])\, I_k(1/\ell^2), \quad \sum_k w_k = 1",
    "Harmonics": r"c(d) = \sum_{k=k_0}^{k_1} w_k \cos\frac{2 \pi k d}{\tau}, \quad "
    r"w_k \propto k^{-3/2}, \quad \sum_k w_k = 1",
    "Decay": r"c(d) = (1 - \varepsilon)^{|d| / 2}",
    "TimeSquaredExponential": r"c(d) = \exp\left(-\frac{d^2}{2 \ell^2}\right)",
    "SquaredExponential": r"k(a, b) = \exp\left(-\frac{|a - b|^2}{2 \ell^2}\right)",
    "Matern": r"k(a, b) = \frac{2^{1 - \nu}}{\Gamma(\nu)}\, s^\nu K_\nu(s), \quad "
    r"s = \sqrt{2 \nu}\, \frac{|a - b|}{\ell}",
    "Linear": r"k(a, b) = \frac{a \cdot b}{\ell^2}",
    "Index": r"k(a, b) = [a = b]",
    "EmpiricalCovariance": r"k(a, b) = S_{a b}",
    "ContextSquaredExponential": r"k_U(u, u') = \exp\left(-\frac{|u - u'|^2}{2 \ell^2}\right)",
}
"""Formulas by class; a kernel that is missing has only the formula in its docstring."""
_IN_LETTERS = re.compile(r"(?:^|: )(?:k|c|k_U)\(.*", re.DOTALL)
"""Formula as text in a docstring, omitted if the page has the formula in LaTeX."""
GROUPS = {
    "time": ("Kernels over time", "Functions of the lag $d = t - s$ that are 1 at lag 0."),
    "action": ("Kernels over actions", "In the formulas, $a$ and $b$ are two actions."),
    "context": ("Kernels over contexts", "In the formulas, $u$ and $u'$ are two contexts."),
}


def kernel_classes() -> dict[str, list[type]]:
    """Return the kernels of the package by the name of their module."""
    from agents.gp import kernels
    from agents.gp.kernels.base import ActionKernel, Kernel, TimeKernel

    found: dict[str, list[type]] = {}
    for info in iter_modules(kernels.__path__, f"{kernels.__name__}."):
        module = import_module(info.name)
        own = [
            cls
            for _, cls in inspect.getmembers(module, inspect.isclass)
            if issubclass(cls, Kernel)
            and cls.__module__ == info.name
            and issubclass(cls, (ActionKernel, TimeKernel))
            and cls not in (ActionKernel, TimeKernel)
        ]
        if own:
            own.sort(key=lambda cls: inspect.getsourcelines(cls)[1])
            found[info.name.rpartition(".")[2]] = own
    return found


def kernels_page() -> str:
    """Return the page of all kernels."""
    intro = r"""# Kernels

A kernel is the prior covariance of the mean rewards of two actions at two times, in two contexts.
You can add and multiply kernels. The result is always a sum of separable terms,

$$
k\{(a, t), (b, s)\} = \sum_i v_i \, k_i(a, b) \, c_i(t - s),
$$

where $k_i$ is a product of kernels over actions (and contexts) and $c_i$ is a product of kernels
over time. If all time kernels are finite sums of decaying cosines, the state-space engine computes
the posterior at a constant cost per step ([details](../explanation/model.md)).

```python
from agents.gp import Decay, Periodic, SquaredExponential

kernel = SquaredExponential(length_scale=0.5) * (Periodic(24.0) + 0.3 * Decay(0.02))
```
"""
    parts = [intro]
    for module, classes in kernel_classes().items():
        heading, note = GROUPS.get(module, (f"Kernels of `{module}`", ""))
        parts += [f"## {heading}", note, *(_kernel(cls) for cls in classes)]
    return md.page(*parts)


def _kernel(cls: Any) -> str:
    text = inspect.getdoc(cls) or ""
    says = arguments(text)
    formula = FORMULAS.get(cls.__name__)
    fields = [
        (f"`{f.name}`{_default(f)}", for_myst(says.get(f.name, "")))
        for f in dataclasses.fields(cls)
    ]
    said = [block for block in blocks(text) if not block.startswith("Attributes:")]
    if formula:
        said = [_IN_LETTERS.sub(".", said[0]), *(b for b in said[1:] if not _IN_LETTERS.match(b))]
    prosaic = [prose(block) for block in said]
    finite = _has_spectrum(cls)
    return md.page(
        f"### {cls.__name__}",
        f"$$\n{formula}\n$$" if formula else "",
        *prosaic,
        md.definitions(fields) if fields else "",
        "The state-space engine supports this time kernel." if finite else "",
        f"Class: `{cls.__module__}.{cls.__name__}`.",
    )


def _default(field: Any) -> str:
    return "" if field.default is dataclasses.MISSING else f" = {md.value(field.default)}"


def _has_spectrum(cls: Any) -> bool:
    from agents.gp.kernels.base import TimeKernel

    return issubclass(cls, TimeKernel) and "spectrum" in vars(cls)
