# Each target first installs what it needs into .venv; later runs reuse it.

BIN := .venv/bin
SETUP := @scripts/setup

.DEFAULT_GOAL := help
.PHONY: help demo test soak check docs format bench e2e clean ready-test

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## watch agents share a repository, here and in a browser (40 seconds; until Ctrl-C: ARGS=--stay)
	$(SETUP) server $(filter redis postgres,$(ENGINE))
	@$(BIN)/python scripts/demo $(if $(ENGINE),--engine $(ENGINE)) $(ARGS)

test: check ## run every check and every test; what fails is run once more, alone
	$(BIN)/pytest -q -n auto --maxfail=20 $(ARGS) || $(BIN)/python scripts/again.py $$? $(ARGS)

soak: ready-test ## run all seeds and all kill points, for at most 2 hours (ARGS=--minutes=30)
	@$(BIN)/python scripts/soak.py $(ARGS)

check: ready-test ## check format, lint, types, import contracts, wording, and documentation
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/english.py
	$(BIN)/python scripts/size.py
	$(BIN)/python scripts/dashboard.py check
	$(BIN)/pytest -q -p no:randomly tests/test_docs.py

docs: ## build the documentation site into build/docs
	$(SETUP) docs
	$(BIN)/sphinx-build -q -E -a -W --keep-going -c docs -b html . build/docs
	@echo "open build/docs/README.html"

format: ready-test ## format the code and apply the linter's fixes
	$(BIN)/ruff check --fix --exit-zero --quiet
	$(BIN)/ruff format

bench: ## measure and write docs/bench.md; ARGS="hook store" only prints these sections
	$(SETUP) test bench
	$(BIN)/python -m bench $(ARGS)

e2e: ## test with real agents from npm (large download) and write docs/reference/e2e.md
	$(SETUP) test
	$(BIN)/python scripts/e2e.py $(ARGS)

clean: ## remove .venv, .e2e, caches, and builds
	rm -rf .venv .e2e dashboard/node_modules src/dibs/dashboard/static .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

ready-test:
	$(SETUP) test
	@$(BIN)/python scripts/dashboard.py build
