# Two commands do everything on a fresh machine (Python 3.11, pip, make, gcc): `make demo` and `make test`.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup demo test lint types bench golden reproduce-quick results clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

demo: setup
	$(BIN)/colonnade compare --data digits --methods local,splitnn,ss-vfl-i,ssvfl,combined \
		--labels 30,100,300 --seeds 3 --out demo-report

test: setup
	$(BIN)/pytest -n 2

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m benchmarks.gates
	$(BIN)/deptry .
	$(BIN)/vulture
	$(BIN)/python -m colonnade.lab.reproduce.standing

types: setup
	$(BIN)/mypy

# every recipe of every paper, with few rows and epochs: minutes
reproduce-quick: setup
	$(BIN)/colonnade reproduce all --quick --out colonnade-out/reproduce-quick

# docs/results.md from results/reproduce
results: setup
	$(BIN)/colonnade reproduce --write-docs

bench: setup
	$(BIN)/python -m benchmarks.run $(BENCH)

# every case of benchmarks/golden in this tree and in COMMIT, equal to the bit: minutes; ONLY=TEXT takes some of them
golden: setup
	@test -n "$(COMMIT)" || { echo "Name the commit to compare with: make golden COMMIT=main"; exit 2; }
	$(BIN)/python -m benchmarks.golden --against $(COMMIT) --only "$(ONLY)"

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-report colonnade-out
