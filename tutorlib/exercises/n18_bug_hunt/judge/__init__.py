"""How answers of page 18 alone are judged: the part of its room that the sandbox shows."""
