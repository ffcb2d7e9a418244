/* The wire decoder, compiled. The same answers as pure.py, to the byte; types.py says what they mean.
 *
 * The bytes come from files that nobody vouches for: every read is checked against the end of the message it
 * belongs to, lengths are compared before they are added, nothing recurses, and what makes no sense ends the
 * message with a position instead of an error. Loops run without the GIL.
 *
 * Plain C99 on Python's limited API (the buffer protocol is part of it from 3.11 on): no numpy headers, no
 * assumption about byte order, alignment of the input, the sign of char or the page size.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { VARINT = 0, FIXED64 = 1, LEN = 2, FIXED32 = 5 };
enum { EVENTS_FIELD = 4, EVENT_STATS_FIELD = 4, MAX_LANES = 255, BLOCK = 16, FAN = 4 };

/* ── one field ─────────────────────────────────────────────────────────────────────────────────────────── */

typedef struct {
    const uint8_t *first; /* of the file */
    const uint8_t *limit; /* one past its last byte */
} Data;

typedef struct {
    uint64_t tag;
    uint64_t value;
    const uint8_t *body; /* behind the tag: for LEN the length prefix */
    const uint8_t *lo;
    const uint8_t *hi; /* never past the message's end */
} Field;

typedef enum { MALFORMED, WHOLE, CUT } Read;

