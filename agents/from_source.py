"""Import of third-party agents from their source text, never from compiled files.

Python compares a compiled file with its source only by the size of the source and the time of its
last change, in whole seconds. After two edits within a second, Python may therefore run the code of
the first edit. Results are stored under a hash of the source text, so exactly this text must be
run.
"""

from __future__ import annotations

import importlib.util
import sys
import zlib
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType


class _SourceLoader(SourceFileLoader):
    """Loader that compiles the source at every import."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the current source file."""
        code: CodeType = self.source_to_code(self.get_data(self.path), self.path)
        return code


class _SourceFinder(MetaPathFinder):
    """Finder that loads the modules of some packages from source.

    Attributes:
        packages: Top-level names of the packages.
    """

    def __init__(self) -> None:
        self.packages: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec that loads a module of ``packages`` from source; None for other modules."""
        if name.partition(".")[0] not in self.packages:
            return None
        finders = (getattr(f, "find_spec", None) for f in sys.meta_path if f is not self)
        specs = (find(name, path, target) for find in finders if find is not None)
        spec = next((s for s in specs if s is not None), None)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _SourceLoader(spec.loader.name, spec.loader.path)
        return spec


_finder = _SourceFinder()


def import_from_source(name: str) -> ModuleType:
    """Import a module from source.

    Later imports of modules in the same top-level package also use the source.
    """
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _finder.packages.add(name.partition(".")[0])
    return import_module(name)


def load_file(path: Path) -> ModuleType:
    """Load a module from a file under a unique name."""
    # The name is the same in all processes, so that objects can be pickled. It changes with every
    # edit, so that an edited file is loaded again.
    content = str(path.resolve()).encode() + path.read_bytes()
    name = f"_agent_file_{path.stem}_{zlib.crc32(content)}"
    if name not in sys.modules:
        loader = _SourceLoader(name, str(path))
        spec = importlib.util.spec_from_file_location(name, path, loader=loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]
