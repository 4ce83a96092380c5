"""What analysts would compute, on the original and on its release."""

from core_mondrian.analysis.analyst_statistics.answers import Answer, Row
from core_mondrian.analysis.analyst_statistics.comparison import (
    Comparison,
    compare,
    evaluate,
)
from core_mondrian.analysis.analyst_statistics.questions import Question

__all__ = ["Answer", "Comparison", "Question", "Row", "compare", "evaluate"]
