"""How answers of page 14 alone are judged: the part of its room that the sandbox shows."""
