/* What is asked of small numbers that events have: which kinds of stretches they are of, and what they pass on to the lane below. */
#include "calls.h"
#include "stretches.h"

enum { MAX_KINDS = 16 };

typedef struct {
    Runs made[MAX_KINDS];
    int runs[MAX_KINDS]; /* -1 for too many */
    int64_t until[MAX_KINDS][MAX_RUNS];
} Kinds;

/* Room for as many stretches of each kind as there are events of it; 0 where memory ends. */
static int make_room(Kinds *kinds, const uint8_t *code, int64_t n, const uint16_t *kinds_of)
{
    int64_t events[256] = {0}, room[MAX_KINDS] = {0};
    for (int64_t i = 0; i < n; i++)
        events[code[i]]++;
    for (int value = 0; value < 256; value++)
        for (int kind = 0; kind < MAX_KINDS; kind++)
            room[kind] += kinds_of[value] >> kind & 1 ? events[value] : 0;
    for (int kind = 0; kind < MAX_KINDS; kind++) {
        Runs begun = {table_of(room[kind] + 1), kinds->until[kind], 0, 0, 0, 0};
        kinds->made[kind] = begun;
        if (!begun.to.start)
            return 0;
    }
    return 1;
}

static void unite_kinds(Kinds *kinds, const int64_t *start, const int64_t *duration, const uint8_t *code, int64_t n,
                        const uint16_t *kinds_of)
{
    for (int64_t i = 0; i < n; i++) {
        unsigned left = kinds_of[code[i]];
        int64_t end = more(start[i], duration[i]);
        if (!left || end <= start[i])
            continue;
        for (int kind = 0; left; kind++, left >>= 1)
            if (left & 1 && kinds->runs[kind] >= 0 && !add_to_runs(&kinds->made[kind], start[i], end))
                kinds->runs[kind] = -1;
    }
    for (int kind = 0; kind < MAX_KINDS; kind++)
        if (kinds->runs[kind] >= 0) {
            Runs *made = &kinds->made[kind];
            made->until[made->runs] = made->count;
            kinds->runs[kind] = made->runs + 1;
        }
}

/* A column for each kind, None for too many runs. Each table is freed by as_one_run. */
static PyObject *columns_of(Kinds *kinds)
{
    PyObject *columns = PyList_New(0);
    for (int kind = 0; columns && kind < MAX_KINDS; kind++) {
        PyObject *column = as_one_run(kinds->made[kind].to, kinds->until[kind], kinds->runs[kind]);
        kinds->made[kind].to.start = NULL;
        if (!column || PyList_Append(columns, column) < 0)
            Py_CLEAR(columns);
        Py_XDECREF(column);
    }
    return columns;
}

PyObject *call_united_kinds(PyObject *self, PyObject *args)
{
    Py_buffer views[4] = {{0}}; /* start, duration, code, kinds of each code */
    PyObject *result = NULL;
    Kinds *kinds = NULL;
    int enough = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*", &views[0], &views[1], &views[2], &views[3]))
        goto done;
    Py_ssize_t n = views[0].len / 8;
    if (!fits(&views[0], n, 8) || !fits(&views[1], n, 8) || !fits(&views[2], n, 1) || !fits(&views[3], 256, 2))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    kinds = calloc(1, sizeof *kinds);
    enough = kinds && make_room(kinds, views[2].buf, n, views[3].buf);
    if (enough)
        unite_kinds(kinds, views[0].buf, views[1].buf, views[2].buf, n, views[3].buf);
    Py_END_ALLOW_THREADS
    if (enough)
        result = columns_of(kinds);
    else
        PyErr_NoMemory();
    for (int kind = 0; kinds && kind < MAX_KINDS; kind++)
        free(kinds->made[kind].to.start);
    free(kinds);
done:
    release(views, 4);
    return result;
}

PyObject *call_pass_on(PyObject *self, PyObject *args)
{
    Py_buffer views[7] = {{0}}; /* start, duration, code of the lane above; start, duration; table → code */
    PyObject *result = NULL;
    int fine = 1;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*w*", &views[0], &views[1], &views[2], &views[3], &views[4], &views[5], &views[6]))
        goto done;
    Py_ssize_t above = views[0].len / 8, n = views[3].len / 8;
    if (!fits(&views[0], above, 8) || !fits(&views[1], above, 8) || !fits(&views[2], above, 1) || !fits(&views[3], n, 8) ||
        !fits(&views[4], n, 8) || !fits(&views[5], 256, 1) || !fits(&views[6], n, 1))
        goto done;
    const int64_t *outer_start = views[0].buf, *outer_duration = views[1].buf, *start = views[3].buf, *duration = views[4].buf;
    const uint8_t *outer = views[2].buf, *table = views[5].buf;
    uint8_t *code = views[6].buf;
    int64_t near = 0;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n && fine; i++) {
        near = place_of(outer_start, above, start[i], 1, near);
        if (!near || more(start[i], duration[i]) > more(outer_start[near - 1], outer_duration[near - 1]))
            continue;
        fine = outer[near - 1] < 16 && code[i] < 16;
        if (fine)
            code[i] = table[outer[near - 1] << 4 | code[i]];
    }
    Py_END_ALLOW_THREADS
    result = none_or(PyExc_IndexError, "a code has no place in the table", fine);
done:
    release(views, 7);
    return result;
}
