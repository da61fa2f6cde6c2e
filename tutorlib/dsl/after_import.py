"""Something to do as soon as a module has been imported."""

from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


class AfterImport(MetaPathFinder):
    """For sys.meta_path: calls a function, once, when a module's import is done. then: by the module's name."""

    def __init__(self, then: dict[str, Callable[[], None]]) -> None:
        self.then = then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.then:
            return None
        then = self.then.pop(fullname)
        spec = find_spec(fullname)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def execute_and_then(module: ModuleType) -> None:
                execute(module)
                then()

            spec.loader.exec_module = execute_and_then  # type: ignore[method-assign]
        return spec
