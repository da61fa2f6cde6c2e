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
<<<<<<< HEAD
system kills when the one above it ends (`limited_process`).

What the sandbox promises (`sandbox` lists what it shows; `supervisor` runs and watches it):
- No process in it is root on the host, has capabilities or can get any, or can make a namespace.
- It has no network, sees no process but its own, and of the machine's files only those listed, read-only, wherever the
  course lies. No solved pages, references, tests, notebooks, home folders or other submissions. It has none of the
  grader's variables, and no file or socket of the grader's but its standard input.
- It writes to memory alone. What its processes take together has a limit, at which the supervisor looks four times a
  second. Processes, open files and the size of a file have limits; a lower one of the grader's own is kept.
- It ends when the grader does, however the grader ends.

The course's own kernels and models are in reach of an answer, and so is what libraries can do of an exercise. An answer
whose code names one of these is refused (`checking.library_use`); code that is written to hide a name gets past
that search.

What it does not promise. The sandbox shares the machine's kernel and its GPU. System calls are not filtered, and memory
that no process maps, as in a `memfd`, is not counted. A CUDA kernel that the judge launches
reaches the judge's memory on the GPU, and may find the expected result there. Some answers rest in part on what the
page's process says: 08.4 without a GPU; 19.1 to 19.6; what 20.4 to 20.6 compile, keep and replay.
Read those answers, and those that the class page lists as similar, where grades matter.
Without a sandbox (`--no-sandbox`) an answer can attack the grader.
=======
system kills when the one above it ends (`limited_process`). `sandbox` lists what the sandbox shows, and `supervisor`
runs and watches it; docs/instructor.md has what it promises.
>>>>>>> rec
"""