static inline uint64_t load64(const uint8_t *p)
{
    /* compilers make one load of this where that is right */
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 |
           (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

static inline uint64_t load32(const uint8_t *p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
}

static const uint8_t *varint_slowly(const uint8_t *p, const uint8_t *end, uint64_t *value)
{
    uint64_t sum = 0;
    for (int shift = 0; shift < 70 && p < end; shift += 7) {
        uint64_t byte = *p++;
        sum |= (byte & 0x7f) << shift; /* shift <= 63; bits beyond 64 drop out */
        if (byte < 0x80) {
            *value = sum;
            return p;
        }
    }
    return NULL;
}

/* A varint before `end`; NULL when there is none. Eight bytes are looked at in one go, without a branch on how many of them
 * count: that is what the processor guesses wrong. */
static inline const uint8_t *varint_at_once(const Data *data, const uint8_t *p, const uint8_t *end, uint64_t *value)
{
#if defined(__GNUC__)
    if (data->limit - p >= 8) {
        uint64_t word = load64(p);
        uint64_t stop = ~word & 0x8080808080808080u;
        if (stop) {
            int size = (__builtin_ctzll(stop) >> 3) + 1;
            if (size > end - p)
                return NULL;
            word &= stop ^ (stop - 1); /* the bytes up to the one without a mark */
            word = (word & 0x007f007f007f007fu) | (word & 0x7f007f007f007f00u) >> 1;
            word = (word & 0x00003fff00003fffu) | (word & 0x3fff00003fff0000u) >> 2;
            word = (word & 0x000000000fffffffu) | (word & 0x0fffffff00000000u) >> 4;
            *value = word;
            return p + size;
        }
    }
#endif
    (void)data;
    return varint_slowly(p, end, value);
}

/* The same where one byte is by far the most likely: tags and lengths. */
static inline const uint8_t *varint(const Data *data, const uint8_t *p, const uint8_t *end, uint64_t *value)
{
    if (p >= end)
        return NULL;
    if (*p < 0x80) {
        *value = *p;
        return p + 1;
    }
    return varint_at_once(data, p, end, value);
}

/* The field at p < end. */
static inline Read read_field(const Data *data, const uint8_t *p, const uint8_t *end, Field *field)
{
    uint64_t size;
    p = varint(data, p, end, &field->tag);
    if (!p || field->tag < 8 || field->tag > UINT32_MAX)
        return MALFORMED;
    field->body = field->lo = p;
    switch (field->tag & 7) {
    case VARINT:
        field->hi = varint(data, p, end, &field->value);
        return field->hi ? WHOLE : MALFORMED;
    case LEN:
        field->value = 0;
        field->lo = varint(data, p, end, &size);
        if (!field->lo)
            return MALFORMED;
        if (size > (uint64_t)(end - field->lo)) {
            field->hi = end;
            return CUT;
        }
        field->hi = field->lo + size;
        return WHOLE;
    case FIXED64:
        if (end - p < 8)
            return MALFORMED;
        field->value = load64(p);
        field->hi = p + 8;
        return WHOLE;
    case FIXED32:
        if (end - p < 4)
            return MALFORMED;
        field->value = load32(p);
        field->hi = p + 4;
        return WHOLE;
    default: /* groups are obsolete and never in profiles */
        return MALFORMED;
    }
}

/* ── small helpers around Python ───────────────────────────────────────────────────────────────────────── */

/* A list of numbers that grows without the GIL. */
typedef struct {
    int64_t *items;
    Py_ssize_t count, room;
} Numbers;

static int push(Numbers *numbers, int64_t item)
{
    if (numbers->count == numbers->room) {
        Py_ssize_t room = numbers->room ? 2 * numbers->room : 64;
        int64_t *items = room < PY_SSIZE_T_MAX / 16 ? realloc(numbers->items, (size_t)room * sizeof *items) : NULL;
        if (!items)
            return 0;
        numbers->items = items;
        numbers->room = room;
    }
    numbers->items[numbers->count++] = item;
    return 1;
}

static PyObject *as_bytes(const Numbers *numbers)
{
    return PyBytes_FromStringAndSize((const char *)numbers->items, numbers->count * (Py_ssize_t)sizeof(int64_t));
}

static Data data_of(const Py_buffer *view)
{
    Data data = {view->buf, (const uint8_t *)view->buf + view->len};
    return data;
}

/* The part of a range that lies in the file. */
static void clip(const Data *data, long long lo, long long hi, const uint8_t **first, const uint8_t **end)
{
    long long size = data->limit - data->first;
    if (lo < 0)
        lo = 0;
    if (lo > size)
        lo = size;
    if (hi > size)
        hi = size;
    *first = data->first + lo;
    *end = hi > lo ? data->first + hi : *first;
}

/* Columns come from numpy; a wrong one must be an error and not a crash. */
static int fits(const Py_buffer *view, Py_ssize_t count, size_t size)
{
    if (count >= 0 && (size_t)view->len / size == (size_t)count && (size_t)view->len % size == 0 && (uintptr_t)view->buf % size == 0)
        return 1;
    PyErr_SetString(PyExc_ValueError, "a column has another length, type or alignment than the decoder expects");
    return 0;
}

static void release(Py_buffer *views, int count)
{
    while (count--)
        if (views[count].obj)
            PyBuffer_Release(&views[count]);
}

/* ── hop, pick ─────────────────────────────────────────────────────────────────────────────────────────── */

static PyObject *hop(PyObject *self, PyObject *args)
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

static PyObject *pick(PyObject *self, PyObject *args)
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

/* ── events ────────────────────────────────────────────────────────────────────────────────────────────── */

typedef struct {
    uint64_t id, offset, duration;
    int occurs; /* offset holds num_occurrences: both are one oneof, the last one given counts */
} Event;

/* The field of a line at p < end. Nearly all are events of less than 128 bytes. */
static inline Read read_line_field(const Data *data, const uint8_t *p, const uint8_t *end, Field *field)
{
    if (end - p >= 2 && *p == (EVENTS_FIELD << 3 | LEN) && p[1] < 0x80 && p[1] <= end - p - 2) {
        field->tag = *p;
        field->body = p + 1;
        field->lo = p + 2;
        field->hi = p + 2 + p[1];
        return WHOLE;
    }
    return read_field(data, p, end, field);
}

static inline int read_event(const Data *data, const uint8_t *p, const uint8_t *end, Event *event)
{
    memset(event, 0, sizeof *event);
    /* Writers put fields in the order of their numbers, so that way first, where each branch is easy to predict. */
    if (p < end && *p == (1 << 3 | VARINT) && !(p = varint_at_once(data, p + 1, end, &event->id)))
        return 0;
    if (p < end && *p == (2 << 3 | VARINT) && !(p = varint_at_once(data, p + 1, end, &event->offset)))
        return 0;
    if (p < end && *p == (3 << 3 | VARINT) && !(p = varint_at_once(data, p + 1, end, &event->duration)))
        return 0;
    while (end - p >= 2 && *p == (EVENT_STATS_FIELD << 3 | LEN) && p[1] < 0x80 && p[1] <= end - p - 2)
        p += 2 + p[1];
    /* Whatever is left, in whatever order. */
    while (p < end) {
        Field field;
        if (read_field(data, p, end, &field) != WHOLE)
            return 0;
        switch (field.tag) {
        case 1 << 3 | VARINT:
            event->id = field.value;
            break;
        case 2 << 3 | VARINT:
            event->offset = field.value;
            event->occurs = 0;
            break;
        case 3 << 3 | VARINT:
            event->duration = field.value;
            break;
        case 5 << 3 | VARINT:
            event->offset = field.value;
            event->occurs = 1;
            break;
        default:
            break;
        }
        p = field.hi;
    }
    return 1;
}

static PyObject *scan_events(PyObject *self, PyObject *args)
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

/* ── stats ─────────────────────────────────────────────────────────────────────────────────────────────── */

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

static PyObject *stats(PyObject *self, PyObject *args)
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

static PyObject *event_stats(PyObject *self, PyObject *args)
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

static PyObject *scan_stats(PyObject *self, PyObject *args)
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
    result = Py_None;
    Py_INCREF(result);
done:
    release(views, 6);
    return result;
}

/* ── lanes ─────────────────────────────────────────────────────────────────────────────────────────────── */

/* Everything is 64 bits wide: Python keeps it between two slices, as so many numbers. */
typedef struct {
    int64_t until[MAX_LANES];  /* when the last event of each lane ends */
    int64_t counts[MAX_LANES]; /* events of each lane */
    int64_t open;              /* lanes from here on are all free */
    int64_t rows;              /* events so far */
    int64_t start, duration;   /* of the one before */
    int64_t end;               /* the latest of all */
} Lanes;

/* Below the deepest event that holds this one whole, the first lane that is free. With proper nesting the deepest open
 * event is the holder and the next lane is free, so an event costs one step. */
static inline int next_lane(int64_t *until, int64_t *open, int64_t s, int64_t duration)
{
    int64_t e = s;
    int top = (int)*open;
    if (duration > 0) {
        e = (int64_t)((uint64_t)s + (uint64_t)duration);
        if (e < s)
            e = INT64_MAX;
    }
    while (top && until[top - 1] <= s)
        top--;
    int lane = top;
    while (lane && !(until[lane - 1] > s && until[lane - 1] >= e))
        lane--;
    while (lane < top && until[lane] > s)
        lane++;
    if (lane == MAX_LANES) {
        lane = MAX_LANES - 1;
        if (until[lane] < e)
            until[lane] = e;
    } else {
        until[lane] = e;
        if (lane == top)
            top++;
    }
    *open = top;
    return lane;
}

static void find_lanes(const int64_t *start, const int64_t *duration, uint8_t *lanes, int64_t n)
{
    int64_t until[MAX_LANES], open = 0;
    for (int64_t i = 0; i < n; i++)
        lanes[i] = (uint8_t)next_lane(until, &open, start[i], duration[i]);
}

static PyObject *nest(PyObject *self, PyObject *args)
{
    Py_buffer views[3] = {{0}}; /* start, duration → lanes */
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*w*", &views[0], &views[1], &views[2]))
        goto done;
    Py_ssize_t n = views[2].len;
    if (!fits(&views[0], n, 8) || !fits(&views[1], n, 8))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    find_lanes(views[0].buf, views[1].buf, views[2].buf, n);
    Py_END_ALLOW_THREADS
    result = Py_None;
    Py_INCREF(result);
done:
    release(views, 3);
    return result;
}

/* ── a line in lanes ───────────────────────────────────────────────────────────────────────────────────── */

/* One walk over the bytes decodes the events of a line and says which lane each lies in. Those of the outermost lane are
 * where they belong at once, the others are put aside: where their lanes begin is known when the last event is read. The
 * walk stops at anything that needs a closer look (an event out of order, malformed, counted, of an unknown name, at an
 * impossible time): scan_events takes such a line. */

typedef struct {
    int64_t *start, *duration;
    uint32_t *name;
    uint32_t *near; /* where records lie behind the first byte of the line … */
    uint64_t *far;  /* … of a line that 32 bits cannot measure */
    int64_t rows;   /* in each column */
} Rows;

typedef struct {
    uint64_t shift;                 /* from the line's first byte to the first one given */
    int64_t base, earliest, latest; /* what is added to offsets; the times that can be, both within 2^61 */
    const uint32_t *names;          /* by metadata id; all ones for none */
    int64_t name_count;
} Rules;

static inline void put_row(const Rows *out, int64_t row, int64_t start, int64_t duration, uint32_t name, uint64_t place)
{
    out->start[row] = start;
    out->duration[row] = duration;
    out->name[row] = name;
    if (out->near)
        out->near[row] = (uint32_t)place;
    else
        out->far[row] = place;
}

/* The events from `p` on, as many as there is room for. Lane 0 goes to `out` from row state->counts[0] on,
 * the others go `aside`, where `lanes` says which. Returns where to go on; NULL at what needs a closer look. */
static const uint8_t *walk_lanes(const Data *data, const uint8_t *p, const uint8_t *end, const Rules *rules, Lanes *state,
                                 const Rows *out, const Rows *aside, uint8_t *lanes, int64_t *put)
{
    int64_t reach = rules->latest - rules->earliest, n = 0;
    *put = 0;
    while (p < end) {
        Field field;
        if (read_line_field(data, p, end, &field) != WHOLE)
            return NULL;
        if (field.tag == (EVENTS_FIELD << 3 | LEN)) {
            Event event;
            if (n == aside->rows)
                break;
            if (!read_event(data, field.lo, field.hi, &event) || event.occurs || event.id >= (uint64_t)rules->name_count)
                return NULL;
            int64_t start = (int64_t)(event.offset + (uint64_t)rules->base), duration = (int64_t)event.duration;
            uint32_t name = rules->names[event.id];
            if (name == UINT32_MAX || start < rules->earliest || start > rules->latest || duration < 0 || duration > reach)
                return NULL;
            if (state->rows && (start < state->start || (start == state->start && duration > state->duration)))
                return NULL;
            int lane = next_lane(state->until, &state->open, start, duration);
            uint64_t place = (uint64_t)(field.body - data->first) + rules->shift;
            /* both ways are written as one, for no processor can guess which it is */
            const Rows *to = lane ? aside : out;
            int64_t row = lane ? n : state->counts[0];
            if (row >= to->rows)
                return NULL;
            put_row(to, row, start, duration, name, place);
            lanes[n] = (uint8_t)lane; /* n is below aside->rows */
            n += lane != 0;
            state->counts[lane]++;
            state->rows++;
            state->start = start;
            state->duration = duration;
            if (start + duration > state->end)
                state->end = start + duration;
        }
        p = field.hi;
    }
    *put = n;
    return p;
}

/* Each row to where its lane goes on: `cursor` says in which row. 0 when that is no row of `to`. */
static int move_rows(const Rows *from, const uint8_t *lanes, int64_t *cursor, const Rows *to)
{
    for (int64_t i = 0; i < from->rows; i++) {
        int64_t row = lanes[i] < MAX_LANES ? cursor[lanes[i]] : -1;
        if (row < 0 || row >= to->rows)
            return 0;
        cursor[lanes[i]] = row + 1;
        put_row(to, row, from->start[i], from->duration[i], from->name[i], from->near ? from->near[i] : from->far[i]);
    }
    return 1;
}

/* Four columns of the same length: start, duration, name, place. */
static int rows_of(const Py_buffer *views, Rows *rows)
{
    Py_ssize_t n = views[0].len / 8;
    int is_near = views[3].len / 4 == n; /* of no rows either will do */
    if (!fits(&views[0], n, 8) || !fits(&views[1], n, 8) || !fits(&views[2], n, 4) || !fits(&views[3], n, is_near ? 4 : 8))
        return 0;
    Rows made = {views[0].buf, views[1].buf, views[2].buf, is_near ? views[3].buf : NULL, is_near ? NULL : views[3].buf, n};
    *rows = made;
    return 1;
}

static PyObject *scan_lanes(PyObject *self, PyObject *args)
{
    Py_buffer views[12] = {{0}}; /* data, names → state, lanes, four columns put aside, four columns */
    PyObject *result = NULL;
    long long lo, hi, shift, base, earliest, latest;
    int64_t put = 0;
    Rows out, aside;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*LLLLLLy*w*w*w*w*w*w*w*w*w*w*", &views[0], &lo, &hi, &shift, &base, &earliest, &latest,
                          &views[1], &views[2], &views[3], &views[4], &views[5], &views[6], &views[7], &views[8],
                          &views[9], &views[10], &views[11]))
        goto done;
    Py_ssize_t names = views[1].len / 4;
    if (!fits(&views[1], names, 4) || !fits(&views[2], (Py_ssize_t)(sizeof(Lanes) / 8), 8) || !rows_of(&views[4], &aside) ||
        !rows_of(&views[8], &out) || !fits(&views[3], (Py_ssize_t)aside.rows, 1))
        goto done;
    Lanes *state = views[2].buf;
    if (state->open < 0 || state->open > MAX_LANES || state->counts[0] < 0 || earliest > latest ||
        earliest < -((int64_t)1 << 61) || latest > (int64_t)1 << 61) {
        PyErr_SetString(PyExc_ValueError, "the lanes or the times that can be make no sense");
        goto done;
    }
    Data data = data_of(&views[0]);
    const uint8_t *p, *end;
    clip(&data, lo, hi, &p, &end);
    long long most = out.near || aside.near ? (long long)UINT32_MAX : INT64_MAX;
    if (shift < 0 || shift > most - (long long)views[0].len) {
        PyErr_SetString(PyExc_ValueError, "the line begins too far before these events");
        goto done;
    }
    Rules rules = {(uint64_t)shift, base, earliest, latest, views[1].buf, names};
    Py_BEGIN_ALLOW_THREADS
    p = walk_lanes(&data, p, end, &rules, state, &out, &aside, views[3].buf, &put);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("LL", (long long)put, p ? (long long)(p - data.first) : -1LL);
