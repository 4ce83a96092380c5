"""Find the rows of CSV text, as Arrow's parser sees them."""

import cython
import numpy as np
from numpy.typing import NDArray

from core_mondrian.runtime.array_types import Integers

Text = NDArray[np.uint8]

_ROW_START, _IN_FIELD, _IN_QUOTES, _FIELD_START = 0, 1, 2, 3
IN_QUOTES = _IN_QUOTES
"""The state in which a text ends that is cut off inside a quoted value."""


def scan_rows(
    text: Text,
    n_fields: int,
    is_last: bool,
    all_rows: bool,
    into: Integers,
    signs: tuple[int, int],
) -> tuple[int, int, int, int, int]:
    """Go through whole rows and note where those of another length are.

    A quote opens a quoted value only where a value starts, and a doubled one does not
    end it. ``into`` gets start, end, line (from 0 on) and number of values of rows
    that have not ``n_fields`` of them, or of all; when it is full, the scan ends.
    Empty lines are no rows, unless there is a single column. ``signs`` are the bytes
    of the delimiter and of the quote.

    Returns where the last whole row ends, the rows and lines up to there, the rows
    found, and the state it ends in.
    """
    bytes_ = cython.declare(cython.const[cython.uchar][::1], text)
    rows = cython.declare(cython.longlong[:, ::1], into)
    wanted = cython.declare(cython.Py_ssize_t, n_fields)
    skips = cython.declare(cython.bint, n_fields > 1)
    ends = cython.declare(cython.bint, is_last)
    delimiter = cython.declare(cython.int, signs[0])
    quote = cython.declare(cython.int, signs[1])
    takes_all = cython.declare(cython.bint, all_rows)
    end = cython.declare(cython.Py_ssize_t, 0)
    n_rows = cython.declare(cython.Py_ssize_t, 0)
    n_lines = cython.declare(cython.Py_ssize_t, 0)
    n_found = cython.declare(cython.Py_ssize_t, 0)
    start = cython.declare(cython.Py_ssize_t, 0)
    line = cython.declare(cython.Py_ssize_t, 0)
    start_line = cython.declare(cython.Py_ssize_t, 0)
    fields = cython.declare(cython.Py_ssize_t, 1)
    state = cython.declare(cython.int, _ROW_START)
    i = cython.declare(cython.Py_ssize_t, 0)
    n = cython.declare(cython.Py_ssize_t, bytes_.shape[0])
    c = cython.declare(cython.int)
    with cython.nogil:
        while i < n and n_found < rows.shape[0]:
            c = bytes_[i]
            i += 1
            if state == _IN_QUOTES:
                if c == quote:
                    if i < n and bytes_[i] == quote:
                        i += 1
                    else:
                        state = _IN_FIELD
                elif c == 10 or (c == 13 and not (i < n and bytes_[i] == 10)):
                    line += 1
                continue
            if c == quote and state != _IN_FIELD:
                state = _IN_QUOTES
            elif c == delimiter:
                fields += 1
                state = _FIELD_START
            elif c == 10 or c == 13:
                if c == 13:
                    if i == n and not ends:
                        break  # the rest of this line's end may follow
                    if i < n and bytes_[i] == 10:
                        i += 1
                line += 1
                if state != _ROW_START or not skips:
                    n_rows += 1
                    if takes_all or fields != wanted:
                        rows[n_found, 0] = start
                        rows[n_found, 1] = i
                        rows[n_found, 2] = start_line
                        rows[n_found, 3] = fields
                        n_found += 1
                end, n_lines = i, line
                start, start_line = i, line
                fields = 1
                state = _ROW_START
            else:
                state = _IN_FIELD
        if ends and i == n and state != _ROW_START and state != _IN_QUOTES:
            n_rows += 1
            end, n_lines = n, line + 1
            if (takes_all or fields != wanted) and n_found < rows.shape[0]:
                rows[n_found, 0] = start
                rows[n_found, 1] = n
                rows[n_found, 2] = start_line
                rows[n_found, 3] = fields
                n_found += 1
            state = _ROW_START
    return end, n_rows, n_lines, n_found, state
