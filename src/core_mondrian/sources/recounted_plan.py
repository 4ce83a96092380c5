"""Judges what a source made of a plan, as it counted it again."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import InternalError
from core_mondrian.spec.declaration import Spec
from core_mondrian.verification.verify import (
    Verification,
    WholeTable,
    verify_buckets,
    verify_counts,
)

Integers = NDArray[np.int64]


class RecountedPlan(ABC):
    """A plan that says what its release has to satisfy."""

    @property
    @abstractmethod
    def n_rows(self) -> int: ...

    @property
    @abstractmethod
    def n_suppressed(self) -> int: ...

    @property
    @abstractmethod
    def judged_by(self) -> tuple[Spec, int]:
        """The spec, with hierarchies as they are, and the budget in rows."""

    def verify(
        self, values: pa.Table, rows: Integers, names: Sequence[str]
    ) -> Verification:
        """Check what a source made of the plan, as it counted it again.

        ``values`` has the released rows that differ in what models look at, ``rows``
        how often each occurs, ``names`` the columns of the release.

        Raises:
            PrivacyViolation: a class fails, or an identifier was not removed.
            InternalError: rows were lost, or are not those that were planned.
        """
        spec, budget = self._judged_by(int(rows.sum()))
        return verify_counts(values, rows, spec, budget=budget, names=names)

    def verify_buckets(
        self,
        buckets: Iterable[tuple[pa.Table, Integers]],
        whole: WholeTable,
        names: Sequence[str],
    ) -> Verification:
        """Check the same where different rows are too many to be here at once."""
        spec, budget = self._judged_by(whole.n_rows)
        return verify_buckets(buckets, whole, spec, budget=budget, names=names)

    def _judged_by(self, n_released: int) -> tuple[Spec, int]:
        spec, budget = self.judged_by
        gone = self.n_suppressed if spec.leaves_out else 0
        if n_released + gone != self.n_rows:
            raise InternalError(
                "rows released and suppressed do not add up to rows read"
            )
        return spec, budget
