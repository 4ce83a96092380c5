"""What can be learnt of a release, a table, or the algorithm.

inspection           which columns single people out
suggest              a spec that fits a table
unit_detection       columns that count persons
advise               what a release would lose at other settings
attacks/             what an attacker gets out of a release
analyst_statistics/  would analysts find the same: means, tables, regressions
p_sensitize          p-sensitive k-anonymity by exchanging sensitive values
perturb              numbers changed within their class
released_series      are the files in a folder one sound series of releases
evidence             is this manifest of this release and that input
minimality           what a reader who knows the algorithm infers beyond face value
small_domains        every table of a small domain, and what becomes of it
"""
