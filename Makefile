# make demo       set everything up and analyse the example case
# make test       what is checked before every commit
# make thorough   the long checks: scenarios, traps in time, any text of every format, the wheel; CI runs both
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO ?= demo

.PHONY: demo test thorough lint types pytest wheel docs scoreboard clean

demo: $(VENV)/.installed
	$(BIN)/gpuverdict analyze fixtures/cases/three-cards --out $(DEMO)

test: lint types pytest

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	$(BIN)/python -m compileall -q gpuverdict engine parsers rules  # or else the first analysis does it
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	MYPYPATH=.typing $(BIN)/mypy -p gpuverdict

pytest: $(VENV)/.installed-dev
	$(BIN)/pytest -n 2 -m "not thorough"

thorough: $(VENV)/.installed-dev wheel
	$(BIN)/pytest -n 2 -m thorough

# A wheel from a clean copy, installed into an empty environment, run once.
wheel: $(VENV)/.installed-dev
	PYTHON=$(BIN)/python sh tests/wheel_smoke.sh

# The generated pages of docs/.
docs: $(VENV)/.installed
	$(BIN)/python docs/generate.py

# Simulated scenarios with known truth: a confusion table per rule, written to docs/scoreboard.md.
scoreboard: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/scoreboard.py --seeds 5 --write

clean:
	rm -rf $(VENV) build dist *.egg-info $(DEMO)
