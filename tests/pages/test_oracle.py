"""The oracle loses no more than the answer that ends its process or does not end."""

import os
import time
from collections import Counter

from tests.pages import oracle

RIGHT = ("passed", "2", "2", "")
ANSWERS = {"right": lambda: RIGHT, "ends": lambda: os._exit(1), "hangs": lambda: time.sleep(600), "late": lambda: RIGHT}


def test_a_crash_and_a_hang_lose_one_answer_each(monkeypatch):
    monkeypatch.setattr(oracle, "grade", lambda exercise, answer, sender: sender.send(answer()))
    keyed = [(("00.1", "wrong", name), answer) for name, answer in ANSWERS.items()]
    rows = {key[2]: row for key, row in oracle.graded(keyed, jobs=2, limit=2)}
    assert Counter(row[0] for row in rows.values()) == {"passed": 2, "crash": 1, "timeout": 1}
    assert (rows["ends"][0], rows["hangs"][0], rows["late"]) == ("crash", "timeout", RIGHT)


def test_a_row_that_was_cut_off_is_computed_again(tmp_path):
    whole = oracle.line(("00.1", "wrong", "one"), RIGHT)
    (tmp_path / "rows.tsv").write_text(whole + whole[:12])
    assert oracle.read(tmp_path / "rows.tsv") == {("00.1", "wrong", "one"): RIGHT}
