"""Grading: a submission → scores.

    the grader ── the judge's process ──│sandbox│── the page's process: the page, the student's cells, the answers
                       calls, or one request for evidence →
                       ← values, or evidence: PTX, Tile IR, launches

The page's process runs the course's page with the student's answers and the cells that the student added. The course's
own cells are pristine; a cell that the student changed runs before the pristine one, so it can only add names
(`merged_page`). The points are decided outside the sandbox, by the judge that `check` uses. It holds the answer as a
`checking.answer.Served` that speaks over a line (`remote_judge`, `page_process`), and draws inputs by a secret seed
that the scores name. Exercises never cross, and no functions but those of the course that the answer's process has
already, by name: so their references stay out of reach. Of a kernel, PTX or Tile IR comes back and no machine code
(`checking.evidence`): the judge compiles it, simulates it or launches it on a GPU, with inputs, outputs and a clock of
its own. What the page's process says of a kernel besides can only lower its points.

On a GPU the notebooks of a submission take turns (`machine.device`), and other submissions wait. An answer that hangs,
or ends a process, loses its own points; the others go on in a fresh one (`grade`).

Bytes that a student made are read by processes with limits on time and memory: notebooks, cells and zips by children
of `limited_process`, messages and PTX by the judge's process (`wire`, `judge_process`). nvcc, ptxas and tileiras each
run in a sandbox of their own. `tutor grade` and `tutor class` themselves only wait for children, each of which the
system kills when the one above it ends (`limited_process`). `sandbox` lists what the sandbox shows, and `supervisor`
runs and watches it; docs/instructor.md has what it promises.
"""
