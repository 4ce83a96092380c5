"""What is asked of a release.

declaration            Spec: everything that can change a released cell, as one value
reading                how each key is read: the same in Python, TOML and flags
descriptions           a sentence about every key
thresholds             the quality that a release should reach
policies               cut policies and what may be asked of them
suppression            the suppression budget: a share of the rows, or a number
population             the population that a table was drawn from
toml_file              spec files, with the line of what is wrong
json_schema            the same as JSON Schema, for editors
identifier_detection   columns that look like identifiers (HIPAA Safe Harbor)
"""
