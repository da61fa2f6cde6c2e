from tests.right.hopper_loops import a_class_of_its_own, counts_by_itself, expects_in_parts, flips_its_phase
from tests.right.hopper_loops import one_loop_for_all, waits_by_polling
RIGHT = {"13.7": [one_loop_for_all, a_class_of_its_own]}
