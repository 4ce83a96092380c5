"""The command line: one file a command; it reads options, calls one function, prints.

A command is a function of one request, a frozen dataclass of option groups.

main               the table of commands; exit codes and messages of failures
requests           a request becomes the options of a command, and back
parsing            plain values of options
usage_errors       misuse of options, in the words of our errors
options            option groups that commands share; the spec they describe
help_page          what --help prints
examples           the examples in it; a test runs them
anonymize          `anonymize`: one dispatch over where the rows are
release_request    its request, and the outcome that all sources share
stream             its source: files in batches
database           its source: a table in a database
spark              its source: a table on a cluster
verify             `verify`
series, live       `series`: releases of a table that changes, and live views of it
series_options     the options that they share
attack             `attack`: one release
attack_folder      `attack`: several releases
minimality         `minimality`
sign               `sign` and `keygen`
explain            `explain`
report             `report`
p_sensitize        `p-sensitize`
advise             `advise`
compare            `compare`
inspection         `inspect`
hierarchy          `hierarchy`
init               `init` and `schema`
studio             `studio`
demo               `demo`
reply              the tail that commands share: JSON or text, then messages
summary            a finished release as text
bars, drawing      bars of characters; charts as files
csv_files          options of CSV files, and reading a table
process            settings of a process that runs one command
standard_streams   streams that are closed, full or abandoned
"""
