"""What is asked of a plan to carry it out, wherever its tuples are."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import SpecError, list_names
from core_mondrian.measures.disclosure_warnings import (
    DisclosureWarning,
    Generalized,
    RowSample,
    find_concerns,
)
from core_mondrian.recoding.plan import Place, Shares, places_of
from core_mondrian.release.result import Release
from core_mondrian.sources.counted_release import Requirements
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.keys import Key
from core_mondrian.verification.verify import Verification

Codes = NDArray[np.int32]
DataT = TypeVar("DataT")


@dataclass(frozen=True)
class LookedAtRows:
    """The rows that are looked at for what they give away."""

    spec: Spec
    release: Generalized
    leaves: NDArray[np.bool_]
    """Of each leaf whether its rows are; last, of suppressed rows."""
    tuple_of: NDArray[np.integer[Any]]
    """By piece of the release: its tuple."""
    leaf: NDArray[np.integer[Any]]
    """And its leaf."""

    def pieces(self, tuples: Codes, leaves: Codes) -> Codes:
        """Return the pieces of rows, given the tuple and the leaf of each."""
        wanted = self._key(tuples, leaves)
        place = np.searchsorted(self._keys, wanted, sorter=self._order)
        return self._order[place].astype(np.int32)

    def _key(
        self, tuples: NDArray[np.integer[Any]], leaves: NDArray[np.integer[Any]]
    ) -> NDArray[np.int64]:
        return tuples.astype(np.int64) * (self.leaves.size + 1) + leaves

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        return self._key(self.tuple_of, self.leaf)

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return np.argsort(self._keys, kind="stable")

    def find_concerns(self, looked: RowSample) -> tuple[DisclosureWarning, ...]:
        """Say what columns that pass through may give away, by what was seen."""
        # One column after the other: who has the rows does one thing at a time.
        return find_concerns(looked, self.spec, self.release, threads=1)


class ReleasePlan(ABC):
    """What classes show, and what their release has to satisfy."""

    spec: Spec
    """As asked."""
    key: Key

    @property
    @abstractmethod
    def n_rows(self) -> int: ...

    @property
    @abstractmethod
    def n_suppressed(self) -> int: ...

    @property
    @abstractmethod
    def n_leaves(self) -> int: ...

    @property
    @abstractmethod
    def shown_schema(self) -> pa.Schema:
        """The columns that classes show, and their types."""

    @property
    @abstractmethod
    def judged_by(self) -> tuple[Spec, int]:
        """The spec, with hierarchies as they are, and the budget in rows."""

    @abstractmethod
    def look(self, names: Sequence[str]) -> LookedAtRows:
        """Pick the rows that are looked at for what they give away."""

    @abstractmethod
    def release(
        self,
        data: DataT,
        verification: Verification,
        *,
        by: Sequence[str] = (),
        **evidence: Any,  # noqa: ANN401
    ) -> Release[DataT]:
        """Return the release as `anonymize` does; ``data`` says where it is."""

    @property
    def allocation_key(self) -> bytes:
        """Decides which rows of divided tuples go where."""
        return self.key.derive("allocation")

    def places(self, names: Sequence[str]) -> list[Place]:
        """Return the columns of the release of a table with such columns, in order."""
        return places_of(self.spec, names, self.shown_schema.names)

    @property
    def requirements(self) -> Requirements:
        """What the release has to satisfy when it is counted again."""
        gone = self.n_suppressed if self.spec.leaves_out else 0
        return Requirements(*self.judged_by, self.n_rows - gone, len(self.spec.models))


class RowPlan(ReleasePlan):
    """A plan that is carried out row by row, here."""

    @property
    @abstractmethod
    def leaf(self) -> Codes:
        """The leaf of each counted tuple; `SUPPRESSED`, or `DIVIDED`: several."""

    @abstractmethod
    def owners(self, numbers: Codes) -> Codes:
        """Return the tuple that counted ones are, as the plan numbers them."""

    @property
    @abstractmethod
    def shares(self) -> Shares:
        """Where the rows of divided tuples go."""

    @abstractmethod
    def show(self, leaves: Codes) -> pa.Table:
        """Return what rows of leaves show; those below 0 are blank."""


def check_released_names(names: Sequence[str], *, ignores_case: bool = False) -> None:
    """Refuse a release with two columns of one name.

    Raises:
        SpecError: there are such columns.
    """
    plain = [name.lower() if ignores_case else name for name in names]
    pairs = zip(names, plain, strict=True)
    if twice := sorted({x for x, known in pairs if plain.count(known) > 1}):
        raise SpecError(
            f"the release would have several columns of one name: {list_names(twice)}",
            hint="rename them, or choose another format or class_id",
        )
