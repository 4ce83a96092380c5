"""What analysts would compute, on the original and on its release.

questions     what is asked, as values
comparison    compare(), evaluate(): all questions on both tables
answers       one statistic of both tables
cells         columns read as numbers or shares of values
bins          numbers as categories
groups        means of groups, contingency tables
design        the columns of a regression
regressions   linear and logistic regressions, by statsmodels
classifier    a classifier trained on either table, by scikit-learn
packages      which question needs which package
"""

from core_mondrian.analysis.analyst_statistics.answers import Answer, Row
from core_mondrian.analysis.analyst_statistics.comparison import (
    Comparison,
    compare,
    evaluate,
)
from core_mondrian.analysis.analyst_statistics.questions import Question

__all__ = ["Answer", "Comparison", "Question", "Row", "compare", "evaluate"]
