/* The stats of a message or an event, and some stats of many events as columns. */
#include "calls.h"
#include "event.h"

typedef struct {
    uint64_t id;
    int kind; /* the number of the value's field, 0 for no value */
    Field value;
} Stat;

static inline int read_stat(const Data *data, const uint8_t *p, const uint8_t *end, Stat *stat)
{
    stat->id = 0;
    stat->kind = 0;
    while (p < end) {
        Field field;
        if (read_field(data, p, end, &field) != WHOLE)
            return 0;
        switch (field.tag) {
        case 1 << 3 | VARINT:
            stat->id = field.value;
            break;
        case 2 << 3 | FIXED64: /* double */
        case 3 << 3 | VARINT:  /* uint64 */
        case 4 << 3 | VARINT:  /* int64 */
        case 5 << 3 | LEN:     /* str */
        case 6 << 3 | LEN:     /* bytes */
        case 7 << 3 | VARINT:  /* ref */
            stat->kind = (int)(field.tag >> 3);
            stat->value = field;
            break;
        default:
            break;
        }
        p = field.hi;
    }
    return 1;
}

static PyObject *value_of(const Stat *stat)
{
    double number;
    switch (stat->kind) {
    case 0:
        return PyLong_FromLong(0);
    case 2:
        memcpy(&number, &stat->value.value, sizeof number);
        return PyFloat_FromDouble(number);
    case 4:
        return PyLong_FromLongLong((long long)stat->value.value);
    case 5:
    case 6:
        return PyBytes_FromStringAndSize((const char *)stat->value.lo, stat->value.hi - stat->value.lo);
    default:
        return PyLong_FromUnsignedLongLong(stat->value.value);
    }
}

static PyObject *stats_between(const Data *data, const uint8_t *p, const uint8_t *end, long long number)
{
    PyObject *list = PyList_New(0);
    while (list && p < end) {
        Field field;
        Stat stat = {0};
        if (read_field(data, p, end, &field) != WHOLE)
            break;
        if ((field.tag & 7) == LEN && (long long)(field.tag >> 3) == number && read_stat(data, field.lo, field.hi, &stat)) {
            PyObject *value = value_of(&stat);
            PyObject *item = value ? Py_BuildValue("LiN", (long long)stat.id, stat.kind, value) : NULL;
            if (!item || PyList_Append(list, item) < 0)
                Py_CLEAR(list);
            Py_XDECREF(item);
        }
        p = field.hi;
    }
    return list;
}

PyObject *call_stats(PyObject *self, PyObject *args)
{
    Py_buffer view = {0};
    long long lo, hi, number;
    const uint8_t *p, *end;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*LLL", &view, &lo, &hi, &number))
        return NULL;
    Data data = data_of(&view);
    clip(&data, lo, hi, &p, &end);
    PyObject *result = stats_between(&data, p, end, number);
    PyBuffer_Release(&view);
    return result;
}

/* The body of the event whose length prefix lies at `position`; an empty one when that makes no sense. */
static inline void event_body(const Data *data, int64_t position, const uint8_t **lo, const uint8_t **hi)
{
    uint64_t size;
    *lo = *hi = data->limit;
    if (position < 0 || position >= data->limit - data->first)
        return;
    const uint8_t *p = varint(data, data->first + position, data->limit, &size);
    if (p && size <= (uint64_t)(data->limit - p)) {
        *lo = p;
        *hi = p + size;
    }
}

PyObject *call_event_stats(PyObject *self, PyObject *args)
{
    Py_buffer view = {0};
    long long position;
    const uint8_t *p, *end;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*L", &view, &position))
        return NULL;
    Data data = data_of(&view);
    event_body(&data, position, &p, &end);
    PyObject *result = stats_between(&data, p, end, EVENT_STATS_FIELD);
    PyBuffer_Release(&view);
    return result;
}

