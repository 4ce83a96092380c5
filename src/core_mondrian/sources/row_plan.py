"""What is asked of a plan to write rows, whether its tuples fit into memory or not."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import SpecError, list_names
from core_mondrian.measures.disclosure_warnings import DisclosureWarning, RowSample
from core_mondrian.recoding.plan import Place, Shares
from core_mondrian.release.result import Release
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.keys import Key
from core_mondrian.verification.verify import Verification, WholeTable

Codes = NDArray[np.int32]
DataT = TypeVar("DataT")


class LookedAtRows(Protocol):
    """The rows that are looked at for what they give away."""

    @property
    def leaves(self) -> NDArray[np.bool_]:
        """Return of each leaf whether its rows are; last, of suppressed rows."""

    def pieces(self, tuples: Codes, leaves: Codes) -> Codes:
        """Return the pieces of rows, given the tuple and the leaf of each."""

    def find_concerns(self, looked: RowSample) -> tuple[DisclosureWarning, ...]:
        """Say what columns that pass through may give away, by what was seen."""


class RowPlan(Protocol):
    """A plan that is carried out row by row."""

    @property
    def spec(self) -> Spec: ...

    @property
    def key(self) -> Key: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_suppressed(self) -> int: ...

    @property
    def n_leaves(self) -> int: ...

    @property
    def leaf(self) -> Codes:
        """The leaf of each counted tuple; `SUPPRESSED`, or `DIVIDED`: several."""

    def owners(self, numbers: Codes) -> Codes:
        """Return the tuple that counted ones are, as the plan numbers them."""

    @property
    def shares(self) -> Shares:
        """Where the rows of divided tuples go."""

    @property
    def allocation_key(self) -> bytes:
        """Decides which of them go where."""

    def show(self, leaves: Codes) -> pa.Table:
        """Return what rows of leaves show; those below 0 are blank."""

    def places(self, names: Sequence[str]) -> list[Place]:
        """Return the columns of the release of a table with such columns, in order."""

    def look(self, names: Sequence[str]) -> LookedAtRows:
        """Pick the rows that are looked at for what they give away."""

    def verify(
        self, values: pa.Table, rows: NDArray[np.int64], names: Sequence[str]
    ) -> Verification:
        """Check what a source made of the plan, as it counted it again."""

    def verify_buckets(
        self,
        buckets: Iterable[tuple[pa.Table, NDArray[np.int64]]],
        whole: WholeTable,
        names: Sequence[str],
    ) -> Verification:
        """Check the same where different rows are too many to be here at once."""

    def release(
        self,
        data: DataT,
        verification: Verification,
        *,
        by: Sequence[str] = (),
        **evidence: Any,  # noqa: ANN401
    ) -> Release[DataT]:
        """Return the release as `anonymize` does; ``data`` says where it is."""


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
