"""What the wrong answers to notebook 07 share."""

from tutorlib.course.answers import load_answers

RIGHT = load_answers("07_cutile_gemm")
GEMM, PERSISTENT, TF32, FP8, PARTS = (RIGHT[id] for id in ("07.1", "07.4", "07.6", "07.7", "07.8"))
