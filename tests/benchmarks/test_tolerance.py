"""What the study of tolerance found is on record for every problem, and speaks for the judge."""

import json

import pytest

from benchmarks.tolerance import RECORDS, RESULT, Record, report
from problems import all_problems
from problems.mutants import mutants_of

PROBLEMS = all_problems()
KNOWN = json.loads(RECORDS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.slug)
def test_every_honest_kernel_passed_and_every_mutant_was_refused(problem):
    record = Record.read(problem.slug, KNOWN[problem.slug])
    assert max(f.severity for f in record.honest.values()) < 1
    assert min(f.severity for f in record.mutants.values()) > 1
    assert {name for name, _ in record.mutants} <= {m.name for m in mutants_of(problem)}
    assert record.seeds >= 20


def test_the_report_is_written_from_the_record():
    records = [Record.read(p.slug, KNOWN[p.slug]) for p in PROBLEMS]
    assert RESULT.read_text(encoding="utf-8") == "\n".join(report(records)) + "\n"


def test_a_record_is_what_it_was_when_it_is_read_again():
    slug, kept = next(iter(KNOWN.items()))
    assert Record.read(slug, kept).kept() == kept
