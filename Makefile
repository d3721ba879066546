# Everything a contributor types. `make demo` and `make test` need only Python 3.11, g++ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip --quiet --disable-pip-version-check
SOURCES := pyproject.toml CMakeLists.txt README.md $(shell find src native -type f -not -name '*.so' -not -path '*/__pycache__/*' 2>/dev/null)
WORKERS ?= $(shell nproc)
SECONDS ?= 600
COUNT ?= 200

.PHONY: help demo test slow explore docs lint accuracy stub bench bench-scale sanitize fuzz mutants mutants-python clean

# Where it is set, each of the programs that tests start would compile what it imports.
unexport PYTHONDONTWRITEBYTECODE
# Python compiles a module when it is first imported, so pip need not compile all of numpy's before.
export PIP_COMPILE := 0

help:
	@echo "make demo      install into $(VENV) and run the demonstration"
	@echo "make test      install with the test tools and run the suite"
	@echo "make slow      what make test leaves out: whole zoos and sweeps"
	@echo "make explore   the property tests on fresh random examples, more than make test draws,"
	@echo "               then laws on random jobs for SECONDS=$(SECONDS), and whether a search by"
	@echo "               simulation beats the planner on ten jobs"
	@echo "make docs      the site of the documentation, into build/site; warnings are errors"
	@echo "make lint      ruff and mypy alone"
	@echo "make accuracy  judge all measured rows again, and write stacks and the page (an hour)"
	@echo "make stub      the types of the core, src/yantra/_core.pyi, from the built module"
	@echo "make bench     benchmarks, each beside its goal"
	@echo "make bench-scale  of them, those of many ranks; draws how cost grows with ranks"
	@echo "make sanitize  the suite under AddressSanitizer and UndefinedBehaviourSanitizer"
	@echo "make fuzz      fuzz every reader for SECONDS=$(SECONDS)"
	@echo "make mutants   break the core in COUNT=$(COUNT) ways by rule; the tests must notice"
	@echo "make mutants-python  break Python in COUNT=$(COUNT) ways by rule; the tests must notice"

demo: $(VENV)/.installed
	@$(BIN)/yantra demo

test: $(VENV)/.test-installed
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

slow: $(VENV)/.test-installed
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m slow

explore: $(VENV)/.test-installed
	$(BIN)/python -m pytest -n $(WORKERS) --hypothesis-profile fresh -m 'hypothesis and not slow'
	$(BIN)/python -m tests.laws --seconds $(SECONDS) --first $$(date +%s) --workers $(WORKERS)
	$(BIN)/python -m benchmarks.plan_search --small --workers $(WORKERS)

docs: $(VENV)/.docs-installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "build/site/index.html, to be opened as a file"

lint: $(VENV)/.test-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

accuracy: $(VENV)/.test-installed
	$(BIN)/python -m yantra.accuracy.suite --write
	$(BIN)/python -m yantra.accuracy.own_rows --write
	$(BIN)/python -m yantra.accuracy.collectives --write
	$(BIN)/python docs/generate.py

stub: $(VENV)/.test-installed
	$(BIN)/python native/bind/stub.py

bench: $(VENV)/.test-installed
	$(BIN)/python -m benchmarks

bench-scale: $(VENV)/.test-installed
	$(BIN)/python -m benchmarks.bench_scale
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "matplotlib>=3.8"
	$(BIN)/python -m benchmarks.scale_curve

sanitize: $(VENV)/.test-installed
	$(BIN)/python tests/sanitize.py

fuzz: $(VENV)/.test-installed
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

mutants: $(VENV)/.test-installed
	$(BIN)/python -m tests.mutants --count $(COUNT) --workers $(WORKERS)

mutants-python: $(VENV)/.test-installed
	$(BIN)/python -m tests.mutants --python --count $(COUNT) --workers $(WORKERS)

clean:
	rm -rf build $(VENV)

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "no $(PYTHON); on Debian: apt-get install python3 python3-venv python3-dev"; exit 2; }
	$(PYTHON) tools/make_venv.py $(VENV)

# What the package needs is installed while the core compiles.
$(VENV)/.installed: $(BIN)/python $(SOURCES)
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' > $(VENV)/dependencies.txt
	$(PIP) install -r $(VENV)/dependencies.txt & dependencies=$$!; \
	  $(PIP) install --no-deps --force-reinstall . && wait $$dependencies
	@touch $@

$(VENV)/.test-installed: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --config-settings=cmake.define.CMAKE_COMPILE_WARNING_AS_ERROR=ON ".[test,tables]"
	@touch $@ $(VENV)/.installed

$(VENV)/.docs-installed: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ".[docs]"
	@touch $@ $(VENV)/.installed
