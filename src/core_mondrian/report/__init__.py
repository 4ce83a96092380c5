"""The report of a release: every figure as one value, and the page that shows it.

facts            all figures of a report as one plain value
page             these figures as one HTML page
public           the page for readers: only what they can compute from the release
existing         the report of a release that exists as a file
wording          figures as text, and the sentence at the top
plain            values as JSON, text that is safe on a page
axes             the values of a column in a few bins
views            one quasi-identifier, class by class
relations        two columns together, before and after
cuts             the first cuts of the tree
sample           ten released rows
charts           all charts in one style; the only module that draws with Altair
pictures         the charts of the report as SVG
partition_plot   two quasi-identifiers as a painting
"""
