/* What is asked of long ascending columns of time: places of moments, unions, how much is covered before a moment. */
#include "calls.h"

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

/* Unites what ascends by itself, run by run; `until` says where each ends. How many runs there are, -1 for too many. */
static int unite_runs(const int64_t *start, const int64_t *end, int64_t n, int empty_too, Stretches to, int64_t *until)
{
    int runs = 0;
    int64_t count = 0, first = 0, last_start = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!empty_too && end[i] <= start[i])
            continue;
        if (count > first && start[i] < last_start) {
            if (runs == MAX_RUNS - 1)
                return -1;
            until[runs++] = first = count;
        }
        last_start = start[i];
        count = add(to, first, count, start[i], end[i]);
    }
    until[runs] = count;
    return runs + 1;
}

/* Two united runs as one, behind what is there already. */
static int64_t merge(Stretches from, int64_t left, int64_t middle, int64_t end, Stretches to, int64_t first)
{
    int64_t count = first, right = middle;
    while (left < middle || right < end) {
        int64_t next = right >= end || (left < middle && from.start[left] <= from.start[right]) ? left++ : right++;
        count = add(to, first, count, from.start[next], from.end[next]);
    }
    return count;
}

/* Merges runs two by two until there is one; which of the tables holds it. */
static Stretches merge_runs(Stretches from, Stretches to, int64_t *until, int runs)
{
    while (runs > 1) {
        int64_t begin = 0, count = 0;
        for (int run = 0; run < runs; run += 2) {
            int64_t middle = until[run], end = run + 1 < runs ? until[run + 1] : middle;
            count = merge(from, begin, middle, end, to, count);
            begin = end;
            until[run / 2] = count;
        }
        runs = (runs + 1) / 2;
        Stretches merged = to;
        to = from;
        from = merged;
    }
    return from;
}

PyObject *call_ranks(PyObject *self, PyObject *args)
{
    Py_buffer views[3] = {{0}}; /* values, moments → place */
    PyObject *result = NULL;
    int equal_too;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*pw*", &views[0], &views[1], &equal_too, &views[2]))
        goto done;
    Py_ssize_t n = views[0].len / 8, count = views[2].len / 8;
    if (!fits(&views[0], n, 8) || !fits(&views[1], count, 8) || !fits(&views[2], count, 8))
        goto done;
    const int64_t *values = views[0].buf, *moments = views[1].buf;
    int64_t *place = views[2].buf, near = 0;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < count; i++)
        place[i] = near = place_of(values, n, moments[i], equal_too, near);
    Py_END_ALLOW_THREADS
    result = none();
done:
    release(views, 3);
    return result;
}

PyObject *call_covered(PyObject *self, PyObject *args)
{
    Py_buffer views[5] = {{0}}; /* start, end, before, moments → covered */
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*", &views[0], &views[1], &views[2], &views[3], &views[4]))
        goto done;
    Py_ssize_t n = views[0].len / 8, count = views[4].len / 8;
    if (!fits(&views[0], n, 8) || !fits(&views[1], n, 8) || !fits(&views[2], n + 1, 8) || !fits(&views[3], count, 8) ||
        !fits(&views[4], count, 8))
        goto done;
    const int64_t *start = views[0].buf, *end = views[1].buf, *before = views[2].buf, *moments = views[3].buf;
    int64_t *covered = views[4].buf, near = 0;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < count; i++) {
        near = place_of(start, n, moments[i], 0, near);
        int64_t beyond = near ? less(end[near - 1], moments[i]) : 0;
        covered[i] = less(before[near], beyond > 0 ? beyond : 0);
    }
    Py_END_ALLOW_THREADS
    result = none();
done:
    release(views, 5);
    return result;
}

static Stretches table_of(int64_t rows)
{
    Stretches table = {malloc((size_t)rows * 16), NULL};
    table.end = table.start ? table.start + rows : NULL;
    return table;
}

PyObject *call_united(PyObject *self, PyObject *args)
{
    Py_buffer views[2] = {{0}}; /* start, end */
    PyObject *result = NULL;
    Stretches tables[2] = {{NULL, NULL}, {NULL, NULL}}, united = {NULL, NULL};
    int64_t until[MAX_RUNS], count = 0;
    int empty_too, runs, enough = 1;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*p", &views[0], &views[1], &empty_too))
        goto done;
    Py_ssize_t n = views[0].len / 8;
    if (!fits(&views[0], n, 8) || !fits(&views[1], n, 8))
        goto done;
    tables[0] = table_of(n + 1);
    if (!tables[0].start) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    runs = unite_runs(views[0].buf, views[1].buf, n, empty_too, tables[0], until);
    if (runs > 1) {
        tables[1] = table_of(until[runs - 1] + 1);
        enough = tables[1].start != NULL;
    }
    if (runs > 0 && enough) {
        united = merge_runs(tables[0], tables[1], until, runs);
        count = until[0];
        Stretches *spare = &tables[united.start == tables[0].start];
        free(spare->start);
        spare->start = NULL;
    }
    Py_END_ALLOW_THREADS
    if (!enough)
        PyErr_NoMemory();
    else if (runs < 0)
        result = none();
    else
        result = Py_BuildValue("y#y#", (const char *)united.start, (Py_ssize_t)count * 8, (const char *)united.end,
                               (Py_ssize_t)count * 8);
done:
    free(tables[0].start);
    free(tables[1].start);
    release(views, 2);
    return result;
}