done:
    release(views, 12);
    return result;
}

static PyObject *move_lanes(PyObject *self, PyObject *args)
{
    Py_buffer views[10] = {{0}}; /* lanes, start, duration, name, place → cursor, start, duration, name, place */
    PyObject *result = NULL;
    Rows from, to;
    int fine;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*w*w*w*w*w*", &views[0], &views[1], &views[2], &views[3], &views[4], &views[5],
                          &views[6], &views[7], &views[8], &views[9]))
        goto done;
    if (!rows_of(&views[1], &from) || !rows_of(&views[6], &to) || !fits(&views[0], (Py_ssize_t)from.rows, 1) ||
        !fits(&views[5], MAX_LANES, 8))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    fine = move_rows(&from, views[0].buf, views[5].buf, &to);
    Py_END_ALLOW_THREADS
    if (fine) {
        result = Py_None;
        Py_INCREF(result);
    } else {
        PyErr_SetString(PyExc_ValueError, "rows of a lane have no place in the columns");
    }
done:
    release(views, 10);
    return result;
}

/* ── columns ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Of each block of durations the sum (which may wrap) and where the longest lies, the first of equals. */
static void sum_blocks(const int64_t *duration, int64_t n, int64_t *sum, uint8_t *top)
{
    for (int64_t lo = 0; lo < n; lo += BLOCK) {
        int64_t hi = n - lo < BLOCK ? n : lo + BLOCK, best = lo;
        uint64_t total = 0;
        for (int64_t i = lo; i < hi; i++) {
            total += (uint64_t)duration[i];
            best = duration[i] > duration[best] ? i : best;
        }
        *sum++ = (int64_t)total;
        *top++ = (uint8_t)(best - lo);
    }
}

