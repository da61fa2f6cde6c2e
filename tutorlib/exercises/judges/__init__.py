"""The part of each page's exercises that an answer's process needs, and all of them that the sandbox shows."""
