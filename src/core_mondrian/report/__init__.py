"""The report of a release: every figure as one value, and the page that shows it."""
