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

# A small, fixed budget: about enough to learn the task, far from the paper's training to convergence.
DEMO_TRAINING := --task question_formation --max-examples 160000 --output

# The models are small: more threads hardly help, and hinder where other programs run.
demo: export OMP_NUM_THREADS = 1
demo: $(VENV)/.installed
	rm -rf $(DEMO)
	$(BIN)/python scripts/train.py --model tf $(DEMO_TRAINING) $(DEMO)/tf
	$(BIN)/python scripts/train.py --model tf-nd $(DEMO_TRAINING) $(DEMO)/tf-nd
	$(BIN)/python scripts/evaluate.py $(DEMO)/tf $(DEMO)/tf-nd
	$(BIN)/python scripts/compare.py $(DEMO)/tf $(DEMO)/tf-nd --paper --output $(DEMO)/comparison

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n 2

clean:
	rm -rf $(VENV) $(DEMO)
