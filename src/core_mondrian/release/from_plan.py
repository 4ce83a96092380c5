"""The Release that a plan has led to, with what is known of its making."""

from dataclasses import replace
from typing import Any, TypeVar

from core_mondrian.measures.column_warnings import find_lost, find_mistyped
from core_mondrian.recoding.plan import Plan
from core_mondrian.release.result import Release
from core_mondrian.verification.verify import Verification

DataT = TypeVar("DataT")


def release_from(
    plan: Plan,
    data: DataT,
    verification: Verification,
    **evidence: Any,  # noqa: ANN401
) -> Release[DataT]:
    """Return what was made of a plan; ``evidence`` is what else a Release holds."""
    encoded, grown = plan.encoded, plan.grown
    mistyped = find_mistyped(encoded.table, plan.spec)
    known = {one.column for one in mistyped}
    lost = find_lost(plan.pieces, plan.recoded.classes, plan.spec)
    evidence["warnings"] = (
        *mistyped,
        *(one for one in lost if one.column not in known),
        *evidence["warnings"],
    )
    return Release(
        data=data,
        spec=plan.spec,
        tree=grown.tree,
        funnel=grown.funnel,
        verification=verification,
        n_rows=plan.n_rows,
        n_suppressed=plan.n_suppressed,
        n_blanked=encoded.n_blanked + grown.n_blanked,
        budget=plan.budget,
        _search=grown.search,
        balance=grown.balance,
        # What is as long as the table is let go.
        _encoded=replace(encoded, row_tuple=encoded.row_tuple[:0].copy()),
        _pieces=plan.pieces,
        _recoded=plan.recoded,
        _key=plan.key,
        **evidence,
    )
