"""Cohorts: rows that are shown together, in the finest node that has enough of them."""

from typing import Final, Literal, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from core_mondrian.recoding.labels import number_distinct, stable_order
from core_mondrian.series.judge import Judge, Members

Integers = NDArray[np.int64]

TooSmall = Literal["ancestor", "wait", "withhold"]
TOO_SMALL: Final = get_args(TooSmall)


class Ancestry(Protocol):
    """A tree, as far as it matters here: who is above whom."""

    @property
    def n_nodes(self) -> int:
        """How many nodes there are."""
        ...

    @property
    def parent(self) -> Integers:
        """The node above each; -1: there is none."""
        ...

    @property
    def depth(self) -> Integers:
        """How many nodes are above each."""
        ...


class Formed(NamedTuple):
    """The cohorts of some tuples."""

    of_tuple: Integers
    """The cohort of each tuple, from 0 on; -1: it is in none."""
    node: Integers
    """The node of each cohort."""

    @property
    def n_cohorts(self) -> int:
        return int(self.node.size)


def form_cohorts(
    tree: Ancestry,
    node: Integers,
    members: Members,
    judge: Judge,
    too_small: TooSmall = "ancestor",
    group: Integers | None = None,
) -> Formed:
    r"""Put tuples into cohorts, given the node at which each of them stops.

    From the deepest nodes up: those of a node are a cohort if they pass the models;
    else they move up to its parent, or are in none. Tuples of different ``group`` are
    never put together.

        node     A: 7 rows    B: 2 rows    C: 3 rows       k = 5
                    |              \         /
                 cohort A            P: 5 rows  ->  cohort P
    """
    own = np.zeros(node.size, dtype=np.int64) if group is None else group
    of_tuple = np.full(node.size, -1, dtype=np.int64)
    place = node.copy()
    parts: list[Integers] = [np.zeros(0, dtype=np.int64)]
    n_found = 0
    level = tree.depth[node]
    by_level = stable_order(level.max(initial=0) - level)
    edges = np.searchsorted(-level[by_level], -np.arange(level.max(initial=-1), -2, -1))
    risen = by_level[:0]
    for i, depth in enumerate(range(int(level.max(initial=-1)), -1, -1)):
        here = np.concatenate([risen, by_level[edges[i] : edges[i + 1]]])
        keys = own[here] * tree.n_nodes + place[here]
        distinct, number = number_distinct(keys)
        passes = judge.passing(members.take(here), number, distinct.size)
        cohort = np.where(passes, n_found + np.cumsum(passes) - 1, -1)
        of_tuple[here] = cohort[number]
        parts.append(distinct[passes] % tree.n_nodes)
        n_found += int(np.count_nonzero(passes))
        risen = here[~passes[number]]
        if too_small != "ancestor" or depth == 0:
            risen = risen[:0]
        place[risen] = tree.parent[place[risen]]
    return Formed(of_tuple, np.concatenate(parts))
