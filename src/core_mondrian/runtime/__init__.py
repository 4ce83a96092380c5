"""What every room needs and knows nothing of tables.

array_types      names for the types of arrays
stages           the stages of a run, and the CPU seconds of each
progress         bars for people, lines of JSON for programs
threads          how many threads, and the same work on each of some columns
runs             where stretches of an array begin, and their members
plain_values     names for the types of plain values
toml_positions   where in a TOML file a key stands
lazy_names       names of a package that load when they are first used
"""
