# Inlined where they are called: a record is moved or read in every innermost loop.

from core_mondrian.engine.layout cimport Node


cdef inline int* row(int[:, ::1] records, Py_ssize_t i) noexcept nogil:
    return &records[i, 0]


cdef inline void copy_record(
    int[:, ::1] source, Py_ssize_t i, int[:, ::1] target, Py_ssize_t j
) noexcept nogil:
    cdef Py_ssize_t field
    for field in range(source.shape[1]):
        target[j, field] = source[i, field]


cdef inline long long* data(long long[::1] numbers) noexcept nogil:
    return &numbers[0]


cdef inline Node* node_at(Node[::1] nodes, Py_ssize_t i) noexcept nogil:
    return &nodes[i]


cdef inline long long low_half(long long key) noexcept nogil:
    return key & <long long>0xFFFFFFFF
