"""Python runs this as it starts under `tutor simulate -- COMMAND`, which has put this folder on PYTHONPATH."""

import sys
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent

sys.path[:] = [folder for folder in sys.path if Path(folder) != HERE]
this = sys.modules.pop("sitecustomize")
with suppress(ImportError):
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401  # the environment's own, which this one hides
sys.modules["sitecustomize"] = this
if (package := str(HERE.parents[3])) not in sys.path:
    sys.path.append(package)

from tutorlib.simulate.stand_in.script import enter  # noqa: E402

enter()
