# No C functions that others call.
