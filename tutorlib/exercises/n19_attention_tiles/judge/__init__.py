"""How answers of page 19 alone are judged: the part of its room that the sandbox shows."""
