"""How answers of page 17 alone are judged: the part of its room that the sandbox shows."""
