"""Grading: a submission → scores.

    the grader ── the judge's process ──│sandbox│── the kernel: the page, the student's cells, the answers
                       calls and questions, as plain data →
                       ← values, PTX, Tile IR, launches, as plain data

A kernel runs the course's page with the student's answers and the cells that the student added. The course's own cells
are pristine; a cell that the student changed runs before the pristine one, so it can only add names. The kernel runs in
a sandbox that bubblewrap builds, and the points are decided outside of it, by the same judge that `check` uses. The
judge holds the answer as a `checking.served.Served`, which here speaks over a connection (`remote_judge`,
`sandboxed_kernel`), and it knows that it judges for points (`checking.graded_run`). It calls a function for its values,
some of them with inputs that a secret seed draws; the scores name the seed. The kernel's process traces a CUDA kernel
and records its launches on tensors at made-up addresses. Text crosses, PTX or Tile IR, and no machine code: a cubin may
hold a program that the driver runs in the process that loads it. The judge's process parses the text, compiles it, and
simulates it or, on a machine with the right GPU, launches and times it, with inputs, outputs, a stream and a clock of
its own. What the kernel's process says of an answer can only lower its points. So can an instruction that the simulator
lacks: an answer that uses one still counts in the sum.

On a GPU the notebooks of a submission are graded side by side. Each has a judge's process and a CUDA context of its
own. A process that takes times waits until the others have finished what they run on the GPU, and they wait for it
(`machine.turns`). A cell that runs in the kernel's own process takes such a turn, too. Processes of another submission
never share the GPU meanwhile.

A kernel that breaks the judge's CUDA context, or never ends, ends this judge's process; the remaining answers go on in
a fresh one with a context of its own. A call has `work.TIME_LIMIT_S` seconds; the grader ends a call that hangs only
while it is timed once it has heard nothing for too long (`grading_run.SLACK_S`).

Where a process reads bytes that a student made, and its limits. C code (Python's compiler, `json`, `re`, `bz2`) answers
no signal and no thread, so only the end of its process ends it:

- A child process of `limited_process`, forked for the purpose, reads a notebook's file, of at most 32 MB (`submission`:
  JSON; `repaired_json`: nbformat, symbol tables, regular expressions; 10 s of processor time, 1 GB); its cells, of at
  most 2 MB (`sorted_cells`, `split_cells`, `needed_cells`: Python's parser and compiler, IPython's magics; 10 s and
  1 GB); the tries in its outputs (`classroom.solving_time`; the same); the answers that reports highlight and compare
  (`classroom.reports`, `classroom.similar_answers`: Pygments' lexers, on 16 kB of an answer); and a student's zips
  (`classroom.handed_in`, `classroom.class_run`; 30 s and 2 GB). The child returns plain records. An answer, cell,
  notebook or hand-in that exceeds its limits is left out, with a line that says so; after 3 such files the submission's
  other files are not read, and after 6 such cells the notebook is not.
- The judge's process reads the messages of the kernel's process (`wire`: 256 MB, 4 million list elements;
  `judge_process`: 64 MB of replies for a cell, and nothing that it prints) and PTX, Tile IR and the names in them
  (`simulate`, `compiling`). `cpu_limit` ends the process after one and a half time limits of a cell of processor time;
  SIGXCPU ends it where its own thread cannot. RLIMIT_DATA bounds its memory. The exercise under judgment gets no
  points, and the others go on in a new process.
- The grader's process reads only texts that those processes returned, of limited size, as JSON and as cells. Modules
  beside a notebook (`local_modules`: 20 of 256 kB each) pass through it unread; a cell of the page writes them to the
  sandbox's scratch folder, which is last on `sys.path`, and no other process imports them.

`tutor class` itself only waits for children, so it answers a signal at any time. The operating system kills each
process of its chain (command, fork server, worker, reader or judge, bubblewrap) when the one above it ends
(`machine.lineage`).

What the sandbox promises (`sandbox` says what it shows, `supervisor` runs and watches it):
- No process in it is root on the host, whoever grades: when root grades, each sandbox has a user of its own that the
  host uses for nothing else. Its processes have no capabilities and cannot get any.
- It has no network, sees no process but its own, and no file of the machine but the system's libraries, Python, its
  packages, `tutorlib` and the figures, all of them read-only: no solutions, tests, notebooks, home directories or other
  submissions. Every file below /proc/sys and, on a GPU machine, /sys is read-only.
- Its processes, bubblewrap's among them, have a few known environment variables and none of the grader's others. None
  of them can read or trace process 1, which is bubblewrap's.
- A seccomp filter refuses the system calls that no program of the course needs. `seccomp` lists each with the reason:
  other processes' memory, namespaces and mounts, memory that belongs to no process, engines of the kernel such as bpf
  and io_uring, administration of the machine, sockets other than AF_UNIX and AF_INET, calls of other architectures.
- Its processes together have a memory limit, `sandbox.MEMORY`: their private and shared memory, and the files in its
  in-memory folders. The supervisor looks four times a second, so a sandbox can exceed the limit for a moment; no single
  process can allocate more than that. There are also limits on the number of processes, on the size of a file, and on
  the bytes in the on-disk folder through which the grader speaks to the kernel.
- It ends when the grader does, however the grader ends.
Code that harms what it reaches there harms its own submission alone.

nvcc, ptxas and tileiras read what students or their processes wrote. Each runs in a sandbox of its own, which holds the
system's files and the folder that it works in, with limits on memory, time and output (`compiling.outside`). The host
code of a C++ program runs in one, too.

What the sandbox does not promise. It shares the machine's kernel and, where there is one, its GPU, whose memory other
processes may use. What the kernel keeps on behalf of a process, such as socket buffers, counts toward no limit. A CUDA
kernel that the judge launches reaches all of the judge's memory on the GPU, as any kernel reaches all of its process's:
one written to find the expected result there might. Where a GPU addresses ordinary memory (HMM, Grace), it reaches that
of the judge as well. Where the grader is root of a user namespace that has no other user, students' processes have that
user too, without its capabilities. The CuTe DSL, cuTile and torch can do some of what pages ask for: the kernel's
process watches the calls of an answer, and code written to evade the watch may.

No solution is in reach of the answer under judgment. Of `tutorlib.exercises`, with its references, mistakes and hints,
the sandbox shows only the `judge` folders, which have none of these: the judge sends the fields of a kernel exercise
(`sent_exercise`), and a reference remains a function of the judge's, called over the connection. The course's kernels
and models hold many solutions again. They are in the sandbox, but the functions that solve the exercise at hand have no
body, in source and bytecode alike; a page of kernels is judged in as many sandboxes as that takes (`rounds`). On pages
00 to 03 the functions of tensor_layouts and of the course that exercises forbid are not in the sandbox either: a
library process outside runs them, and refuses those of the exercise under judgment (`library_process`). NumPy's
constructors in 01.2 are only watched, and so are the fragment layouts in 03.6 and 03.7, which the page prints.

What still rests in part on the student's process: 07.7 without a GPU, since the simulator lacks FP8 (the kernel's
process interprets it, on inputs drawn here, and the judge compiles it); 16.9, whose tensors have no data and are
described; all of 16.10 but its result; of 16.8 and 16.11 to 16.14, what is copied; of 17.4 and 17.12, which tensors are
kept; of 17.5, whose calls they are: what the answer compiles is compiled, called and timed by the judge; of 17.11, that
a graph gave the results, and its cost on a GPU; of 17.12, how threads meet and what is released. Read those answers
where grades matter.
The host code of a C++ program runs in a sandbox of its own, and the GPU that it gets first is the judge's process: a
launch there returns sums that the program cannot compute. A program that speaks the protocol of the runtime library's
stand-in by hand, without a CUDA call, is taken for right. The class page's time to solve is what the students' files
say; nothing else rests on it. Without a sandbox (`--no-sandbox`) an answer can attack the grader's processes and files.
"""