typedef struct {
    const int64_t *duration;
    int64_t rows;
    const uint8_t *top; /* the longest of each block, counted from its first row */
    int64_t blocks;
    const int32_t *table; /* row k: the block with the longest event of the 2^k groups (FAN blocks each) from each on */
    int64_t groups, levels;
} Index;

static inline int64_t longer_row(const Index *index, int64_t best, int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; i++)
        best = index->duration[i] > index->duration[best] ? i : best;
    return best;
}

/* -1 when the index makes no sense. */
static inline int64_t longer_block(const Index *index, int64_t best, int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; i++) {
        int64_t row = i < index->blocks ? i * BLOCK + index->top[i] : index->rows;
        if (row >= index->rows)
            return -1;
        best = index->duration[row] > index->duration[best] ? row : best;
    }
    return best;
}

/* The longest event from row lo to row hi, the first of equals; -1 when the index or the rows make no sense. */
static int64_t find_longest(const Index *index, int64_t lo, int64_t hi)
{
    if (lo < 0 || hi <= lo || hi > index->rows)
        return -1;
    int64_t first = lo / BLOCK + (lo % BLOCK > 0), last = hi / BLOCK; /* whole blocks */
    if (first >= last)
        return longer_row(index, lo, lo, hi);
    int64_t best = longer_row(index, lo, lo, first * BLOCK);
    int64_t from = first / FAN + (first % FAN > 0), to = last / FAN; /* whole groups of them */
    if (from >= to) {
        best = longer_block(index, best, first, last);
    } else {
        int64_t wide = 1, level = 0;
        while (2 * wide <= to - from) {
            wide *= 2;
            level++;
        }
        if (level >= index->levels || to > index->groups)
            return -1;
        const int32_t *row = index->table + level * index->groups;
        int64_t near = row[from], far = row[to - wide];
        if (near < 0 || far < 0)
            return -1;
        best = longer_block(index, best, first, from * FAN);
        best = best < 0 ? -1 : longer_block(index, best, near, near + 1);
        best = best < 0 ? -1 : longer_block(index, best, far, far + 1);
        best = best < 0 ? -1 : longer_block(index, best, to * FAN, last);
    }
    return best < 0 ? -1 : longer_row(index, best, last * BLOCK, hi);
}

