/* What is asked of long ascending columns of time: places of moments, unions, how much is covered before a moment. */
#include "calls.h"
#include "stretches.h"

#include <string.h>

/* How many runs there are, -1 for too many. */
static int unite_runs(const int64_t *start, const int64_t *end, int64_t n, int empty_too, Stretches to, int64_t *until)
{
    Runs made = {to, until, 0, 0, 0, 0};
    for (int64_t i = 0; i < n; i++)
        if ((empty_too || end[i] > start[i]) && !add_to_runs(&made, start[i], end[i]))
            return -1;
    until[made.runs] = made.count;
    return made.runs + 1;
}

/* The same of chosen events. Few are chosen, or nearly all. */
static int unite_chosen(const int64_t *start, const int64_t *duration, const uint8_t *chosen, int64_t n, int empty_too, Stretches to,
                        int64_t *until)
{
    Runs made = {to, until, 0, 0, 0, 0};
    for (int64_t i = 0; i < n; i++) {
        if (!chosen[i]) {
            uint64_t eight = 0;
            while (i + 8 < n && (memcpy(&eight, chosen + i, 8), !eight))
                i += 8;
            if (!chosen[i])
                continue;
        }
        int64_t end = (int64_t)((uint64_t)start[i] + (uint64_t)duration[i]);
        if ((empty_too || end > start[i]) && !add_to_runs(&made, start[i], end))
            return -1;
    }
    until[made.runs] = made.count;
    return made.runs + 1;
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

PyObject *as_one_run(Stretches first, int64_t *until, int runs)
{
    Stretches tables[2] = {first, {NULL, NULL}}, united = first;
    int64_t count = 0;
    int enough = 1;
    PyObject *result = NULL;
    Py_BEGIN_ALLOW_THREADS
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
    free(tables[0].start);
    free(tables[1].start);
    return result;
}

PyObject *call_united(PyObject *self, PyObject *args)
{
    Py_buffer views[2] = {{0}}; /* start, end */
    PyObject *result = NULL;
    Stretches table;
    int64_t until[MAX_RUNS];
    int empty_too, runs;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*p", &views[0], &views[1], &empty_too))
        goto done;
    Py_ssize_t n = views[0].len / 8;
    if (!fits(&views[0], n, 8) || !fits(&views[1], n, 8))
        goto done;
    table = table_of(n + 1);
    if (!table.start) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    runs = unite_runs(views[0].buf, views[1].buf, n, empty_too, table, until);
    Py_END_ALLOW_THREADS
    result = as_one_run(table, until, runs);
done:
    release(views, 2);
    return result;
}

static int64_t count_chosen(const uint8_t *chosen, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += chosen[i] != 0;
    return count;
}

PyObject *call_united_events(PyObject *self, PyObject *args)
{
    Py_buffer views[3] = {{0}}; /* start, duration, chosen */
    PyObject *result = NULL;
    Stretches table;
    int64_t until[MAX_RUNS];
    int empty_too, runs = -1;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*p", &views[0], &views[1], &views[2], &empty_too))
        goto done;
    Py_ssize_t n = views[0].len / 8;
    if (!fits(&views[0], n, 8) || !fits(&views[1], n, 8) || !fits(&views[2], n, 1))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    table = table_of(count_chosen(views[2].buf, n) + 1);
    if (table.start)
        runs = unite_chosen(views[0].buf, views[1].buf, views[2].buf, n, empty_too, table, until);
    Py_END_ALLOW_THREADS
    if (table.start)
        result = as_one_run(table, until, runs);
    else
        PyErr_NoMemory();
done:
    release(views, 3);
    return result;
}

/* ── events by name ────────────────────────────────────────────────────────────────────────────────────── */

typedef struct {
    const int64_t *start, *duration;
    int64_t rows;
} Times;

typedef struct {
    int64_t *count, *total, *self_time; /* by name, from the lowest number on */
    int64_t names, lowest;
} Sums;

/* How long events of a lane are together, before each one and in all. */
static int64_t *lengths_before(Times lane)
{
    int64_t *before = malloc(((size_t)lane.rows + 1) * sizeof *before);
    if (!before)
        return NULL;
    before[0] = 0;
    for (int64_t i = 0; i < lane.rows; i++)
        before[i + 1] = more(before[i], lane.duration[i]);
    return before;
}

/* How long they are before a moment; `near` is the answer to the question before. */
static inline int64_t covered_until(Times lane, const int64_t *before, int64_t moment, int64_t *near)
{
    int64_t begun = *near = place_of(lane.start, lane.rows, moment, 0, *near);
    if (!begun)
        return 0;
    int64_t beyond = less(more(lane.start[begun - 1], lane.duration[begun - 1]), moment);
    return less(before[begun], beyond > 0 ? beyond : 0);
}

/* 0 for a name that has no place in the sums. */
static int add_up(const uint32_t *name, Times events, Times inner, const int64_t *before, int64_t lo, int64_t hi, const Sums *sums)
{
    int64_t near = 0;
    for (int64_t i = 0; i < events.rows; i++) {
        int64_t row = (int64_t)name[i] - sums->lowest;
        if (row < 0 || row >= sums->names)
            return 0;
        int64_t start = events.start[i], end = more(start, events.duration[i]);
        start = start < lo ? lo : start;
        end = end > hi ? hi : end;
        int64_t length = less(end, start), inside = 0;
        if (inner.rows) {
            inside = covered_until(inner, before, start, &near);
            inside = less(covered_until(inner, before, end, &near), inside);
        }
        sums->count[row]++;
        sums->total[row] = more(sums->total[row], length);
        sums->self_time[row] = more(sums->self_time[row], less(length, inside));
    }
    return 1;
}

PyObject *call_add_events(PyObject *self, PyObject *args)
{
    Py_buffer views[8] = {{0}}; /* name, start, duration, start and duration of the lane below → count, total, self time */
    PyObject *result = NULL;
    long long lo, hi, lowest;
    int64_t *before;
    int fine = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*LLLw*w*w*", &views[0], &views[1], &views[2], &views[3], &views[4], &lo, &hi, &lowest,
                          &views[5], &views[6], &views[7]))
        goto done;
    Py_ssize_t n = views[1].len / 8, below = views[3].len / 8, names = views[5].len / 8;
    if (!fits(&views[0], n, 4) || !fits(&views[1], n, 8) || !fits(&views[2], n, 8) || !fits(&views[3], below, 8) ||
        !fits(&views[4], below, 8) || !fits(&views[5], names, 8) || !fits(&views[6], names, 8) || !fits(&views[7], names, 8))
        goto done;
    Times events = {views[1].buf, views[2].buf, n}, inner = {views[3].buf, views[4].buf, below};
    Sums sums = {views[5].buf, views[6].buf, views[7].buf, names, lowest};
    Py_BEGIN_ALLOW_THREADS
    before = lengths_before(inner);
    if (before)
        fine = add_up(views[0].buf, events, inner, before, lo, hi, &sums);
    Py_END_ALLOW_THREADS
    if (before)
        result = none_or(PyExc_IndexError, "a name has no place in the sums", fine);
    else
        PyErr_NoMemory();
    free(before);
done:
    release(views, 8);
    return result;
}
