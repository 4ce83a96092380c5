"""A release as it is specified.

keys                   every key, declared once: what it holds, means, and is called
metadata               what is declared of a key; readers, flags, schema, docs follow it
declaration            Spec: everything that can change a released cell, as one value
reading                how keys are read: the same in Python, TOML and flags
unknown_keys           keys that nobody declared, and what may be meant
thresholds             the quality that a release should reach
policies               cut policies and what may be asked of them
suppression            the suppression budget: a share of the rows, or a number
population             the population that a table was drawn from
toml_file              spec files, with the line of what is wrong
hierarchy_files        a hierarchy as a file that a spec can name
json_schema            the same as JSON Schema, for editors
identifier_detection   columns that look like identifiers (HIPAA Safe Harbor)
"""
