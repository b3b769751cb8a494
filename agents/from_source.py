"""Imports of third-party agents from their source text, never from compiled files.

Python takes a compiled file for that of a source of the same size and time of change, in whole
seconds: after two edits within a second it may run the first. Results are stored under a hash of
the source text, so that this is what has to run.
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
    """A loader that compiles the source at every import."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the file as it is now."""
        code: CodeType = self.source_to_code(self.get_data(self.path), self.path)
        return code


class _SourceFinder(MetaPathFinder):
    """Finds modules as the other finders do, and loads those of some packages from source.

    Attributes:
        packages: Their top-level names.
    """

    def __init__(self) -> None:
        self.packages: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of one of the packages; None for all others."""
        if name.partition(".")[0] not in self.packages:
            return None
        finders = (getattr(each, "find_spec", None) for each in sys.meta_path if each is not self)
        found = (find(name, path, target) for find in finders if find is not None)
        spec = next((each for each in found if each is not None), None)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _SourceLoader(spec.loader.name, spec.loader.path)
        return spec


_finder = _SourceFinder()


def import_from_source(name: str) -> ModuleType:
    """Import a module; what its package imports of itself later is loaded from source, too."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _finder.packages.add(name.partition(".")[0])
    return import_module(name)


def load_file(path: Path) -> ModuleType:
    """Load a module from a file, under a name of its own."""
    # The same name in every process, so that its objects can be sent between them; another one
    # after an edit.
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
