"""Privacy models: may this class be released?

The names below load when they are first used: most runs ask for one or two models.

base                what a model is: a measure of a class, and limits to it
k_anonymity         k-anonymity
distinct            distinct l-diversity, p-sensitive k-anonymity
entropy             entropy l-diversity
recursive           recursive (c, l)-diversity
alpha_k             (alpha, k)-anonymity
t_closeness         t-closeness: equal, ordered and hierarchical distance
likeness            beta-likeness
disclosure          delta-disclosure
population          k-map, delta-presence: models that know the population
risk                limits to the highest and the average risk
measures            what these measure, compiled
registry            the models by the names in spec files
load                a model by name, also from a user's file
parameters          one sentence about each parameter
checks              errors about parameters
own_files           classes in a user's file
own_measures        a user's measure, callable from compiled code
foreign_functions   any function of a user, callable from compiled code
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from core_mondrian.runtime.lazy_names import load_on_use

if TYPE_CHECKING:
    from core_mondrian.models.alpha_k import AlphaKAnonymity
    from core_mondrian.models.base import ClassCounts, Limits, PrivacyModel
    from core_mondrian.models.disclosure import DeltaDisclosure
    from core_mondrian.models.distinct import DistinctLDiversity, PSensitiveKAnonymity
    from core_mondrian.models.entropy import EntropyLDiversity
    from core_mondrian.models.k_anonymity import KAnonymity
    from core_mondrian.models.likeness import BetaLikeness
    from core_mondrian.models.population import DeltaPresence, KMap
    from core_mondrian.models.recursive import RecursiveCLDiversity
    from core_mondrian.models.registry import MODELS
    from core_mondrian.models.risk import AverageRisk, MaximumRisk
    from core_mondrian.models.t_closeness import TCloseness

# The first room that needs compiled modules says what to do where they are missing.
if find_spec("core_mondrian._cython_helpers") is None:
    raise ImportError(
        "core-mondrian is not compiled here: install it with `pip install .`, which "
        "needs a C compiler, or in a checkout run `make demo` or `make test`"
    )

_HOMES = {
    "AlphaKAnonymity": "alpha_k",
    "ClassCounts": "base",
    "Limits": "base",
    "PrivacyModel": "base",
    "DeltaDisclosure": "disclosure",
    "DistinctLDiversity": "distinct",
    "PSensitiveKAnonymity": "distinct",
    "EntropyLDiversity": "entropy",
    "KAnonymity": "k_anonymity",
    "BetaLikeness": "likeness",
    "DeltaPresence": "population",
    "KMap": "population",
    "RecursiveCLDiversity": "recursive",
    "MODELS": "registry",
    "AverageRisk": "risk",
    "MaximumRisk": "risk",
    "TCloseness": "t_closeness",
}

__all__ = [
    "MODELS",
    "AlphaKAnonymity",
    "AverageRisk",
    "BetaLikeness",
    "ClassCounts",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "KAnonymity",
    "KMap",
    "Limits",
    "MaximumRisk",
    "PSensitiveKAnonymity",
    "PrivacyModel",
    "RecursiveCLDiversity",
    "TCloseness",
]

__getattr__ = load_on_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
