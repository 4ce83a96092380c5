"""The docs site: what MkDocs builds from docs/, and what is added to it.

hooks.py      what MkDocs calls: pages before they are rendered
fences.py     the marks of examples that run (see tests/integration/test_docs.py)
sources.py    files outside docs/ that pages link to, as pages of the site
commands.py   the reference of the command line, from the commands themselves
spec_keys.py  the tables of a spec's keys, from their declaration
names.py      the reference of the Python API: one entry a public name
"""
