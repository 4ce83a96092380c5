"""Questions: what an analyst would compute, as values."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Final, Literal, get_args

from core_mondrian.errors import DataError, SpecError, list_names, quote_names
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.verification.counting import NEARLY_UNIQUE

if TYPE_CHECKING:
    from core_mondrian.analysis.analyst_statistics.cells import Tables

Kind = Literal["means", "table", "linear", "logistic", "classifier"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_MOST_OUTCOMES: Final = 2
_MOST_SINGLE: Final = 6
_MOST_PAIRS: Final = 2
_MOST_VALUES: Final = 20
"""Values of a column that is an outcome without being asked for."""
_MOST_PREDICTING: Final = 50
"""Values of a category that predicts without being asked for."""
MOST_GROUPS: Final = 2000
N_BINS: Final = 4
"""Groups that a number makes."""


@dataclass(frozen=True, slots=True)
class Question:
    """One statistic: of which column, by which others.

    >>> str(Question("means", "hours", ("sex", "race")))
    'means of hours by sex, race'
    """

    kind: Kind
    outcome: str
    by: tuple[str, ...] = ()
    """Columns that make groups, or that the outcome is predicted by. A classifier
    without any takes all quasi-identifiers."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SpecError(f"a question is one of {', '.join(KINDS)}")
        columns = (self.outcome, *self.by)
        if not all(isinstance(name, str) and name for name in columns):
            raise SpecError("a question names columns by text")
        if len(set(columns)) < len(columns):
            raise SpecError(f"the question {str(self)!r} names a column twice")
        if self.kind in ("linear", "logistic") and not self.by:
            raise SpecError(
                f"{self.kind} needs columns to predict by",
                hint=f"such as {self.kind} {self.outcome}:age,sex",
            )

    def __str__(self) -> str:
        by = f" by {', '.join(self.by)}" if self.by else ""
        return f"{self.kind} of {self.outcome}{by}"

    def to_json(self) -> JsonObject:
        """Return plain values."""
        return {"kind": self.kind, "outcome": self.outcome, "by": list(self.by)}


def parse_question(kind: Kind, text: str) -> Question:
    """Read ``OUTCOME:BY,BY,…``.

    >>> parse_question("table", "income:sex,race").by
    ('sex', 'race')
    """
    outcome, _, by = text.partition(":")
    return Question(kind, outcome, tuple(name for name in by.split(",") if name))


def check_questions(questions: Sequence[Question], tables: "Tables") -> None:
    """Refuse questions about columns that one of the tables does not have.

    Raises:
        SpecError: there are none, or one names such a column.
    """
    if not questions:
        raise SpecError("no question", hint="such as --means hours:sex,race")
    named = {name for one in questions for name in (one.outcome, *one.by)}
    before = tables.original.columns
    if absent := sorted(named.difference(before)):
        raise SpecError(
            f"not in the original: {quote_names(absent)}",
            hint=f"it has {list_names(before)}",
        )
    known = [name for name in before if tables.is_released(name)]
    if absent := sorted(named.difference(known)):
        raise SpecError(
            f"not in the release: {quote_names(absent)}",
            hint=f"both tables have {list_names(known)}",
        )


def default_questions(
    tables: "Tables", *, fits: Collection[Kind]
) -> tuple[Question, ...]:
    """Return what is worth asking of any release.

    The outcomes are the sensitive columns, else other columns that are released as they
    are, else the quasi-identifiers themselves; numbers and columns of two values first.
    Each is asked for by every quasi-identifier, by the first pairs of them and, of the
    kinds in ``fits``, as a regression and, with rows to test it on, as a classifier.

    Raises:
        SpecError: no column of both tables has few enough values.
    """
    spec = tables.spec
    by = [name for name in spec.quasi_identifiers if _is_usable(tables, name)]
    others = [
        name
        for name in spec.carried(tables.original.columns)
        if name not in (*spec.pseudonyms, spec.weight) and tables.is_released(name)
    ]
    others = [name for name in others if not _is_identifier(tables, name)]
    for candidates in (spec.sensitive, others, by):
        usable = [name for name in candidates if _is_usable(tables, name)]
        usable.sort(key=lambda name: len(tables.column(name).levels) > 2)
        if outcomes := usable[:_MOST_OUTCOMES]:
            break
    else:
        raise SpecError(
            "no column to ask about by default",
            hint="ask yourself, such as --means hours:sex",
        )
    return tuple(
        question
        for outcome in outcomes
        for question in _about(
            tables, outcome, [name for name in by if name != outcome], fits=fits
        )
    )


def _about(
    tables: "Tables", outcome: str, by: list[str], *, fits: Collection[Kind]
) -> list[Question]:
    column = tables.column(outcome)
    is_two_valued = not column.is_number and len(column.levels) <= 2
    kind: Kind = "means" if column.is_number or is_two_valued else "table"
    groups: list[tuple[str, ...]] = [(name,) for name in by[:_MOST_SINGLE]]
    pairs = [pair for pair in combinations(by, 2) if _are_few(tables, outcome, pair)]
    groups = [one for one in groups if _are_few(tables, outcome, one)]
    groups += pairs[:_MOST_PAIRS]
    questions = [Question(kind, outcome, group) for group in groups or [()]]
    few = [n for n in by if len(tables.column(n).levels) <= _MOST_PREDICTING]
    kinds: list[Kind] = []
    if column.is_number or is_two_valued:
        kinds.append("linear" if column.is_number else "logistic")
    if not column.is_number and tables.test is not None:
        kinds.append("classifier")
    if few:
        questions += [
            Question(one, outcome, tuple(few)) for one in kinds if one in fits
        ]
    return questions


def _are_few(tables: "Tables", outcome: str, by: tuple[str, ...]) -> bool:
    """Return whether columns make few enough groups for a table."""
    columns = [tables.column(name) for name in (outcome, *by)]
    return prod(len(one.levels) or N_BINS for one in columns) <= MOST_GROUPS


def _is_usable(tables: "Tables", name: str) -> bool:
    try:
        column = tables.column(name)
    except DataError:  # a type that has no statistics, or too many values
        return False
    is_few = name in tables.spec.quasi_identifiers or len(column.levels) <= _MOST_VALUES
    return column.is_number or (is_few and bool(column.levels))


def _is_identifier(tables: "Tables", name: str) -> bool:
    """Return whether nearly every row has a whole number of its own."""
    if not tables.original[name].dtype.is_integer():
        return False
    filled = tables.original[name].drop_nulls()
    return bool(filled.n_unique() >= NEARLY_UNIQUE * len(filled))
