"""The kinds of exercise, and how an answer is judged."""
