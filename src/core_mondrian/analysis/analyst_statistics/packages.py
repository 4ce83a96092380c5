"""Packages that fit models: which kind of question needs which, and whether it is here.

They come with the extra ``statistics`` and are imported where a model is fitted.
"""

from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple

from core_mondrian.errors import SpecError

if TYPE_CHECKING:
    from core_mondrian.analysis.analyst_statistics.questions import Kind


class _Package(NamedTuple):
    module: str
    name: str


_STATSMODELS: Final = _Package("statsmodels", "statsmodels")
_NEEDED: "Final[dict[Kind, _Package]]" = {
    "linear": _STATSMODELS,
    "logistic": _STATSMODELS,
    "classifier": _Package("sklearn", "scikit-learn"),
}


def fitted_kinds() -> "frozenset[Kind]":
    """Return the kinds of questions whose models can be fitted here."""
    return frozenset(kind for kind, one in _NEEDED.items() if _is_installed(one))


def require_packages(kinds: "Iterable[Kind]") -> None:
    """Refuse questions whose models cannot be fitted here.

    Raises:
        SpecError: a package is not installed.
    """
    for kind in kinds:
        needed = _NEEDED.get(kind)
        if needed is not None and not _is_installed(needed):
            what = "classifiers" if kind == "classifier" else "regressions"
            raise SpecError(
                f"{what} need {needed.name}, which is not installed",
                hint="pip install 'core-mondrian[statistics]'; means and tables do not",
            )


def _is_installed(package: _Package) -> bool:
    try:
        return find_spec(package.module) is not None
    except ValueError:  # something else goes by its name
        return False
