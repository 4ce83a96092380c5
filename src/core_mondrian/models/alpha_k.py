"""(alpha, k)-anonymity: no sensitive value is too large a share of its class."""

from collections.abc import Sequence
from dataclasses import dataclass

from core_mondrian.errors import SpecError
from core_mondrian.models import measures
from core_mondrian.models.base import (
    Limits,
    MissingValues,
    PrivacyModel,
)
from core_mondrian.models.checks import (
    BETWEEN_0_AND_1,
    as_text,
    fewest_rows,
    number,
    sensitive_column,
    whole_number,
)


@dataclass(frozen=True, slots=True)
class AlphaKAnonymity(PrivacyModel):
    """Every class has ``k`` rows, and no sensitive value more than ``alpha`` of them.

    With ``values``, only these are sensitive, and the others may have any share; None
    among them is the missing value (Wong, Li, Fu and Wang, 2006, (alpha, k)-Anonymity).
    """

    alpha: float
    k: int
    sensitive: str
    values: tuple[object, ...] = ()
    missing: MissingValues = "value"

    def __post_init__(self) -> None:
        model = "(alpha, k)-anonymity"
        hint = "with alpha = 1 it is k-anonymity, which has a model of its own"
        number(model, "alpha", self.alpha, BETWEEN_0_AND_1, hint)
        whole_number(model, "k", self.k, 2)
        sensitive_column(model, self.sensitive, self.missing)
        if not isinstance(self.values, tuple | list):
            raise SpecError(
                f"values must be a list, got {type(self.values).__name__}",
                hint="without values, every value is sensitive",
            )
        object.__setattr__(self, "values", tuple(self.values))

    measure = measures.LARGEST_SHARE

    @property
    def name(self) -> str:
        which = f" (values: {len(self.values)})" if self.values else ""
        return f"({self.alpha}, {self.k})-anonymity of {self.sensitive}{which}"

    @property
    def min_rows(self) -> int:
        if self.values:
            return self.k
        return max(self.k, fewest_rows(self.limits().edges[1]))

    def limits(self) -> Limits:
        return Limits(at_most=self.alpha)

    def bind(self, labels: Sequence[object]) -> Sequence[float]:
        if not self.values:
            return (1.0,) * (len(labels) + 1)
        # A CSV file has no types: the number 1, "1" and "1.0" are the same value.
        named = {None if value is None else as_text(value) for value in self.values}
        texts = [as_text(label) for label in labels]
        return [float(label in named) for label in (*texts, None)]
