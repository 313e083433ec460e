# `make demo` shows the product, `make test` runs the tests, `make check` adds format, lint, types, layers, links and options,
# `make docs` builds the documentation site, `make bench` measures what the page of benchmarks says.
# Each does all the set-up on a machine with only Python 3.11+ and pip.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: demo test check docs bench format specs figures clean

demo: $(INSTALLED)
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash examples/demo.sh

test: $(INSTALLED)
	$(BIN)/python -m pytest -n auto --dist loadfile

check: $(INSTALLED)
	$(BIN)/ruff format --check src tests tools benchmarks examples
	$(BIN)/ruff check src tests tools benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/check_docs.py

# The site is in site/index.html. Neither building nor reading it needs a network; a warning is an error.
docs: $(INSTALLED)
	$(BIN)/python tools/cli_reference.py --check
	$(BIN)/python tools/grammar_reference.py --check
	$(BIN)/python tools/site/build.py

# One table (`TABLE=adult-logical`), all of some rows (`TABLE=adult`), or everything; `QUICK=1` is a trial run of minutes.
# `DATA` is the folder of the tables that the package does not have; `FITS`, `SAMPLES` and `WORKERS` as in
# `python -m benchmarks --help`. A run that was interrupted continues where it was.
TABLE ?= all
bench: $(INSTALLED)
	$(BIN)/python -m benchmarks $(TABLE) $(if $(QUICK),--quick) $(if $(DATA),--data $(DATA)) \
	  $(if $(FITS),--fits $(FITS)) $(if $(SAMPLES),--samples $(SAMPLES)) $(if $(WORKERS),--workers $(WORKERS))

format: $(INSTALLED)
	$(BIN)/ruff format src tests tools benchmarks examples
	$(BIN)/ruff check --fix src tests tools benchmarks examples

# Put the real output into the console and python blocks of README, docs and tests/specs, and what the code knows
# into the pages on the command line and the grammar; read the diff before you commit it.
specs: $(INSTALLED)
	$(BIN)/python tools/cli_reference.py
	$(BIN)/python tools/grammar_reference.py
	CUTS_UPDATE_SPECS=1 $(BIN)/python -m pytest -q tests/test_specs.py tests/assess/test_pages.py
	$(BIN)/python -m pytest -q tests/test_specs.py tests/assess/test_pages.py

# Put new output of fits into the `text figures` blocks, of all pages (many minutes) or of one:
# `make figures PAGE=docs/how-to/fairness.md`. No test compares these numbers; read the diff before you commit it.
figures: $(INSTALLED)
	$(BIN)/python tools/figures.py $(PAGE)

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis site

# The language server is tested with pygls in .venv/lsp: it needs a newer attrs than dp-accounting allows in .venv.
$(INSTALLED): pyproject.toml constraints.txt constraints-lsp.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "cuts needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable . --group test --group check --group docs
	$(BIN)/python -m pip install --quiet --no-warn-conflicts -c constraints-lsp.txt --upgrade --target .venv/lsp --group lsp
	touch $(INSTALLED)
