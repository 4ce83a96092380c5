# The C twins of layout.py: constants and records, for modules that are compiled.
# A test compares both, and every array is checked against its record when it is viewed.

cdef enum:
    NUMBER, CATEGORY

cdef enum:
    RANGE, ANY, NODE_SHARE, VALUE_SET

cdef enum:
    CUT, CLASS, SUPPRESSED, QUEUED

cdef enum:
    FAILS, PASSES, MAY_PASS

cdef enum:
    KEEP_BOTH, LOSE_LEFT, LOSE_RIGHT, POOLED, TOPPED_UP

cdef enum:
    EXAMINED, CONSIDERED, PROPOSED, FINAL, ACCEPTED, ABANDONED, N_STAGES

cdef enum:
    MOST_OWN_CUTS = 256

cdef enum:
    NOTHING_LOW = 2147483647
    NOTHING_HIGH = -1

# 64-bit counts are `long long` everywhere, never `long`: it has 64 bits on Windows,
# too, and the compiler may take it that a count written is no stride of an array.

ctypedef struct Run:
    long long rows
    int code

ctypedef struct Part:
    long long rows
    long long mode
    int low
    int high
    int state
    int place

ctypedef struct Node:
    long long rows
    long long budget
    int parent
    int kind
    int column
    int cut_code
    int first_child
    int n_children
    int start
    int stop
    int low
    int high
    int visit_order
    int needs_cut

ctypedef struct Frame:
    long long left
    long long spent
    int node
    int attempt
    int undo_mark
    int queue_mark
    int next_child

ctypedef struct Column:
    double width
    double breakout
    long long kind
    long long n_values
    long long value_offset
    long long node_offset

ctypedef struct HierarchyNode:
    double node_size
    int low
    int high
    int first
    int n_children

ctypedef struct Rule:
    double least
    double most
    long long first_count
    long long last_count
    long long first_parameter
    long long last_parameter
    long long skips_missing

ctypedef struct Box:
    int low
    int high

ctypedef struct Choice:
    double score
    long long column

ctypedef struct Proposal:
    double score
    long long column
    long long cut_code
    long long variant
    long long loss

ctypedef struct Aim:
    double weight
    double unit
    double impurity
    long long kind
    long long n_codes
    long long value_offset
    long long share_offset
    long long node_offset
    long long count_offset
    long long word

ctypedef struct AimNode:
    double share
    int low
    int high
    int first
    int n_children

ctypedef struct Group:
    long long rows
    long long worth
    int code
    int first
    int n
    int begin
    int end
    int low
    int high
    int low_before
    int high_before
    int low_after
    int high_after

ctypedef struct Candidate:
    double loss
    long long rows
    long long worth
    int first
    int last

ctypedef struct Found:
    double loss
    double gain
    long long rows
    long long side
    int first
    int last
    int by_rows
    int low
    int high

ctypedef struct Segment:
    long long rows
    int start
    int stop
    int node

ctypedef struct PooledClass:
    double loss
    double farthest
    long long rows
    long long worth
    int head
    int n
    int tried
    int changed
    int searched
    int listed
    int n_listed

ctypedef struct Near:
    double extra
    long long number

ctypedef struct Side:
    long long number
    long long record
    long long gone
    long long rows
    long long worth

ctypedef struct Total:
    long long squares
    long long levels
    long long level_squares
    int low
    int high
    int n_distinct