/* Durations summed up to each of these rows; `before` is the sum up to each block. 0 when a row is none. */
static int sum_until(const int64_t *duration, int64_t rows, const int64_t *before, const int64_t *at, int64_t n, int64_t *sum)
{
    for (int64_t i = 0; i < n; i++) {
        if (at[i] < 0 || at[i] > rows)
            return 0;
        uint64_t total = (uint64_t)before[at[i] / BLOCK];
        for (int64_t row = at[i] - at[i] % BLOCK; row < at[i]; row++)
            total += (uint64_t)duration[row];
        sum[i] = (int64_t)total;
    }
    return 1;
}

/* The first and the last row of each name; what no row has is left as it is. 0 when a name lies beyond the tables. */
static int find_ends(const uint32_t *name, int64_t n, int64_t *first, int64_t *last, int64_t names)
{
    for (int64_t i = 0; i < n; i++) {
        if (name[i] >= (uint64_t)names)
            return 0;
        last[name[i]] = i;
        if (first[name[i]] < 0)
            first[name[i]] = i;
    }
    return 1;
}

static PyObject *blocks(PyObject *self, PyObject *args)
{
    Py_buffer views[3] = {{0}}; /* duration → sum, top */
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*w*w*", &views[0], &views[1], &views[2]))
        goto done;
    Py_ssize_t n = views[0].len / 8, count = n / BLOCK + (n % BLOCK > 0);
    if (!fits(&views[0], n, 8) || !fits(&views[1], count, 8) || !fits(&views[2], count, 1))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    sum_blocks(views[0].buf, n, views[1].buf, views[2].buf);
    Py_END_ALLOW_THREADS
    result = Py_None;
    Py_INCREF(result);
done:
    release(views, 3);
    return result;
}

