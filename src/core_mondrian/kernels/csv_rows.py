"""Find the rows of CSV text, as Arrow's parser sees them."""

import numpy as np
from numpy.typing import NDArray

from core_mondrian.kernels.jit import entry_kernel

Text = NDArray[np.uint8]
Found = NDArray[np.int64]

ROW_START = 0
IN_FIELD = 1
IN_QUOTES = 2
FIELD_START = 3


@entry_kernel
def scan_rows(
    text: Text,
    n_fields: int,
    skip_empty: bool,
    is_last: bool,
    all_rows: bool,
    found: Found,
) -> tuple[int, int, int, int, int]:
    """Go through whole rows and note where those of another length are.

    A quote opens a quoted value only where a value starts, and a doubled one does not
    end it. ``found`` gets start, end, line (from 0 on) and number of values of rows
    that have not ``n_fields`` of them, or of all; when it is full, the scan ends.

    Returns where the last whole row ends, the rows and lines up to there, the rows
    found, and the state it ends in.
    """
    end = n_rows = n_lines = n_found = 0
    start = line = start_line = 0
    fields = 1
    state = ROW_START
    n = text.size
    i = 0
    while i < n and n_found < found.shape[0]:
        c = text[i]
        i += 1
        if state == IN_QUOTES:
            if c == 34:  # "
                if i < n and text[i] == 34:
                    i += 1
                else:
                    state = IN_FIELD
            elif c == 10 or (c == 13 and not (i < n and text[i] == 10)):
                line += 1
            continue
        if c == 34 and state != IN_FIELD:
            state = IN_QUOTES
        elif c == 44:  # ,
            fields += 1
            state = FIELD_START
        elif c == 10 or c == 13:
            if c == 13:
                if i == n and not is_last:
                    break  # the rest of this line's end may follow
                if i < n and text[i] == 10:
                    i += 1
            line += 1
            if state != ROW_START or not skip_empty:
                n_rows += 1
                if all_rows or fields != n_fields:
                    found[n_found, 0] = start
                    found[n_found, 1] = i
                    found[n_found, 2] = start_line
                    found[n_found, 3] = fields
                    n_found += 1
            end, n_lines = i, line
            start, start_line = i, line
            fields = 1
            state = ROW_START
        else:
            state = IN_FIELD
    if is_last and i == n and state != ROW_START and state != IN_QUOTES:
        n_rows += 1
        end, n_lines = n, line + 1
        if (all_rows or fields != n_fields) and n_found < found.shape[0]:
            found[n_found, 0] = start
            found[n_found, 1] = n
            found[n_found, 2] = start_line
            found[n_found, 3] = fields
            n_found += 1
        state = ROW_START
    return end, n_rows, n_lines, n_found, state
