"""Evidence: what runs of the solutions become, and README's table, which is always that of the committed data."""

import json

import pytest
from nbclient.exceptions import CellExecutionError

from tutorlib import build, device, evidence, plots
from tutorlib.check import RESULTS, check
from tutorlib.evidence import Run, calibrated, collect, recording
from tutorlib.exercises import find, of_notebook

MACHINE = {"gpu": "NVIDIA H200", "arch": "sm_90", "driver": "580.0", "packages": {}}
LADDER = [exercise for exercise in of_notebook("05_copy_kernels") if exercise.needs != "cpu"]


def record(id, gbps=4200.0, ratio=0.98, spread=0.01):
    measurement = {
        "shape": [32768, 16384],
        "dtype": "bf16",
        "median_us": 511.3,
        "baseline": "torch copy_",
        "baseline_us": 511.3 * ratio,
        "ratio": ratio,
        "spread": spread,
        "throttled": [],
        "gbps": gbps,
        "tflops": None,
    }
    exercise = find(id)
    return {"id": id, "status": "passed", "points": exercise.points, "message": "✓", "measurement": measurement}


@pytest.fixture
def h200(monkeypatch):
    monkeypatch.setattr(device, "this_machine", lambda: MACHINE)


@pytest.fixture
def data(h200):
    return collect([Run("05_copy_kernels", 20.0, tuple(record(exercise.id) for exercise in LADDER))])


def test_readme_has_the_table_of_the_committed_data():
    readme = evidence.README.read_text(encoding="utf-8")
    assert evidence.with_table(readme, evidence.all_data()) == readme, "run `tutor evidence --table`"


class TestCollect:
    def test_the_schema(self, data):
        assert data["machine"] == MACHINE
        assert set(data["notebooks"]["05_copy_kernels"]) == {"code_sha256", "seconds"}
        result = data["exercises"][LADDER[0].id]
        assert (result["status"], result["points"]) == ("passed", LADDER[0].points)
        assert result["measurements"][0]["gbps"] == 4200.0
        assert "tflops" not in result["measurements"][0]
        json.dumps(data)

    def test_notebooks_that_did_not_run_stay_and_those_that_did_are_replaced(self, data):
        cpu = {"id": "00.1", "status": "passed", "points": 2, "message": "✓", "measurement": None}
        merged = collect([Run("00_start", 1.0, (cpu,))], data)
        assert set(merged["notebooks"]) == {"00_start", "05_copy_kernels"}
        assert merged["exercises"]["00.1"] == {"status": "passed", "points": 2, "measurements": []}
        again = collect([Run("05_copy_kernels", 9.0, (record(LADDER[0].id),))], merged)
        assert [id for id in again["exercises"] if id.startswith("05")] == [LADDER[0].id]

    def test_the_file_is_named_after_the_gpu(self):
        assert evidence.file_of("NVIDIA H200").name == "h200.json"
        assert evidence.file_of("NVIDIA GeForce RTX 4090").name == "geforce_rtx_4090.json"

    def test_written_and_read_again(self, data, tmp_path, monkeypatch):
        monkeypatch.setattr(evidence, "DATA", tmp_path / "data")
        path = evidence.write(data)
        assert evidence.read(path) == data
        assert evidence.all_data() == [data]


