"""The same release of rows on a Spark cluster; needs the extra ``spark``.

api            anonymize_spark(): the stages, in order
session        a session of our own on a cluster
tables         what Spark reads and writes
rows           a table under safe names; keys of its tuples
relations      frames that SQL can name, computed once
coding         tuples coded and numbered on the cluster
tuples         tuples counted there; few of them are planned here
store          many tuples: a store on the cluster
parts          its parts, solved by executors
workers        what runs on executors
packing        arrays and summaries as bytes
arrow          Arrow tables to and from the cluster
recode         rows to classes, classes to labels, as joins
recount        the written table counted again on the cluster
publish        tables and their files put in place together
watch          progress of a job
cancellation   cancels a run
failures       Spark's errors without the cells that they quote
deploy         programs that start a cluster, and submit to one
"""
