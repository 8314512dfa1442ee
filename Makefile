# make demo   trains two models on generated sentences, scores and compares them (minutes; needs no data)
# make test   style, types and all tests
# Both make a virtual environment in .venv and install what they need.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO ?= demo

.PHONY: demo test lint clean

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: Python 3.11 or newer is needed; try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,track]'
	touch $@

demo: $(VENV)/.installed
	$(BIN)/python scripts/demo.py --output $(DEMO)

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n 2

clean:
	rm -rf $(VENV) $(DEMO)
