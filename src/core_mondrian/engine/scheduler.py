"""Run queued partitions on threads; the result does not depend on how many."""

from bisect import bisect_right
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from queue import SimpleQueue
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine.layout import QUEUED, Fields, join_fields
from core_mondrian.engine.nodes import NODE_ROWS, level_order
from core_mondrian.runtime.threads import n_cores

Nodes = Fields
Report = Callable[[float], None]
WorkT = TypeVar("WorkT")
WorkT_contra = TypeVar("WorkT_contra", contravariant=True)
TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")

# Partitions below this share of the table are not worth a task of their own.
_TASKS_PER_THREAD = 16
# A second thread costs more than it brings below this many tuples (about 30 ms).
_TUPLES_PER_THREAD = 16_384
# So few are done before anybody could press a key (about 100 ms): no pool.
_TUPLES_AT_ONCE = 65_536
NEVER = 2**62


class Job(Protocol[WorkT_contra]):
    """What is done with a queued partition, in the workspace of one thread."""

    @property
    def n_tuples(self) -> int: ...

    @property
    def least_rows(self) -> int:
        """Partitions with fewer rows are never given to another thread."""

    def cut_partition(self, work: WorkT_contra, root: Nodes, ship_above: int) -> Nodes:
        """Return what grows below ``root``, its own node first.

        Those of at least ``ship_above`` rows may be left queued.
        """


def queue_threads(asked: int | None, n_tuples: int) -> int:
    """Return how many threads to start: as asked, or what the table can feed."""
    if asked is not None:
        return asked
    return min(n_cores(), 1 + n_tuples // _TUPLES_PER_THREAD)


def run_queue(
    job: Job[WorkT], roots: Nodes, works: list[WorkT], report: Report
) -> Nodes:
    """Grow everything below ``roots``, one thread per entry of ``works``.

    Returns the nodes with the roots in front, the others in no particular order.
    """
    forest = Forest(roots)
    if len(works) == 1 and job.n_tuples < _TUPLES_AT_ONCE:
        for number, root in forest.queued(0):
            forest.graft(job.cut_partition(works[0], root, NEVER), number)
    else:
        _run_on_threads(job, forest, works, report)
    return join_fields(forest.blocks)


def run_tasks(
    do: Callable[[WorkT, TaskT], ResultT],
    tasks: list[TaskT],
    works: list[WorkT],
    report: Report,
) -> list[ResultT]:
    """Return ``do(work, task)`` for each task, in their order."""
    if len(works) == 1 or len(tasks) == 1:
        results = []
        for done, task in enumerate(tasks):
            results.append(do(works[0], task))
            report((done + 1) / len(tasks))
        return results
    run = _with_free(works, do)
    with ThreadPoolExecutor(len(works), thread_name_prefix="core-mondrian") as pool:
        futures = [pool.submit(run, task) for task in tasks]
        try:
            results = []
            for done, future in enumerate(futures):
                results.append(future.result())
                report((done + 1) / len(tasks))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return results


def _with_free(
    works: list[WorkT], do: Callable[[WorkT, TaskT], ResultT]
) -> Callable[[TaskT], ResultT]:
    """Return ``do`` for threads, each call with a scratch that nobody else uses."""
    free: SimpleQueue[WorkT] = SimpleQueue()
    for work in works:
        free.put(work)

    def run(task: TaskT) -> ResultT:
        work = free.get()
        try:
            return do(work, task)
        finally:
            free.put(work)

    return run


def _run_on_threads(
    job: Job[WorkT], forest: "Forest", works: list[WorkT], report: Report
) -> None:
    """Grow queued partitions on a pool; the main thread can be interrupted."""
    n_rows = sum(int(node["rows"][0]) for _, node in forest.queued(0))
    smallest = n_rows // (len(works) * _TASKS_PER_THREAD)
    ship_above = NEVER
    if len(works) > 1:
        ship_above = max(smallest, job.least_rows, 1)
    cut = _with_free(
        works, lambda work, root: job.cut_partition(work, root, ship_above)
    )
    with ThreadPoolExecutor(len(works), thread_name_prefix="core-mondrian") as pool:
        pending: dict[Future[Nodes], int] = {}
        queued = forest.queued(0)
        try:
            while queued or pending:
                for number, node in queued:
                    pending[pool.submit(cut, node)] = number
                finished, _ = wait(pending, return_when=FIRST_COMPLETED)
                queued = []
                for future in finished:
                    queued += forest.graft(future.result(), pending.pop(future))
                waiting = sum(int(forest.node(i)["rows"][0]) for i in pending.values())
                waiting += sum(int(node["rows"][0]) for _, node in queued)
                report(1.0 - waiting / n_rows)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


class Forest:
    """The nodes grown so far, block after block in order of arrival."""

    def __init__(self, roots: Nodes) -> None:
        self.blocks: list[Nodes] = [roots]
        self._first = [0]
        self._n_nodes = int(roots.size)

    def node(self, number: int) -> Nodes:
        """Return one node as an array of length 1 that can be written."""
        block = bisect_right(self._first, number) - 1
        place = number - self._first[block]
        return self.blocks[block][place : place + 1]

    def queued(self, block: int) -> list[tuple[int, Nodes]]:
        """Return the queued nodes of a block with their numbers, largest first."""
        nodes = self.blocks[block]
        places = np.flatnonzero(nodes["kind"] == QUEUED)
        places = places[np.argsort(-nodes["rows"][places], kind="stable")]
        return [(self._first[block] + i, nodes[i : i + 1]) for i in places.tolist()]

    def graft(self, grown: Nodes, target: int) -> list[tuple[int, Nodes]]:
        """Put a grown sub-tree in place of queued node ``target``; return its queue.

        Its first node takes the queued node's place; the rest is one more block.
        """
        place = self.node(target)
        parent = int(place["parent"][0])
        # Links change from the sub-tree's own numbering to the whole tree's.
        own_parent, first, more = grown["parent"], grown["first_child"], self._n_nodes
        grown["parent"] = np.where(own_parent <= 0, target, own_parent + more - 1)
        grown["first_child"] = np.where(first < 0, -1, first + more - 1)
        place[0] = grown[0]
        place["parent"][0] = parent
        self.blocks.append(grown[1:])
        self._first.append(self._n_nodes)
        self._n_nodes += int(grown.size) - 1
        return self.queued(len(self.blocks) - 1)


def number_nodes(nodes: Nodes, n_roots: int) -> dict[str, NDArray[np.int64]]:
    """Number nodes level by level, so that no trace of the schedule is left."""
    table = np.empty((len(NODE_ROWS), nodes.size), dtype=np.int64)
    level_order(nodes, n_roots, np.empty(nodes.size, dtype=np.int32), table)
    return dict(zip(NODE_ROWS, table, strict=True))