class TestRecording:
    def test_checks_of_this_process_are_recorded_while_it_is_open(self, monkeypatch):
        monkeypatch.delenv(RESULTS, raising=False)
        with recording() as recorded:
            assert recorded() == ()
            check("00.1", lambda n, tile: -(-n // tile))
            assert [r["id"] for r in recorded()] == ["00.1"]
        with recording() as recorded:
            assert recorded() == ()

    def test_a_failing_cell_ends_a_run_and_its_records_stay(self, monkeypatch):
        def run(name):
            check("00.1", lambda n, tile: -(-n // tile))
            raise CellExecutionError("traceback", "CheckFailed", "✗ 00.2")

        monkeypatch.setattr(build, "run", run)
        done = evidence.run("00_start")
        assert done.error == "CheckFailed: ✗ 00.2"
        assert [r["id"] for r in done.records] == ["00.1"]


class TestCalibrated:
    def test_ratios_of_the_exercises_with_tiers(self):
        tiered = [exercise.id for exercise in LADDER if exercise.tiers]
        ratios, problems = calibrated([Run("05_copy_kernels", 1.0, tuple(record(e.id) for e in LADDER))])
        assert ratios == dict.fromkeys(tiered, 0.98)
        assert problems == []

    def test_noise_and_gaps_are_no_targets(self):
        noisy, missing, *_ = [exercise.id for exercise in LADDER if exercise.tiers]
        records = [record(e.id, spread=0.2 if e.id == noisy else 0.01) for e in LADDER if e.id != missing]
        ratios, problems = calibrated([Run("05_copy_kernels", 1.0, tuple(records))])
        assert not {noisy, missing} & set(ratios)
        assert [problem.split(": ")[1] for problem in problems] == ["too noisy, run it again", "not measured"]


class TestTable:
    def test_without_data(self):
        rows = evidence.table([]).splitlines()
        assert rows[0] == "| notebook | points | runs on |"
        assert rows[2] == "| [00 · Start here](notebooks/00_start.ipynb) | 2 | any machine |"

    def test_a_measured_notebook(self, data):
        row = next(row for row in evidence.table([data]).splitlines() if "05_copy" in row)
        points = sum(exercise.points for exercise in LADDER)
        assert row.endswith(f"| {points} points; {LADDER[0].title}: 4.20 TB/s, 0.98 of torch copy_ |")

    def test_a_notebook_that_never_ran(self, data):
        assert evidence.table([data]).splitlines()[2].endswith("| not run |")

    def test_code_that_changed_since(self, data, monkeypatch):
        monkeypatch.setattr(evidence, "code_sha256", lambda name: "another")
        assert "*changed since* |" in evidence.table([data])

    def test_the_hash_is_of_the_code_alone(self, tmp_path):
        def sha(text):
            (tmp_path / "00_start.py").write_text(text)
            return evidence.code_sha256("00_start", tmp_path)

        source = (evidence.SOLUTIONS / "00_start.py").read_text(encoding="utf-8")
        assert sha(source) == sha(source.replace("# # 00", "# # Zero"))
        assert sha(source) != sha(source + "\n# %%\nprint(1)\n")


class TestPlots:
    def test_the_ladder_shows_what_was_measured(self, data):
        figure = plots.copy_ladder([data])
        axes = figure.axes[0]
        assert [label.get_text() for label in axes.get_yticklabels()] == [exercise.title for exercise in LADDER]
        assert {bar.get_width() for bar in axes.patches} == {4.2}
        assert axes.collections[0].get_offsets()[0][0] == pytest.approx(4.2 / 0.98)
        assert axes.get_lines()[0].get_xdata()[0] == pytest.approx(4.8)

    def test_an_unknown_gpu_has_no_datasheet_line(self, data):
        unknown = {**data, "machine": {**MACHINE, "gpu": "NVIDIA Z9000"}}
        assert not plots.copy_ladder([unknown]).axes[0].get_lines()

    def test_no_data(self):
        with pytest.raises(plots.NoData, match="tutor evidence 05"):
            plots.copy_ladder([])

    def test_the_same_data_give_the_same_files(self, data, tmp_path, monkeypatch):
        monkeypatch.setitem(plots.FIGURES, "copy_ladder", lambda: plots.copy_ladder([data]))
        first = [path.read_bytes() for path in plots.save("copy_ladder", tmp_path)]
        assert first == [path.read_bytes() for path in plots.save("copy_ladder", tmp_path)]


def test_rehearsing_needs_no_gpu_and_goes_on_after_a_failing_check(monkeypatch, tmp_path):
    unsolved = build.student_notebook(build.parse(evidence.SOLUTIONS / "00_start.py"))  # its check fails
    (tmp_path / "00_start.ipynb").write_text(build.text_of(unsolved), encoding="utf-8")
    monkeypatch.setattr(evidence, "SOLUTIONS", tmp_path)
    done = evidence.rehearse("00_start")
    assert [r["status"] for r in done.records] == ["failed"]
    assert done.error == ""
