/* The events of a line, as columns. */
#include "calls.h"
#include "event.h"

PyObject *call_scan_events(PyObject *self, PyObject *args)
{
    Py_buffer views[5] = {{0}}; /* data → id, start, duration, position */
    PyObject *result = NULL;
    long long lo, hi, base, at, limit;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*LLLw*w*w*w*LL", &views[0], &lo, &hi, &base, &views[1], &views[2], &views[3], &views[4], &at, &limit))
        goto done;
    Py_ssize_t room = views[1].len / 4;
    if (!fits(&views[1], room, 4) || !fits(&views[2], room, 8) || !fits(&views[3], room, 8) || !fits(&views[4], room, 8))
        goto done;
    if (at < 0 || at > room) {
        PyErr_SetString(PyExc_ValueError, "the first row lies outside the columns");
        goto done;
    }
    if (limit > room - at)
        limit = room - at;
    Data data = data_of(&views[0]);
    uint32_t *id = (uint32_t *)views[1].buf + at;
    int64_t *start = (int64_t *)views[2].buf + at, *duration = (int64_t *)views[3].buf + at;
    uint64_t *position = (uint64_t *)views[4].buf + at;
    const uint8_t *p, *end;
    clip(&data, lo, hi, &p, &end);

    Numbers counted = {0}, wide = {0}, wide_ids = {0};
    long long rows = 0, dropped = 0, bad = -1;
    int fine = 1;
    Py_BEGIN_ALLOW_THREADS
    while (p < end && fine) {
        Field field;
        if (read_line_field(&data, p, end, &field) != WHOLE) {
            if (bad < 0)
                bad = p - data.first;
            p = end;
            break;
        }
        if (field.tag == (EVENTS_FIELD << 3 | LEN)) {
            Event event;
            if (rows >= limit)
                break;
            if (read_event(&data, field.lo, field.hi, &event)) {
                id[rows] = (uint32_t)event.id;
                start[rows] = (int64_t)(event.occurs ? event.offset : event.offset + (uint64_t)base);
                duration[rows] = (int64_t)event.duration;
                position[rows] = (uint64_t)(field.body - data.first);
                if (event.occurs)
                    fine = push(&counted, at + rows);
                if (event.id > UINT32_MAX)
                    fine = fine && push(&wide, at + rows) && push(&wide_ids, (int64_t)event.id);
                rows++;
            } else {
                if (bad < 0)
                    bad = field.body - data.first;
                dropped++;
            }
        }
        p = field.hi;
    }
    Py_END_ALLOW_THREADS
    result = fine ? Py_BuildValue("LLNNNLL", rows, (long long)(p - data.first), as_bytes(&counted), as_bytes(&wide),
                                  as_bytes(&wide_ids), dropped, bad)
                  : PyErr_NoMemory();
    free(counted.items);
    free(wide.items);
    free(wide_ids.items);
done:
    release(views, 5);
    return result;
}
