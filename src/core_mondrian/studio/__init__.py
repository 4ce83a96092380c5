"""The studio: a local web page on which a release is made; every step is a spec.

server, guard, access   who gets in
session, jobs           the work of each tab, on threads
page, page_context      the frame of the page; what its parts share
preview, tables         the table at a glance; small tables as HTML
columns, column_row     the role of each column
risks                   what each column adds to the risk
keys                    the key of pseudonyms
choices, protections    how much protection: privacy models
models                  one privacy model and its parameters
advanced_options        policy, formats, missing values, suppression
hierarchy_editor        a hierarchy per column
trees, uploads          its tree; files for it
curve, sweep            what each value of a parameter would cost
actions                 what the page has done: read, count, release
release_panel           the release beside the controls
file_names              the names of its files
results, plain_words    what became of each column, in words
row_pages, rows         rows before and after
run_details             the funnel, the first cuts, paintings
comparing, run_diff     two runs side by side
draft                   choices to a spec file
reading, open_spec      a spec file to choices
unsupported_keys        keys of it that have no control
"""