static PyObject *sums(PyObject *self, PyObject *args)
{
    Py_buffer views[4] = {{0}}; /* duration, before, at → sum */
    PyObject *result = NULL;
    int fine;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*w*", &views[0], &views[1], &views[2], &views[3]))
        goto done;
    Py_ssize_t rows = views[0].len / 8, n = views[3].len / 8;
    if (!fits(&views[0], rows, 8) || !fits(&views[1], rows / BLOCK + (rows % BLOCK > 0) + 1, 8) || !fits(&views[2], n, 8) ||
        !fits(&views[3], n, 8))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    fine = sum_until(views[0].buf, rows, views[1].buf, views[2].buf, n, views[3].buf);
    Py_END_ALLOW_THREADS
    if (fine) {
        result = Py_None;
        Py_INCREF(result);
    } else {
        PyErr_SetString(PyExc_IndexError, "a row lies outside the column");
    }
done:
    release(views, 4);
    return result;
}

static PyObject *longest(PyObject *self, PyObject *args)
{
    Py_buffer views[6] = {{0}}; /* duration, top, table, lo, hi → row */
    PyObject *result = NULL;
    int fine = 1;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*w*", &views[0], &views[1], &views[2], &views[3], &views[4], &views[5]))
        goto done;
    Py_ssize_t rows = views[0].len / 8, count = rows / BLOCK + (rows % BLOCK > 0), n = views[5].len / 8;
    Py_ssize_t groups = count / FAN + (count % FAN > 0), levels = groups ? views[2].len / 4 / groups : 0;
    if (!fits(&views[0], rows, 8) || !fits(&views[1], count, 1) || !fits(&views[2], levels * groups, 4) ||
        !fits(&views[3], n, 8) || !fits(&views[4], n, 8) || !fits(&views[5], n, 8))
        goto done;
    Index index = {views[0].buf, rows, views[1].buf, count, views[2].buf, groups, levels};
    const int64_t *lo = views[3].buf, *hi = views[4].buf;
    int64_t *row = views[5].buf;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n && fine; i++) {
        row[i] = find_longest(&index, lo[i], hi[i]);
        fine = row[i] >= 0;
    }
    Py_END_ALLOW_THREADS
    if (fine) {
        result = Py_None;
        Py_INCREF(result);
    } else {
        PyErr_SetString(PyExc_IndexError, "a range of rows is empty or lies outside the column");
    }
