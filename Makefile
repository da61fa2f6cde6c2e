# Each target first creates .venv if it is missing or older than pyproject.toml. On a remote machine: make lab ARGS=--no-browser
PYTHON ?= python3
BIN := .venv/bin
SHELL := /bin/bash
# JupyterLab's defaults for this course; your own settings override them. They turn off the question about Jupyter news.
LAB_CONFIG := $(CURDIR)/.lab

.PHONY: lab help grade test test-all pytest bench build plots site lint
lab: .venv/.ready  ## open the contents page in JupyterLab
	JUPYTER_CONFIG_PATH="$(LAB_CONFIG)$${JUPYTER_CONFIG_PATH:+:$$JUPYTER_CONFIG_PATH}" $(BIN)/jupyter lab \
		--notebook-dir=notebooks --LabApp.default_url=/lab/tree/contents.ipynb \
		$(if $(filter 0,$(shell id -u)),--allow-root) $(ARGS)

help:  ## list these targets
	@sed -nE 's/^([a-z-]+):.*  ## (.*)/make \1	\2/p' Makefile | expand -t 16

grade: .venv/.ready  ## grade the solutions
	$(BIN)/tutor grade --timeout 300

test: lint pytest  ## lint, then run the tests: about five minutes

DURATIONS := --durations=40 --durations-min=2 --junitxml=build/tests.xml  # the file has the time of every test

pytest: .venv/.ready  ## run the tests only
	$(BIN)/pytest -n 3 $(DURATIONS)  # three on two cores, since many tests wait for processes that they start

# Every case instead of this commit's sample, and every long test; writes their times to tests/costs.json
test-all: lint  ## lint, then run every case of every test
	TUTORLIB_LONG=1 $(BIN)/pytest -n 3 $(DURATIONS) --write-costs

bench: .venv/.ready  ## time the operations that must feel immediate
	$(BIN)/python -m tests.bench

build: .venv/.ready  ## write the notebooks, the contents page, the glossary and the tables from solutions/*.py
	$(BIN)/tutor build

plots: .venv/.ready  ## draw the figures
	$(BIN)/tutor plots

site: .venv/.ready  ## build the course as a web site in build/site
	$(BIN)/python -m tutorlib.site build/site

lint: .venv/.ready  ## run ruff, mypy, codespell and import-linter
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/codespell README.md CONTRIBUTING.md docs solutions tutorlib tests
	@report=$$($(BIN)/lint-imports --no-logo) || { echo "$$report"; exit 1; }; echo "$$report" | tail -n 1

# Of pip's output: the files of 10 MB and more, and the step that follows them
PROGRESS := sed -nuE 's! *(Downloading|Using cached) ([^ ]*/)?([^ /]+) \(([0-9]{2,}\.[0-9] MB|[0-9.]+ GB)\).*!        \1 \3, \4!p; s!^Installing collected.*!        Installing them: about a minute!p'

.venv/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; (3, 11) <= v <= (3, 13) or sys.exit(f"The course needs Python 3.11, 3.12 or 3.13; $(PYTHON) is {v[0]}.{v[1]}. Choose another: make PYTHON=python3.12")'
	@echo "Setting up .venv, once: 2.8 GB on disk (several GB more if torch comes with CUDA), about 3 minutes on a fast connection."
	@echo "1 of 4  a virtual environment"
	@$(PYTHON) -m venv .venv
	@echo "2 of 4  the packages: PyTorch, the CuTe DSL, cuTile, NVIDIA's compilers, JupyterLab"
	@set -o pipefail; $(BIN)/python -m pip install --disable-pip-version-check --no-compile -e '.[dev,site]' | $(PROGRESS)
	@echo "3 of 4  CUDA's headers, for the C++ of notebook 09"
	@$(BIN)/python -m tutorlib.compiling.programs
	@echo "4 of 4  Python's bytecode"
	@$(BIN)/python -m compileall -qq -j 0 .venv/lib || :  # in parallel, unlike pip; some packages contain files that are not Python
	@touch $@
	@echo "Ready. Your points so far, and what this machine can grade: .venv/bin/tutor doctor"
