# Two commands do all the set-up: `make demo` runs the main job, `make test` proves everything.
# Both make .venv first if it is not there.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

# Features that were extracted once, shared by the demo and the tests.
export TRAINER_CACHE ?= $(CURDIR)/.cache

.PHONY: help install demo test browser check format

help:
	@echo "make demo                   collection, trained model and running service from nothing"
	@echo "make demo IMAGES=/a/folder  the same with your own class folders"
	@echo "make test                   check and all tests"
	@echo "make browser                a Chromium for the tests of the page, if there is none"
	@echo "make check                  format, lint and types"
	@echo "make format                 put the code in order"

install: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	@echo "Setting up .venv: about two minutes and 6 GB, most of it torch. Only once."
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --constraint constraints.txt --editable '.[server,scale,bulk,train,compare,dev]'
	@touch $@

demo: $(INSTALLED)
	$(BIN)/python -m demo $(if $(IMAGES),--images "$(IMAGES)") $(if $(PORT),--port $(PORT))

# A file's tests stay together: they share what is expensive to make. Three processes on two cores, as they often wait for
# services and browsers that they start. One that dies ends the run, which else waits for it for ever. Before them, one core
# checks while the other one may fetch a browser.
test: $(INSTALLED)
	$(MAKE) --jobs=2 check browser
	$(BIN)/python -m pytest --numprocesses 3 --dist loadfile --max-worker-restart 0

browser: $(INSTALLED)
	$(BIN)/python -m benchmarks.chromium

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
