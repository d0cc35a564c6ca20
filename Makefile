# The package's commands for people; each makes its own virtual environment in .venv, without root.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PAGES ?= 500
ORDERS ?= 1
WARC ?=
TOPIC ?=
ONLY ?=
INPUTS ?= 10000
SEED ?= 1

# Workers take tests from each other's rest: the dear ones lie in few files.
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal
# Those with several processes, kills and Spark wait for a third of their time.
ONE_MORE := PYTEST_XDIST_AUTO_NUM_WORKERS=$(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
WEBS := tests/webs tests/hostile tests/shapes tests/everyday
LATER := tests/benchmarks tests/lab tests/processes $(WEBS)

# Else each process compiles the package and the tests anew: 0.3 s for each command that a test starts.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo trust shapes everyday fuzz test test-lab test-processes test-webs test-later test-all test-scrapy lint wheel bench docs clean

help:
	@echo "make demo             crawl a small web of real text with the add-on and without, and compare"
	@echo "make demo ORDERS=5    begin in five orders of the seeds: means, least and most"
	@echo "make demo WARC=FILE   rehearse on FILE; TOPIC=FOLDER gives examples of the topic, PAGES=N ends it"
	@echo "make trust            crawl webs that somebody made to mislead, with the add-on and without; ONLY=... names some"
	@echo "make shapes           crawl ordinary sites whose pages look alike, and count the items lost; ONLY=... names some"
	@echo "make everyday         crawl ordinary sites whose pages have several URLs, count what is saved; ONLY=... names some"
	@echo "make fuzz             read broken input of every kind; ONLY=... names some, INPUTS=100000 of each, SEED=2 others"
	@echo "make test             run the tests of what a user relies on, at most five minutes on two cores"
	@echo "make test-lab         run those of evaluation, generated webs and the strategies to compare with"
	@echo "make test-processes   run those with Redis, several processes, kills, the commands, a browser, Spark"
	@echo "make test-webs        run those that crawl whole webs, in all modes"
	@echo "make test-later       run these three in one"
	@echo "make test-all         run all tests"
	@echo "make test-scrapy      run Scrapy's own tests, of each release, with the add-on in every crawler; ONLY=2.19 names one"
	@echo "make lint             style, types and import contracts"
	@echo "make wheel            install the bare wheel beside each supported Scrapy and use it"
	@echo "make bench            measure speed beside peers, an hour, and print a table; ONLY='start links' names some"
	@echo "make docs             build the documentation in docs/_build/html"
	@echo "make clean            delete everything that the others made"

# pip 23, which Python 3.11 brings along, gives up on the requirements of the test extra.
$(STAMPS)/venv:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 10) or sys.exit("Python 3.10 or later is needed: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	mkdir -p $(STAMPS)
	touch $@

$(STAMPS)/demo: $(STAMPS)/venv setup.cfg
	$(BIN)/python -m pip install --quiet --editable '.[warc]'
	touch $@

# Of what is installed a small part is imported, and is compiled when it is.
$(STAMPS)/test: $(STAMPS)/venv setup.cfg
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[test,docs]'
	touch $@ $(STAMPS)/demo

demo: $(STAMPS)/demo
	$(BIN)/python examples/demo.py --pages $(PAGES) --orders $(ORDERS) $(if $(WARC),--warc '$(WARC)') $(if $(TOPIC),--topic '$(TOPIC)')

trust: $(STAMPS)/test
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m hostile $(ONLY)

shapes: $(STAMPS)/test
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m shapes $(ONLY)

everyday: $(STAMPS)/test
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m everyday $(ONLY)

fuzz: $(STAMPS)/test
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m fuzz $(ONLY) --inputs $(INPUTS) --seed $(SEED)

test: $(STAMPS)/test
	$(PYTEST) tests $(LATER:%=--ignore=%)

test-lab: $(STAMPS)/test
	$(PYTEST) tests/lab

test-processes: $(STAMPS)/test
	$(ONE_MORE) $(PYTEST) tests/processes

test-webs: $(STAMPS)/test
	$(PYTEST) $(WEBS)

# In one run, those that compute take what those that wait leave.
test-later: $(STAMPS)/test
	$(ONE_MORE) $(PYTEST) $(LATER:tests/benchmarks=)

test-all: test test-later

test-scrapy:
	$(PYTHON) .ci/scrapy_suite/run.py $(ONLY)

lint: $(STAMPS)/test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

wheel:
	$(PYTHON) .ci/bare.py

# Those that have a peer or something wanted of them; the others run by themselves, as the pages say that quote them.
BENCHES := simhash near_duplicates extractor start links frontier redis processes ordinary topic_crawl million

bench: $(STAMPS)/test
	$(BIN)/python -m pytest $(patsubst %,tests/benchmarks/bench_%.py,$(or $(ONLY),$(BENCHES))) -s -o python_files='bench_*.py'

docs: $(STAMPS)/test
	$(BIN)/python -m sphinx -E -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean:
	rm -rf $(VENV) demo docs/_build build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis \
		.import_linter_cache .tox
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
