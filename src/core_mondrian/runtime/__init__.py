"""What every room needs and knows nothing of tables.

stages       the stages of a run, and the CPU seconds of each
progress     bars for people, lines of JSON for programs
threads      how many threads, and the same work on each of some columns
lazy_names   names of a package that load when they are first used
compiled     refuses to start without the compiled modules, and says what to do
"""
