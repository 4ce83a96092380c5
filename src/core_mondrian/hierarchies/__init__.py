"""The generalization tree of a column: built from values or read from files.

tree        Hierarchy: labels over the values of a column
base        what a builder is: parameters that become a tree once values are known
codes       Flat, Prefix, Redact: whole or shortened codes
ranges      Ranges: numbers in intervals
dates       Dates: days, months, quarters, years, decades
groups      Lookup, Grouping: groups that the user names
learned     Learned: values that occur with the same other values are alike
load        a hierarchy as a spec names it: a file or a builder
read        the file formats: ARX CSV, the reference's JSON, nested TOML and JSON
uncovered   what becomes of values that a hierarchy lacks
"""