done:
    release(views, 6);
    return result;
}

static PyObject *ends(PyObject *self, PyObject *args)
{
    Py_buffer views[3] = {{0}}; /* name → first, last */
    PyObject *result = NULL;
    int fine = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*w*w*", &views[0], &views[1], &views[2]))
        goto done;
    Py_ssize_t n = views[0].len / 4, names = views[1].len / 8;
    if (!fits(&views[0], n, 4) || !fits(&views[1], names, 8) || !fits(&views[2], names, 8))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    fine = find_ends(views[0].buf, n, views[1].buf, views[2].buf, names);
    Py_END_ALLOW_THREADS
    if (fine) {
        result = Py_None;
        Py_INCREF(result);
    } else {
        PyErr_SetString(PyExc_IndexError, "a name lies beyond the table of names");
    }
done:
    release(views, 3);
    return result;
}

/* ── TFRecords ─────────────────────────────────────────────────────────────────────────────────────────── */

enum { FRAME = 16, HEAD = 12 }; /* bytes around a payload; of them before it */

static uint32_t crc_table[8][256]; /* written once, when the module is made */

static void make_crc_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t sum = i;
        for (int bit = 0; bit < 8; bit++)
            sum = sum & 1 ? sum >> 1 ^ 0x82f63b78u : sum >> 1;
        crc_table[0][i] = sum;
    }
    for (int row = 1; row < 8; row++)
        for (uint32_t i = 0; i < 256; i++)
            crc_table[row][i] = crc_table[row - 1][i] >> 8 ^ crc_table[0][crc_table[row - 1][i] & 255];
}

/* The CRC32C of some bytes, as TFRecord stores it. */
static uint32_t masked_crc(const uint8_t *p, uint64_t size)
{
    uint32_t sum = UINT32_MAX;
    for (; size >= 8; p += 8, size -= 8) {
        uint64_t word = load64(p) ^ sum;
        sum = crc_table[7][word & 255] ^ crc_table[6][word >> 8 & 255] ^ crc_table[5][word >> 16 & 255] ^
              crc_table[4][word >> 24 & 255] ^ crc_table[3][word >> 32 & 255] ^ crc_table[2][word >> 40 & 255] ^
              crc_table[1][word >> 48 & 255] ^ crc_table[0][word >> 56];
    }
    while (size--)
        sum = sum >> 8 ^ crc_table[0][(sum ^ *p++) & 255];
    sum = ~sum;
    return (sum >> 15 | sum << 17) + 0xa282ead8u;
}

