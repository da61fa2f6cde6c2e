"""Python runs this as it starts under `tutor simulate -- COMMAND`, which has put this folder on PYTHONPATH."""

import sys
from contextlib import suppress
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
LIBRARIES = ("torch", "cutlass", "cuda.tile", "triton")


class BeforeTheFirst:
    """Enters the stand-in when the first of the libraries is imported: a process that needs none has no delay."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in LIBRARIES:
            return None
        sys.meta_path.remove(BeforeTheFirst)
        if (package := str(HERE.parents[3])) not in sys.path:
            sys.path.append(package)
        from tutorlib.simulate.stand_in.script import enter

        enter()
        return find_spec(name)


sys.path[:] = [folder for folder in sys.path if Path(folder) != HERE]
this = sys.modules.pop("sitecustomize")
with suppress(ImportError):
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401  # the environment's own, which this one hides
sys.modules["sitecustomize"] = this
sys.meta_path.insert(0, BeforeTheFirst)