PyObject *call_scan_stats(PyObject *self, PyObject *args)
{
    Py_buffer views[6] = {{0}}; /* data, positions, ids → kind, bits, end */
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*w*w*w*", &views[0], &views[1], &views[2], &views[3], &views[4], &views[5]))
        goto done;
    Py_ssize_t n = views[1].len / 8, k = views[2].len / 8;
    if (!fits(&views[1], n, 8) || !fits(&views[2], k, 8) || !fits(&views[3], n * k, 1) || !fits(&views[4], n * k, 8) ||
        !fits(&views[5], n * k, 8))
        goto done;
    Data data = data_of(&views[0]);
    const int64_t *positions = views[1].buf, *ids = views[2].buf;
    uint8_t *kind = views[3].buf;
    int64_t *bits = views[4].buf, *stop = views[5].buf;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n; i++) {
        const uint8_t *p, *end;
        event_body(&data, positions[i], &p, &end);
        while (p < end) {
            Field field;
            Stat stat;
            if (read_field(&data, p, end, &field) != WHOLE)
                break;
            p = field.hi;
            if (field.tag != (EVENT_STATS_FIELD << 3 | LEN) || !read_stat(&data, field.lo, field.hi, &stat) || !stat.kind)
                continue;
            for (Py_ssize_t j = 0; j < k; j++)
                if ((int64_t)stat.id == ids[j] && !kind[j * n + i]) {
                    int is_len = (stat.value.tag & 7) == LEN;
                    kind[j * n + i] = (uint8_t)stat.kind;
                    bits[j * n + i] = is_len ? stat.value.lo - data.first : (int64_t)stat.value.value;
                    stop[j * n + i] = is_len ? stat.value.hi - data.first : 0;
                }
        }
    }
    Py_END_ALLOW_THREADS
    result = none();
done:
    release(views, 6);
    return result;
}

/* The numbers of one stat's values, put where their events are. Values that are texts are present and have no number yet. */
typedef struct {
    uint8_t *present;
    int64_t *ints;
    double *floats;
} Table;

static const double EXACT = 4611686018427387904.0; /* 2^62: whole numbers below it are int64s */

static inline void put_number(const Table *table, int64_t row, int kind, int64_t bits)
{
    double number;
    table->present[row] = 1;
    switch (kind) {
    case 2:
        memcpy(&number, &bits, sizeof number);
        table->floats[row] = number;
        if (number > -EXACT && number < EXACT && (double)(int64_t)number == number)
            table->ints[row] = (int64_t)number;
        break;
    case 3: /* uint64: as an int64 it may wrap */
        table->ints[row] = bits;
        table->floats[row] = (double)(uint64_t)bits;
        break;
    case 4:
        table->ints[row] = bits;
        table->floats[row] = (double)bits;
        break;
    default:
        break;
    }
}

PyObject *call_put_numbers(PyObject *self, PyObject *args)
{
    Py_buffer views[6] = {{0}}; /* kind, bits, rows → present, ints, floats */
    PyObject *result = NULL;
    int fine = 1;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*w*w*w*", &views[0], &views[1], &views[2], &views[3], &views[4], &views[5]))
        goto done;
    Py_ssize_t n = views[0].len, room = views[3].len, in_order = !views[2].len;
    if (!fits(&views[1], n, 8) || !fits(&views[2], in_order ? 0 : n, 8) || !fits(&views[4], room, 8) || !fits(&views[5], room, 8))
        goto done;
    const uint8_t *kind = views[0].buf;
    const int64_t *bits = views[1].buf, *rows = views[2].buf;
    Table table = {views[3].buf, views[4].buf, views[5].buf};
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n && fine; i++)
        if (kind[i]) {
            int64_t row = in_order ? i : rows[i];
            fine = row >= 0 && row < room;
            if (fine)
                put_number(&table, row, kind[i], bits[i]);
        }
    Py_END_ALLOW_THREADS
    result = none_or(PyExc_IndexError, "a row lies outside the column", fine);
done:
    release(views, 6);
    return result;
}
