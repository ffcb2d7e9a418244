/* Long ascending columns of time: places of moments, and stretches that are united while they come. */
#ifndef POWERTUI_SCAN_STRETCHES_H
#define POWERTUI_SCAN_STRETCHES_H

#include "buffers.h"

static inline int comes_before(int64_t value, int64_t moment, int equal_too)
{
    return value < moment || (equal_too && value == moment);
}

/* How many of n ascending values come before a moment. The search starts at the answer to the question before: moments that ascend,
 * too, take a few steps each and not one for every doubling of n. */
static inline int64_t place_of(const int64_t *values, int64_t n, int64_t moment, int equal_too, int64_t near)
{
    int64_t lo = 0, hi = n;
    if (near < n && comes_before(values[near], moment, equal_too)) {
        lo = near + 1;
        for (int64_t step = 1; lo + step <= n; step *= 2) {
            int64_t probe = lo + step - 1;
            if (!comes_before(values[probe], moment, equal_too)) {
                hi = probe;
                break;
            }
            lo = probe + 1;
        }
    } else {
        hi = near;
        for (int64_t step = 1; step <= hi; step *= 2) {
            int64_t probe = hi - step;
            if (comes_before(values[probe], moment, equal_too)) {
                lo = probe + 1;
                break;
            }
            hi = probe;
        }
    }
    while (lo < hi) {
        int64_t middle = lo + (hi - lo) / 2;
        if (comes_before(values[middle], moment, equal_too))
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/* Sums and differences may wrap, as numpy's do. */
static inline int64_t less(int64_t value, int64_t other)
{
    return (int64_t)((uint64_t)value - (uint64_t)other);
}

static inline int64_t more(int64_t value, int64_t other)
{
    return (int64_t)((uint64_t)value + (uint64_t)other);
}

enum { MAX_RUNS = 1024 }; /* more are merged no faster than they are sorted */

typedef struct {
    int64_t *start, *end;
} Stretches;

/* One more stretch, which starts no earlier than the last one: it widens that one where they overlap or touch. */
static inline int64_t add(Stretches to, int64_t first, int64_t count, int64_t start, int64_t end)
{
    if (count > first && start <= to.end[count - 1]) {
        if (end > to.end[count - 1])
            to.end[count - 1] = end;
        return count;
    }
    to.start[count] = start;
    to.end[count] = end;
    return count + 1;
}

/* Stretches that are united while they ascend, run by run; `until` says where each run before the last one ends. */
typedef struct {
    Stretches to;
    int64_t *until;
    int64_t count, first, last_start;
    int runs;
} Runs;

/* 0 for too many runs. */
static inline int add_to_runs(Runs *made, int64_t start, int64_t end)
{
    if (made->count > made->first && start < made->last_start) {
        if (made->runs == MAX_RUNS - 1)
            return 0;
        made->until[made->runs++] = made->first = made->count;
    }
    made->last_start = start;
    made->count = add(made->to, made->first, made->count, start, end);
    return 1;
}

static inline Stretches table_of(int64_t rows)
{
    Stretches table = {malloc((size_t)rows * 16), NULL};
    table.end = table.start ? table.start + rows : NULL;
    return table;
}

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* The runs of the first table as one, two columns of Python: None where there are too many, and an error where memory ends. The table is freed. */
PyObject *as_one_run(Stretches first, int64_t *until, int runs);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
