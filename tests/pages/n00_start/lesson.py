"""The one thing each exercise of page 00 teaches, and answers without it."""

from tests.pages.lesson import Lesson, named

LESSONS = {"00.1": Lesson("rounding up in integers", named("00.1", "rounds_down", "one_more", "through_floats"))}
