# make run: the app on http://127.0.0.1:7860.  make test: lint, types, all tests.  make bench: docs/BENCHMARKS.md.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run test lint bench screenshots clean
.DEFAULT_GOAL := run

.venv/run: requirements.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -r requirements.txt
	touch $@

.venv/dev: requirements.txt requirements-dev.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -r requirements-dev.txt
	touch $@

run: .venv/run
	$(BIN)/python app.py

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	find easd_viz -name "*.pyi" -delete  # stubs that gradio writes beside its subclasses
	$(BIN)/mypy

test: lint
	$(BIN)/python tools/ensure_chromium.py
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

bench: .venv/dev
	$(BIN)/python tools/ensure_chromium.py
	PYTHONPATH=.:tools $(BIN)/python -m bench

screenshots: .venv/dev
	$(BIN)/python tools/ensure_chromium.py
	$(BIN)/python tools/screenshots.py

clean:
	rm -rf .venv
