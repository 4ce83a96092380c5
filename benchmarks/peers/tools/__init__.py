"""One adapter a tool: how it is installed and called, and how its cells are read.

An adapter runs in its tool's environment and is read in ours, so at its top it imports
pandas and `cells` only. It has

* ``REQUIREMENTS``: pinned, the tool first; none: it runs where we do;
* ``release(table, job)``: the released frame, with the column ``row_id``;
* ``read(text, column)``: a released cell as a `cells.Cell`;
* ``VARIANTS`` (optional): titles, and the options that ``job`` has for each;
* ``SUPPRESSES`` (optional): whether rows may be left out, up to ``job["suppress"]``;
* ``PYTHONS`` (optional): the oldest Python, and the first one that is too new.
"""
