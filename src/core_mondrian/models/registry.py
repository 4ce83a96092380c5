"""Privacy models by the names that spec files call them."""

from core_mondrian.models.alpha_k import AlphaKAnonymity
from core_mondrian.models.base import PrivacyModel
from core_mondrian.models.disclosure import DeltaDisclosure
from core_mondrian.models.distinct import DistinctLDiversity, PSensitiveKAnonymity
from core_mondrian.models.entropy import EntropyLDiversity
from core_mondrian.models.k_anonymity import KAnonymity
from core_mondrian.models.likeness import BetaLikeness
from core_mondrian.models.population import DeltaPresence, KMap
from core_mondrian.models.recursive import RecursiveCLDiversity
from core_mondrian.models.risk import AverageRisk, MaximumRisk
from core_mondrian.models.t_closeness import TCloseness

MODELS: dict[str, type[PrivacyModel]] = {
    "k-anonymity": KAnonymity,
    "distinct-l-diversity": DistinctLDiversity,
    "p-sensitive-k-anonymity": PSensitiveKAnonymity,
    "entropy-l-diversity": EntropyLDiversity,
    "recursive-cl-diversity": RecursiveCLDiversity,
    "alpha-k-anonymity": AlphaKAnonymity,
    "t-closeness": TCloseness,
    "delta-disclosure": DeltaDisclosure,
    "beta-likeness": BetaLikeness,
    "maximum-risk": MaximumRisk,
    "average-risk": AverageRisk,
    "k-map": KMap,
    "delta-presence": DeltaPresence,
}
"""What spec files call each model."""
