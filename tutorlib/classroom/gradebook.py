"""The gradebook: a folder with a JSON file for each student, which holds a submission completely or not at all."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tutorlib.checking.exercise import Outcome
from tutorlib.classroom import CannotGrade
from tutorlib.classroom.files import report_name, write_whole


@dataclass(frozen=True)
class Judged:
    """One exercise's outcome. counts: how many points it could give on the machine that graded it."""

    outcome: Outcome
    counts: float


@dataclass(frozen=True)
class Graded:
    """A student's graded hand-in, as plain data.

    notebooks: (name, file) of each graded notebook. notes: lines about other files. failed: why the grader itself
    ended, or "". seconds: the time that it took. answers: (exercise, text of its answer as it was handed in).
    """

    judged: tuple[Judged, ...] = ()
    notebooks: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    failed: str = ""
    answers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, data: dict[str, Any]) -> "Graded":
        """From the JSON of `asdict`."""
        judged = tuple(Judged(Outcome(**verdict["outcome"]), verdict["counts"]) for verdict in data["judged"])
        pairs = {name: tuple((key, value) for key, value in data[name]) for name in ("notebooks", "answers")}
        return cls(**data | pairs | {"judged": judged, "notes": tuple(data["notes"])})


@dataclass(frozen=True)
class Submission:
    """One student's submission, as the gradebook has it. utc: when it was graded."""

    student: str
    content: str
    wanted: tuple[str, ...] | None
    seed: int | None
    utc: str
    graded: Graded

    def answers(self, content: str, wanted: tuple[str, ...] | None, seed: int | None) -> bool:
        """Whether it need not be graded again: the same content, no more notebooks wanted, the seed that is set."""
        enough = self.wanted is None or (wanted is not None and set(wanted) <= set(self.wanted))
        return self.content == content and enough and not self.graded.failed and seed in (None, self.seed)


@dataclass(frozen=True)
class Gradebook:
    """The gradebook in a folder."""

    folder: Path

    def put(self, submission: Submission) -> None:
        """Store a submission in place of the student's earlier submission, which stays where it raises CannotGrade."""
        try:
            write_whole(self.file_of(submission.student), json.dumps(asdict(submission), indent=1).encode())
        except OSError as error:
            raise CannotGrade(
                f"{error.filename or self.folder}: {error.strerror}. Run the same command again."
            ) from None

    def file_of(self, student: str) -> Path:
        return self.folder / f"{report_name(student)}.json"

    def submissions(self) -> dict[str, Submission]:
        """Student → submission, by name; without those that another version of the course wrote in another form."""
        found = {}
        for file in self.folder.glob("*.json"):
            with suppress(ValueError, TypeError, LookupError):
                data = json.loads(file.read_bytes())
                asked = data["wanted"] and tuple(data["wanted"])
                found[data["student"]] = Submission(**data | {"wanted": asked, "graded": Graded.of(data["graded"])})
        return dict(sorted(found.items()))
