# `make` lists what there is. Variables: PYTHON, TORCH_INDEX (set-up); PORT, HOST,
# UNSAFE_NO_SANDBOX (run); WORKERS (test); ARGS (passed on by run and test).
SHELL := /bin/sh
VENV := .venv/bin
WORKERS ?= 2
export PYTHON TORCH_INDEX

serve_flags := $(if $(PORT),--port $(PORT)) $(if $(HOST),--host $(HOST)) \
	$(if $(filter-out 0,$(UNSAFE_NO_SANDBOX)),--unsafe-no-sandbox)

.PHONY: help setup dev run test check format assets lock

help: ## List these targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | \
		while IFS="$$(printf '\t')" read -r name what; do printf '  make %-8s %s\n' "$$name" "$$what"; done

setup: ## Make .venv with everything Backpass needs (once; TORCH_INDEX=... chooses PyTorch's build)
	@sh setup/bootstrap.sh

dev:
	@sh setup/bootstrap.sh --dev

run: setup ## Start the site and the judge; Ctrl-C stops both (PORT=..., HOST=...)
	@$(VENV)/python -m web.serve $(serve_flags) $(ARGS)

test: dev ## Run all tests (ARGS="-k pattern")
	@$(VENV)/python -m pytest -n $(WORKERS) $(ARGS)

check: dev ## Lint, types, import directions, missing migrations
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/mypy problems runner sandbox wire web setup deploy benchmarks tests
	$(VENV)/lint-imports
	$(VENV)/python manage.py makemigrations --check --dry-run

format: dev ## Format the code and mend what the linter can
	$(VENV)/ruff check --fix .
	$(VENV)/ruff format .

assets: ## Build the browser's JavaScript and styles from their lock file (needs Node.js)
	cd web/assets && npm ci --no-audit --no-fund && npm run build

lock: dev ## Write requirements/*.txt anew from requirements/*.in
	$(VENV)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
		--no-emit-index-url --no-emit-find-links requirements/runtime.in -o requirements/runtime.txt
	$(VENV)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
		--no-emit-index-url --no-emit-find-links requirements/dev.in -o requirements/dev.txt
