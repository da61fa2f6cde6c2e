# The hints again, as the exercise holds them.
# deserves: 0
# stopped by: UnknownExercise
from tutorlib.exercises import find

answer = eval("lambda n: " + find("60.1").hints[-1])
