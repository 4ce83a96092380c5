"""All that the cut funnel works on: the table, the policy, scratch, the tree."""

from typing import Any

import cython
import numpy as np

from core_mondrian.engine.columns import ColumnViews
from core_mondrian.engine.layout import (
    BOX,
    CHOICE,
    MOST_OWN_CUTS,
    N_STAGES,
    PROPOSAL,
    Columns,
    Models,
    Policy,
    Tuples,
    fields,
)
from core_mondrian.engine.model_rules import Rules, SetCounts

# A histogram this long is scanned in a few milliseconds; longer codes are sorted.
_LONGEST_HISTOGRAM = 1 << 20


class Strategy:
    """The decisions of a policy (§3.4), each a function; the engine does the rest.

    rank_columns         which columns are tried, and in what order
    propose_numbers      where a number could be cut
    propose_categories   how a category could be
    score_number, ...    how good a proposed cut is
    accepts              whether a cut that the budget allows is taken
    releases             whether a partition that is not cut is released

    ``opens_parts``: whether parts that fail the models are cut further where it is
    possible to go back. ``may_lose``: whether cuts may suppress rows.
    ``asks_before_release``: whether ``releases`` may say no. ``hooks`` are the user's
    functions, which the others call.
    """

    opens_parts: bool
    asks_before_release: bool
    hooks: dict[str, Any]


class FunnelWorkspace:
    """One thread's view of the table, and its scratch.

    A partition is a slice [start, stop) of ``records``; cutting it reorders the slice.
    Scratch that is as long as the records is shared, too: a partition uses its own
    slice of it, so that threads on disjoint partitions never meet.
    """

    spendable: int

    def __init__(
        self,
        tuples: Tuples,
        columns: Columns,
        models: Models,
        policy: Policy,
        strategy: Strategy,
    ) -> None:
        self.take_tuples(tuples)
        self.columns = ColumnViews(columns)
        n_columns = columns.info.size
        self.rules = Rules(models, n_columns)
        self.strategy = strategy
        self._take_policy(policy)
        self.n_columns = n_columns
        self.n_faults = 0
        self.box = fields(n_columns, BOX)
        self.ranks = np.zeros(n_columns)
        self.choices = fields(n_columns, CHOICE)
        most = max(policy.max_edges + 3, MOST_OWN_CUTS if strategy.hooks else 0)
        self.proposals = fields(n_columns * most, PROPOSAL)
        # One record: the cut that was found.
        self.chosen = fields(1, PROPOSAL)
        longest = int(columns.info["n_values"].max(initial=0)) + 1
        self.histogram = np.zeros(min(longest, _LONGEST_HISTOGRAM), dtype=np.int64)
        self.side = SetCounts(models.n_counts, models.n_persons)
        self.pool = SetCounts(models.n_counts, models.n_persons)
        self.whole = SetCounts(models.n_counts, models.n_persons)
        # By stage (axis 0) and column (axis 1).
        self.funnel = np.zeros((N_STAGES, n_columns), dtype=np.int64)
        self.counters = self.funnel
        if strategy.hooks:
            self._lay_out_hooks(columns)

    def _lay_out_hooks(self, columns: Columns) -> None:
        """Make room for what a user's strategy sees, which is laid out anew each time.

        So nothing that it writes into lasts, or reaches another thread.
        """
        n_columns = columns.info.size
        longest = int(columns.info["n_values"].max(initial=0)) + 1
        self.rilms = np.zeros(n_columns)
        self.lows = np.zeros(n_columns, dtype=np.int32)
        self.highs = np.zeros(n_columns, dtype=np.int32)
        self.codes = np.zeros(longest, dtype=np.int32)
        self.code_rows = np.zeros(longest, dtype=np.int64)
        self.marks = np.zeros(longest, dtype=np.int64)
        self.code_values = np.zeros(longest)
        self.given = np.zeros(self.strategy.n_parameters + 1)

    def take_tuples(self, tuples: Tuples) -> None:
        """Work on these tuples from now on."""
        self.records, self.spare = tuples.records, tuples.spare
        self.keys, self.runs, self.parts = tuples.keys, tuples.runs, tuples.parts
        self.rows_at = tuples.records.shape[1] - 2

    def _take_policy(self, policy: Policy) -> None:
        self.epsilon = policy.epsilon
        self.compete_rows = policy.compete_rows
        self.use_median = policy.use_median
        self.use_bin_edges = policy.use_bin_edges
        self.use_lossless = policy.use_lossless
        self.spends_inline = policy.spends_inline
        self.bin_rows = policy.bin_rows
        self.max_edges = policy.max_edges
        self.min_bin_values = policy.min_bin_values
        self.inline_below = policy.inline_below


def open_column(work: FunnelWorkspace, column: int, start: int, stop: int) -> None:
    """Look at one column of a partition, whose records are [start, stop)."""
    work.column = column
    work.start = cython.cast(cython.Py_ssize_t, start)
    work.stop = cython.cast(cython.Py_ssize_t, stop)
