"""Files larger than memory: counted in one pass, recoded in another.

run            anonymize_files(): the request
file_run       its stages, in order
source         files, folders and globs as one table in a fixed order
batches        its rows, batch by batch
csv_blocks     CSV as blocks of whole rows
values         the types of columns, known once all values are counted
batch_counts   distinct tuples of a batch, and of all batches so far
counting       the first pass; tuples beyond the memory go to disk
rows           rows of a batch as they are released
writing        the second pass: where rows go, then every row in its order
recount        the written files counted again by DuckDB
targets        all targets, checked before any work
workspace      a hidden folder: drafts, and a first pass to resume from
"""
