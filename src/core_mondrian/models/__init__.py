"""Privacy models: may this class be released?"""

from core_mondrian.models.base import PrivacyModel
from core_mondrian.models.k_anonymity import KAnonymity

MODELS: dict[str, type[PrivacyModel]] = {"k-anonymity": KAnonymity}
