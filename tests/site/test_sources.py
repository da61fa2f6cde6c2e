"""What Sphinx reads: links that fit the site, explorers as data, and lines of an answer taken out of outputs."""

from nbformat import v4

from tutorlib.paths import ROOT
from tutorlib.site.links import REPOSITORY, manual_text, notebook_links
from tutorlib.site.live import explorer_data
from tutorlib.site.pages import HIDDEN, redact


def test_links_of_notebooks_have_githubs_anchors():
    text = (
        "[a](glossary.ipynb#Bank-conflict) [b](07_x.ipynb#07-%C2%B7-A-GEMM,-fast) [c](contents.ipynb) [d](https://x.y)"
    )
    assert notebook_links(text) == (
        "[a](glossary.ipynb#bank-conflict) [b](07_x.ipynb#07--a-gemm-fast) [c](index.md) [d](https://x.y)"
    )


class TestManuals:
    TEXT = "[page](../notebooks/00_start.ipynb) [other](other.md#a) [code](../tutorlib/cli.py) [it](../README.md)"

    def linked(self, folder):
        docs = ROOT / "docs"
        manual = folder / "manual.md"
        text = f"{self.TEXT} ![p](p.png)".replace("../", f"{ROOT}/").replace("(other", f"({docs}/other")
        manual.write_text(text, encoding="utf-8")
        (folder / "p.png").write_bytes(b"a picture")
        (folder / "site").mkdir()
        return manual_text(manual, [docs / "other.md"], folder / "site")

    def test_a_link_leads_to_a_page_of_the_site_or_becomes_text(self, tmp_path, monkeypatch):
        monkeypatch.delenv(REPOSITORY, raising=False)
        assert self.linked(tmp_path) == "[page](00_start.ipynb) [other](other.md#a) code [it](index.md) ![p](p.png)"
        assert (tmp_path / "site" / "p.png").read_bytes() == b"a picture"

    def test_a_workflow_links_to_its_repository(self, tmp_path, monkeypatch):
        monkeypatch.setenv(REPOSITORY, "owner/course")
        assert "[code](https://github.com/owner/course/blob/HEAD/tutorlib/cli.py)" in self.linked(tmp_path)


class TestExplorers:
    def test_an_explorer_has_its_inputs_with_the_calls_values(self):
        above = ["from tutorlib.explorers.pipelines import explore_timeline", "first = 2\nsecond = first + 1"]
        found = explorer_data("explore_timeline(stages=second, tiles=5)", above)
        assert (found["kind"], found["arguments"]["tiles"]) == ("timeline", 5)
        assert found["inputs"][0] == {"kind": "range", "name": "stages", "value": 3, "min": 1, "max": 6, "step": 1}


def test_a_line_of_an_answer_is_taken_out_of_text_and_html():
    line = "y = x < limit and x"
    outputs = [
        v4.new_output("stream", text=f"line 3, `{line}`\n"),
        v4.new_output("display_data", {"text/html": "<td>y = x &lt; limit and x</td>", "image/png": "AA=="}),
    ]
    for output in outputs:
        redact(output, [line])
    assert outputs[0].text == f"line 3, `{HIDDEN}`\n"
    assert outputs[1].data == {"text/html": f"<td>{HIDDEN}</td>", "image/png": "AA=="}
