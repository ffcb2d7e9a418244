/* Fields of messages: where each lies (hop), and some of them of many messages at once (pick). */
#include "calls.h"

PyObject *call_hop(PyObject *self, PyObject *args)
{
    Py_buffer view = {0};
    long long lo, hi, skip;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*LLL", &view, &lo, &hi, &skip))
        return NULL;
    Data data = data_of(&view);
    const uint8_t *p, *end;
    clip(&data, lo, hi, &p, &end);

    Numbers columns = {0}; /* five numbers a field */
    int64_t skipped = 0, bad = -1;
    int fine = 1;
    Py_BEGIN_ALLOW_THREADS
    while (p < end) {
        Field field;
        Read read = read_field(&data, p, end, &field);
        if (read != WHOLE)
            bad = p - data.first;
        if (read == MALFORMED)
            break;
        if (skip && (field.tag & 7) == LEN && (int64_t)(field.tag >> 3) == skip)
            skipped += read == WHOLE;
        else
            fine = push(&columns, (int64_t)(field.tag >> 3)) && push(&columns, (int64_t)(field.tag & 7)) &&
                   push(&columns, (int64_t)field.value) && push(&columns, field.lo - data.first) &&
                   push(&columns, field.hi - data.first);
        if (!fine || read == CUT)
            break;
        p = field.hi;
    }
    Py_END_ALLOW_THREADS
    PyObject *result = fine ? Py_BuildValue("NLL", as_bytes(&columns), (long long)skipped, (long long)bad) : PyErr_NoMemory();
    free(columns.items);
    PyBuffer_Release(&view);
    return result;
}

PyObject *call_pick(PyObject *self, PyObject *args)
{
    Py_buffer views[7] = {{0}}; /* data, lo, hi, tags → present, value, end */
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*w*w*", &views[0], &views[1], &views[2], &views[3], &views[4], &views[5], &views[6]))
        goto done;
    Py_ssize_t n = views[1].len / 8, k = views[3].len / 8;
    if (!fits(&views[1], n, 8) || !fits(&views[2], n, 8) || !fits(&views[3], k, 8) || !fits(&views[4], n * k, 1) ||
        !fits(&views[5], n * k, 8) || !fits(&views[6], n * k, 8))
        goto done;
    Data data = data_of(&views[0]);
    const int64_t *lo = views[1].buf, *hi = views[2].buf, *tags = views[3].buf;
    uint8_t *present = views[4].buf;
    int64_t *value = views[5].buf, *stop = views[6].buf;
    long long bad = -1;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n; i++) {
        const uint8_t *p, *end;
        clip(&data, lo[i], hi[i], &p, &end);
        const uint8_t *first = p;
        while (p < end) {
            Field field;
            if (read_field(&data, p, end, &field) != WHOLE) {
                if (bad < 0)
                    bad = first - data.first;
                break;
            }
            for (Py_ssize_t j = 0; j < k; j++)
                if ((int64_t)field.tag == tags[j]) {
                    int is_len = (field.tag & 7) == LEN;
                    present[j * n + i] = 1;
                    value[j * n + i] = is_len ? field.lo - data.first : (int64_t)field.value;
                    stop[j * n + i] = is_len ? field.hi - data.first : 0;
                }
            p = field.hi;
        }
    }
    Py_END_ALLOW_THREADS
    result = PyLong_FromLongLong(bad);
done:
    release(views, 7);
    return result;
}
