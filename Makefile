# Every target makes .venv first if it is missing or older than pyproject.toml. `make lab ARGS=--no-browser` on a remote box.
PYTHON ?= python3
BIN := .venv/bin
# Defaults of JupyterLab for this course, below a person's own settings: no question about Jupyter news.
LAB_CONFIG := $(CURDIR)/.lab

.PHONY: lab grade test test-all pytest bench build plots lint
lab: .venv/.ready
	JUPYTER_CONFIG_PATH="$(LAB_CONFIG)$${JUPYTER_CONFIG_PATH:+:$$JUPYTER_CONFIG_PATH}" $(BIN)/jupyter lab \
		--notebook-dir=notebooks --LabApp.default_url=/lab/tree/contents.ipynb \
		$(if $(filter 0,$(shell id -u)),--allow-root) $(ARGS)

grade: .venv/.ready
	$(BIN)/tutor grade --timeout 300

test: lint pytest

DURATIONS := --durations=40 --durations-min=2 --junitxml=build/tests.xml  # the file has the seconds of every test

pytest: .venv/.ready
	$(BIN)/pytest -n 3 $(DURATIONS)  # on two cores: many a test waits for processes that it started

# Every case, not this commit's sample alone, and every long test; what each takes goes to tests/costs.json
test-all: lint
	TUTORLIB_LONG=1 $(BIN)/pytest -n 3 $(DURATIONS) --write-costs

bench: .venv/.ready
	$(BIN)/python -m tests.bench

build: .venv/.ready
	$(BIN)/tutor build

plots: .venv/.ready
	$(BIN)/tutor plots

lint: .venv/.ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/codespell README.md CONTRIBUTING.md docs solutions tutorlib tests
	@report=$$($(BIN)/lint-imports --no-logo) || { echo "$$report"; exit 1; }; echo "$$report" | tail -n 1

.venv/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; (3, 11) <= v <= (3, 13) or sys.exit(f"The course needs Python 3.11, 3.12 or 3.13; $(PYTHON) is {v[0]}.{v[1]}. Name another: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-compile -e '.[dev]'
	$(BIN)/python -m tutorlib.compiling.nvcc  # headers of its version
	@$(BIN)/python -m compileall -qq -j 0 .venv/lib || :  # pip compiles on one core; some packages hold files that are no Python
	@touch $@
