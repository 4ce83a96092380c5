"""The strategies of the paper (§3.4): `paper`, `original`, and those of users.

Each is a set of functions behind the same seam. A user's is one of the others, with
some of its functions replaced by those in the user's own file.
"""

import cython
import numpy as np
from cython.cimports.core_mondrian.engine.paper.category_parts import (
    propose_categories,
    propose_whole_children,
)
from cython.cimports.core_mondrian.engine.paper.column_ranking import (
    rank_by_rilm,
    rank_by_width,
    rank_widest,
)
from cython.cimports.core_mondrian.engine.paper.own_strategy import (
    accept_by_own,
    propose_by_own,
    rank_by_own,
    release_by_own,
    score_category_by_own,
    score_number_by_own,
)
from cython.cimports.core_mondrian.engine.paper.proposals import (
    propose_numbers,
    propose_strict_median,
)
from cython.cimports.core_mondrian.engine.paper.scoring import (
    score_category,
    score_number,
)

from core_mondrian.engine.paper.workspace import Strategy
from core_mondrian.spec.policies import (
    FunnelPolicy,
    OriginalPolicy,
    Policy,
    own_functions,
)
from core_mondrian.tables.encoded import EncodedTable


def strategy_of(policy: Policy, table: EncodedTable) -> Strategy:
    """Return the strategy of a policy; `best` compares itself with the paper's."""
    strategy = Strategy()
    if isinstance(policy, OriginalPolicy):
        take_original(strategy, policy.variant == "as_published")
    else:
        take_paper(strategy)
    strategy.asks_before_release = False
    strategy.hooks = {}
    strategy.parameters = np.zeros(1)
    strategy.n_parameters = 0
    if own_functions(policy):
        take_own(strategy, policy, table.names)
    return strategy


def take_paper(strategy: Strategy) -> None:
    """Decide as the paper does: RILM, median and bin edges, standard deviations."""
    strategy.rank_columns = rank_by_rilm
    strategy.propose_numbers = propose_numbers
    strategy.propose_categories = propose_categories
    strategy.score_number = score_number
    strategy.score_category = score_category
    strategy.accepts = accept_always
    strategy.releases = accept_always
    strategy.opens_parts = True
    strategy.may_lose = True


def take_original(strategy: Strategy, is_as_published: bool) -> None:
    """Decide as LeFevre does: the widest column first, strictly at the median."""
    take_paper(strategy)
    strategy.rank_columns = rank_by_width
    if is_as_published:
        strategy.rank_columns = rank_widest
    strategy.propose_numbers = propose_strict_median
    strategy.propose_categories = propose_whole_children
    strategy.opens_parts = False
    strategy.may_lose = False


def accept_always(work: object, number: int) -> bool:
    """Take every cut that the budget allows, release every partition that passes."""
    return True


def take_own(
    strategy: Strategy, policy: FunnelPolicy, columns: tuple[str, ...]
) -> None:
    """Replace the decisions that the user's class takes itself."""
    from core_mondrian.engine.own_hooks import hooks_of

    hooks = hooks_of(policy)
    strategy.hooks = hooks
    parameters = policy.bind(columns)
    strategy.parameters = np.array([*parameters, 0.0], dtype=np.float64)
    strategy.n_parameters = len(parameters)
    strategy.base_ranks = strategy.rank_columns
    strategy.base_cuts = strategy.propose_numbers
    if "cut_choices" in hooks:
        strategy.own_ranks = address_of(hooks["cut_choices"])
        strategy.rank_columns = rank_by_own
    if "propose" in hooks:
        strategy.own_cuts = address_of(hooks["propose"])
        strategy.propose_numbers = propose_by_own
    if "score" in hooks:
        strategy.own_scores = address_of(hooks["score"])
        strategy.score_number = score_number_by_own
        strategy.score_category = score_category_by_own
    if "accept" in hooks:
        strategy.own_acceptance = address_of(hooks["accept"])
        strategy.accepts = accept_by_own
    if "release" in hooks:
        strategy.own_release = address_of(hooks["release"])
        strategy.releases = release_by_own
        strategy.asks_before_release = True


def address_of(hook: object) -> object:
    """Return where the C function of a hook is; plain Python calls it as it is."""
    if cython.compiled:
        return cython.cast(cython.p_void, cython.cast(cython.size_t, hook.address))
    return hook
