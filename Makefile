# Everything starts here: `make help` lists what there is.
# A fresh clone needs Python 3.11+ and make; each target sets up what it needs in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= results

# Processes that start often, as tests do, begin sooner with the bytecode of the last time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install reproduce check fast test tests matrix rl lint docs bench chaos clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 18

install: $(VENV)/.installed ## make or refresh .venv, with what tests and documentation need

# The stamp is written last: an install that was cut off is begun again. Python compiles files when
# they are first imported, which are far fewer than pip would compile.
$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; \
	  sys.exit(0 if v >= (3, 11) else f"longpass needs Python 3.11 or newer; $(PYTHON) is {v.major}.{v.minor}. Try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[dev,gym,native,ray,tensorboard,web]'
	@touch $@

reproduce: install ## train the memories and draw the figures (into OUT, by default results)
	$(BIN)/longpass reproduce --out $(OUT)

check: install ## lint, type-check and run the fast tests, all at once (about a minute)
	$(MAKE) --no-print-directory -j 2 lint fast

fast: install
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow"

test: install ## lint, type-check and run all tests, all at once
	$(MAKE) --no-print-directory -j 2 lint tests

# Some tests wait for other processes: one more than the cores of a small machine keeps them busy.
tests: install
	$(BIN)/python -m pytest -n 3 --dist loadgroup

matrix: ## run the fast tests on every Python found, with newest and oldest dependencies
	$(PYTHON) scripts/matrix.py

# RLlib needs an older Gymnasium than ours, so the libraries have an environment of their own.
$(VENV)-rl/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-rl
	$(VENV)-rl/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[dev,gym,rl]'
	@touch $@

rl: $(VENV)-rl/.installed ## run the examples for PyTorch's libraries of reinforcement learning
	$(VENV)-rl/bin/python -m pytest tests/torch/test_examples.py tests/torch/test_sb3.py

lint: install ## ruff and pyright alone
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright

docs: install ## run the tutorials and build the documentation site (into site)
	$(BIN)/python scripts/make_docs.py

$(VENV)/.bench: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[bench]'
	@touch $@

bench: $(VENV)/.bench ## time longpass against its peers and print a table
	$(BIN)/python -m benchmarks

MINUTES ?= 10
chaos: install ## hurt longpass on purpose for MINUTES (10) and print what it survived
	$(BIN)/python -m chaos --minutes $(MINUTES)

clean: ## delete .venv and caches
	rm -rf $(VENV) $(VENV)-rl .matrix .jax_cache .pytest_cache .ruff_cache .hypothesis .cache .docs .tutorials dist site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
