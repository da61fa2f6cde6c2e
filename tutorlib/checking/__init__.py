"""What an exercise is, and how an answer is judged."""