/* Whole records from p on, at most `room` of them; *next is where the first lies that is none. 1 when its length is damaged. */
static int find_records(const Data *data, const uint8_t *p, Py_ssize_t room, int64_t *begin, int64_t *end, uint8_t *good,
                        Py_ssize_t *rows, const uint8_t **next)
{
    int damaged = 0;
    *rows = 0;
    while (*rows < room && data->limit - p >= HEAD) {
        uint64_t length = load64(p);
        if (load32(p + 8) != masked_crc(p, 8)) {
            damaged = 1;
            break;
        }
        if (data->limit - p < FRAME || length > (uint64_t)(data->limit - p - FRAME))
            break;
        const uint8_t *payload = p + HEAD;
        begin[*rows] = payload - data->first;
        end[*rows] = begin[*rows] + (int64_t)length;
        good[*rows] = load32(payload + length) == masked_crc(payload, length);
        p = payload + length + 4;
        ++*rows;
    }
    *next = p;
    return damaged;
}

static PyObject *records(PyObject *self, PyObject *args)
{
    Py_buffer views[4] = {{0}}; /* data → begin, end, good */
    PyObject *result = NULL;
    long long lo;
    const uint8_t *first, *limit, *next;
    Py_ssize_t rows = 0;
    int damaged;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*Lw*w*w*", &views[0], &lo, &views[1], &views[2], &views[3]))
        goto done;
    Py_ssize_t room = views[3].len;
    if (!fits(&views[1], room, 8) || !fits(&views[2], room, 8))
        goto done;
    Data data = data_of(&views[0]);
    clip(&data, lo, (long long)views[0].len, &first, &limit);
    Py_BEGIN_ALLOW_THREADS
    damaged = find_records(&data, first, room, views[1].buf, views[2].buf, views[3].buf, &rows, &next);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("nLi", rows, (long long)(next - data.first), damaged);
done:
    release(views, 4);
    return result;
}

/* ── module ────────────────────────────────────────────────────────────────────────────────────────────── */

static PyMethodDef methods[] = {
    {"hop", hop, METH_VARARGS, "hop(data, lo, hi, skip) -> (number, wire, value, lo, hi of each field; skipped; bad)"},
    {"pick", pick, METH_VARARGS, "pick(data, lo, hi, tags, present, value, end) -> bad"},
    {"scan_events", scan_events, METH_VARARGS,
     "scan_events(data, lo, hi, base, id, start, duration, position, at, limit)"
     " -> (rows, next, counted, wide, wide_ids, dropped, bad)"},
    {"stats", stats, METH_VARARGS, "stats(data, lo, hi, field) -> [(id, kind, value)]"},
    {"event_stats", event_stats, METH_VARARGS, "event_stats(data, position) -> [(id, kind, value)]"},
    {"scan_stats", scan_stats, METH_VARARGS, "scan_stats(data, positions, ids, kind, bits, end)"},
    {"nest", nest, METH_VARARGS, "nest(start, duration, lanes)"},
    {"scan_lanes", scan_lanes, METH_VARARGS,
     "scan_lanes(data, lo, hi, shift, base, earliest, latest, names, state, lanes, four columns aside, four columns)"
     " -> (rows aside, next or -1)"},
    {"move_lanes", move_lanes, METH_VARARGS,
     "move_lanes(lanes, start, duration, name, place, cursor, start, duration, name, place)"},
    {"blocks", blocks, METH_VARARGS, "blocks(duration, sum, top)"},
    {"sums", sums, METH_VARARGS, "sums(duration, before, at, sum)"},
    {"longest", longest, METH_VARARGS, "longest(duration, top, table, lo, hi, row)"},
    {"ends", ends, METH_VARARGS, "ends(name, first, last)"},
    {"records", records, METH_VARARGS, "records(data, lo, begin, end, good) -> (rows, next, whether the length there is damaged)"},
    {NULL, NULL, 0, NULL},
};

/* compiled.py says the same number: another one means that this was built from another version of powertui. */
enum { INTERFACE = 3 };

static int fill_module(PyObject *made)
{
    make_crc_table();
    return PyModule_AddIntConstant(made, "INTERFACE", INTERFACE);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill_module},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED}, /* nothing here is shared between calls */
#endif
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_scan", "Protobuf on the wire, compiled. See powertui.data.wire.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__scan(void)
{
    return PyModuleDef_Init(&module);
}
