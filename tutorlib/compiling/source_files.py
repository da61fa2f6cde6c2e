"""A Python module made of text: the DSLs read a kernel's source from its file, so it is written to one."""

import shutil
import tempfile
from importlib import util
from multiprocessing.util import Finalize
from pathlib import Path
from types import ModuleType

from tutorlib.compiling.errors import CompileFailed


def module_from(text: str, name: str) -> ModuleType:
    """The module. Raises CompileFailed where the text is no Python, or raises as it is imported."""
    try:
        return executed(text, name)
    except SyntaxError as error:
        place = f"line {error.lineno}, `{(error.text or '').strip()}`"
        raise CompileFailed(f"{place}: {error.msg}", error.lineno or 0) from error
    except Exception as error:
        raise CompileFailed(f"importing it raises {type(error).__name__}: {error}") from error


def executed(text: str, name: str) -> ModuleType:
    """The module. Raises what executing the text raises."""
    file = lasting_folder() / f"{name}.py"
    file.write_text(text, encoding="utf-8")
    return module_of(file, name)


def module_of(file: Path, name: str) -> ModuleType:
    """A file as a module of this name, which is imported nowhere else. Raises what executing it raises."""
    spec = util.spec_from_file_location(name, file)
    assert spec is not None  # a .py file has both
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lasting_folder() -> Path:
    """A folder that lasts as long as this process: a kernel's source is read when it is compiled."""
    folder = tempfile.mkdtemp(prefix="tutor-text-")
    Finalize(None, shutil.rmtree, (folder, True), exitpriority=0)  # unlike atexit, also in a child of multiprocessing
    return Path(folder)
