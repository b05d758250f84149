"""What a job that is timed finds: a processor for each thread, and memory that it had before."""

import json

import pytest
import torch

from problems import Language, get_problem
from runner.hardware import UnknownHardware, cpu_threads, get_hardware, hardware_for
from runner.pool import ColdSessions
from runner.timing import KEPT_BYTES
from sandbox.choose import best_sandbox
from sandbox.spec import Isolation
from wire.messages import Hardware

PROBLEM = get_problem("relu_squared")
CASE = PROBLEM.cases[0]
# Tells of every thread where it may run, and what large tensors cost that are made and dropped again.
TELLS = """
import json, os, resource, sys
from concurrent.futures import ThreadPoolExecutor
import torch


def faults_of_tensors(size):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    all_at_once = [torch.ones(size) for _ in range(3)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def backward(grad_output, x):
    sizes = [8 << 20, 1 << 20, 5 << 20, 8 << 20]
    with ThreadPoolExecutor(1) as another:
        faults = [list(each(faults_of_tensors, sizes)) for each in (map, another.map)]
    told = {
        "faults": sum(faults, []),
        "processors": [sorted(os.sched_getaffinity(int(t))) for t in os.listdir("/proc/self/task")],
    }
    print(json.dumps(told), file=sys.stderr, flush=True)
    return (2 * grad_output * torch.relu(x),)
"""


def told(language):
    with ColdSessions(best_sandbox()).take(hardware_for(language)) as session:
        session.load(PROBLEM, TELLS)
        session.keep_memory(KEPT_BYTES)
        session.prepare(PROBLEM.make_arguments(CASE, 1), CASE.dims)
        session.call()
        return json.loads(session.printed().strip().splitlines()[-1])


@pytest.mark.sandbox
def test_a_timed_job_has_a_processor_for_each_thread_and_keeps_its_memory():
    told_by_job = told(Language.PYTORCH)
    bound = [p for p in told_by_job["processors"] if len(p) == 1]
    assert len({p for (p,) in bound}) == cpu_threads()
    pages = (1 << 20) * torch.float32.itemsize // 4096  # of the smallest
    assert max(told_by_job["faults"]) < pages / 4


class Asked(Exception):
    """Instead of a job that was started."""


class Asks:
    """A sandbox that starts nothing."""

    name, level = "asks", ""

    def __init__(self, isolation):
        self.isolation = isolation

    def start(self, job):
        raise Asked(job.environment)


@pytest.mark.parametrize("isolation", list(Isolation))
def test_threads_are_bound_where_that_is_allowed(isolation):
    with pytest.raises(Asked) as asked:
        ColdSessions(Asks(isolation)).take(hardware_for(Language.PYTORCH))
    (environment,) = asked.value.args
    assert ("OMP_PROC_BIND" in environment) == (isolation != Isolation.LANDLOCK)
    assert "GOMP_SPINCOUNT" in environment


def test_hardware_is_found_by_name_and_language():
    assert get_hardware(Hardware.CPU, Language.PYTORCH) is hardware_for(Language.PYTORCH)
    with pytest.raises(UnknownHardware, match="takes PyTorch"):
        get_hardware(Hardware.CPU, Language.TRITON)
    with pytest.raises(UnknownHardware, match="no hardware 'abacus'"):
        get_hardware("abacus", Language.PYTORCH)
