"""core-mondrian on Spark clusters, each module a program: ``python -m …``.

pack      what executors need, as one archive
submit    run a command on a cluster, through spark-submit
main      what spark-submit runs
cluster   a cluster on this machine, to try things out
"""
