"""compare() and evaluate(): what analysts find in the original and in a release."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from core_mondrian.analysis.analyst_statistics.answers import Answer
from core_mondrian.analysis.analyst_statistics.cells import Tables, open_tables
from core_mondrian.analysis.analyst_statistics.classifier import (
    HOLDOUT,
    answer_classifier,
    is_held_out,
)
from core_mondrian.analysis.analyst_statistics.groups import answer_means, answer_table
from core_mondrian.analysis.analyst_statistics.packages import (
    fitted_kinds,
    require_packages,
)
from core_mondrian.analysis.analyst_statistics.questions import (
    Question,
    check_questions,
    default_questions,
)
from core_mondrian.analysis.analyst_statistics.regressions import answer_regression
from core_mondrian.api import anonymize
from core_mondrian.errors import SpecError, drops_context
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.runtime.progress import Progress, Steps
from core_mondrian.runtime.runs import run_members
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.frames import filter_rows, open_frame, row_keys

_ANSWERS: Final[dict[str, Callable[[Question, Tables], Answer]]] = {
    "means": answer_means,
    "table": answer_table,
    "linear": answer_regression,
    "logistic": answer_regression,
    "classifier": answer_classifier,
}
_SHARES: Final = {"means": 1, "table": 1, "linear": 3, "logistic": 6, "classifier": 12}
"""How long they take, next to each other."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What both tables answer. It names no group of fewer than ``k`` rows."""

    k: int
    n_original: int
    n_released: int
    answers: tuple[Answer, ...]
    is_held_out: bool
    """Whether the release was made without the rows that classifiers are tested on."""

    @property
    def score(self) -> float | None:
        """The mean of the answers' scores; None if there is none."""
        known = [one.score for one in self.answers if one.score is not None]
        return sum(known) / len(known) if known else None

    @property
    def sentence(self) -> str:
        """The score in words."""
        known = [one for one in self.answers if one.score is not None]
        if not known:
            return "no question has an answer"
        worst = min(known, key=lambda one: one.score or 0.0)
        n = len(known)
        text = f"{self.score:.2f} of 1, the mean of {n} question{'s' * (n > 1)}"
        if n > 1:
            text += f"; the worst is {worst.question} ({worst.score:.2f})"
        return text

    def to_json(self) -> JsonObject:
        """Return plain values; nothing in them names a group of fewer than k rows."""
        return {
            "format": 1,
            "k": self.k,
            "rows": {"original": self.n_original, "released": self.n_released},
            "held_out": self.is_held_out,
            "score": self.score,
            "questions": [answer.to_json() for answer in self.answers],
        }


def compare(
    original: object,
    released: object,
    spec: Spec,
    questions: Sequence[Question] | None = None,
    *,
    test: object = None,
    progress: Progress | None = None,
) -> Comparison:
    """Answer questions by the original and by its release, and tell the difference.

    Rows need not be in the same order, nor all be released. A group is named only if
    at least k rows (``spec.min_rows``) of either table have it, the release's as exact
    values. ``test``: rows of the same kind that the release was made without, to test
    classifiers on; None: a part of the original, which the release has seen.
    ``progress`` is called with how much is done.

    Raises:
        SpecError: a question names unknown columns, or cannot be asked of them; or it
            needs a package that is not installed.
        DataError: a column has no statistics, or released cells cannot be read.
    """
    tables = open_tables(original, released, spec, test)
    if questions is None:
        questions = default_questions(tables, fits=fitted_kinds())
    check_questions(questions, tables)
    require_packages(question.kind for question in questions)
    shares = [_SHARES[one.kind] for one in questions]
    end = Steps(progress, "asking both tables", shares).end
    return Comparison(
        k=spec.min_rows,
        n_original=len(tables.original),
        n_released=len(tables.released),
        answers=tuple(end(_ANSWERS[one.kind](one, tables)) for one in questions),
        is_held_out=test is not None,
    )


@drops_context
def evaluate(  # noqa: PLR0913  # the last two change no cell
    data: object,
    spec: Spec,
    questions: Sequence[Question] | None = None,
    *,
    holdout: float = HOLDOUT,
    key: bytes | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Anonymize a part of the table, compare it, and test classifiers on the rest.

    Which rows are held out is decided by what they hold, not by their order; all rows
    of a person (``spec.unit``) go together. The release is made for the comparison and
    not given back.

    Raises:
        SpecError: ``holdout`` is no share between 0 and 1; see `compare` as well.
        MondrianError: what `anonymize` raises.
    """
    if not 0.0 < holdout < 1.0:
        raise SpecError("holdout is a share of rows between 0 and 1")
    frame = open_frame(data)
    keys = _row_keys(frame, spec)
    tested = is_held_out(keys, holdout)
    train, test = filter_rows(frame, ~tested), filter_rows(frame, tested)
    plain = _without_pseudonyms(spec)
    release = anonymize(train, plain, key=key, threads=threads, progress=progress)
    known = replace(plain, hierarchies={**spec.hierarchies, **release.hierarchies})
    return compare(train, release.data, known, questions, test=test, progress=progress)


def _row_keys(frame: Any, spec: Spec) -> Any:  # noqa: ANN401
    """Return a key per row, made from what it holds; equal rows are told apart."""
    everyone = np.arange(len(frame))
    if spec.unit is not None:
        return row_keys(frame, [spec.unit], everyone)
    keys = row_keys(frame, frame.columns, everyone)
    order = np.argsort(keys, kind="stable")
    _, first, counts = np.unique(keys[order], return_index=True, return_counts=True)
    nth = run_members(np.zeros_like(first), counts)
    own_keys = keys.copy()
    own_keys[order] += nth.astype(np.uint64)
    return own_keys


def _without_pseudonyms(spec: Spec) -> Spec:
    """Return the spec without what needs a key: nobody gets this release."""
    removed = [name for name in spec.pseudonyms if name != spec.unit]
    return replace(spec, pseudonyms=(), identifiers=(*spec.identifiers, *removed))
