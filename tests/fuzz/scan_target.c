/* What libFuzzer calls: every call of the scanner on one input, through a real interpreter, as powertui calls them.
 *
 * Each buffer is a block of its own from malloc, exactly as long as what lies in it, so that AddressSanitizer sees one byte
 * too far. What the functions promise is checked as well: a broken promise ends the program as a crash does.
 *
 * An input is HEADER bytes that choose the arguments (all zero: the whole message, as a reader would), then the message.
 * With -DSTANDALONE there is a main() that runs files, for compilers without libFuzzer and for measuring coverage.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PyMODINIT_FUNC PyInit__scan(void);

enum { HEADER = 32, MAX_ROWS = 4096, MAX_LANES = 255, LEN = 2, BLOCK = 16, FAN = 4 };
enum { STATE = 2 * MAX_LANES + 5, NAMES = 64, PIECE = 7 };
static const int64_t LIMIT_PS = (int64_t)1 << 61;

/* How an input chooses arguments. Every multi-byte number is little-endian. */
typedef struct {
    long long lo, hi, skip, limit, base;
    uint64_t position; /* one that no scan has given */
    int64_t ids[4], tags[4];
    const uint8_t *message;
    size_t size;
} Input;

#define MUST(condition)                                                                                                           \
    do {                                                                                                                          \
        if (!(condition)) {                                                                                                       \
            fprintf(stderr, "%s:%d: this must hold: %s\n", __FILE__, __LINE__, #condition);                                       \
            if (PyErr_Occurred())                                                                                                 \
                PyErr_Print();                                                                                                    \
            abort();                                                                                                              \
        }                                                                                                                         \
    } while (0)

static PyObject *module;
static unsigned long long inputs, calls; /* told at the end */

static uint64_t little(const uint8_t *p, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes; i--;)
        value = value << 8 | p[i];
    return value;
}

static Input read_input(const uint8_t *data, size_t size)
{
    Input in;
    in.message = data + HEADER;
    in.size = size - HEADER;
    in.lo = (int16_t)little(data + 2, 2);
    in.hi = (long long)in.size + (int16_t)little(data + 4, 2);
    in.skip = data[1];
    in.limit = (long long)little(data + 6, 2);
    if (!in.limit)
        in.limit = 1LL << 62;
    in.base = (long long)little(data + 8, 8) / 4;
    in.position = little(data + 16, 8);
    for (int i = 0; i < 4; i++) {
        in.ids[i] = (int8_t)data[24 + i];
        in.tags[i] = data[28 + i];
    }
    return in;
}

/* ── buffers and calls ─────────────────────────────────────────────────────────────────────────────────── */

/* A copy of so many bytes in a block of its own; of zeros when there is nothing to copy. */
static void *block(const void *from, size_t size)
{
    void *copy = malloc(size ? size : 1);
    MUST(copy);
    if (from && size)
        memcpy(copy, from, size);
    else
        memset(copy, 0, size ? size : 1);
    return copy;
}

static PyObject *view(void *memory, size_t size)
{
    PyObject *found = PyMemoryView_FromMemory(memory, (Py_ssize_t)size, PyBUF_WRITE);
    MUST(found);
    return found;
}

/* Calls a function of the scanner. It has no reason to raise: what it is given is as powertui gives it. */
static PyObject *call(const char *name, const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    PyObject *arguments = Py_VaBuildValue(format, rest);
    va_end(rest);
    PyObject *function = PyObject_GetAttrString(module, name);
    MUST(arguments && function);
    PyObject *result = PyObject_Call(function, arguments, NULL);
    calls++;
    if (!result)
        fprintf(stderr, "%s() raised\n", name);
    MUST(result);
    Py_DECREF(function);
    Py_DECREF(arguments);
    return result;
}

static long long item(PyObject *tuple, Py_ssize_t i)
{
    long long value = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
    MUST(!PyErr_Occurred());
    return value;
}

/* ── the functions ─────────────────────────────────────────────────────────────────────────────────────── */

static long long clipped(const Input *in, long long at)
{
    return at < 0 ? 0 : at > (long long)in->size ? (long long)in->size : at;
}

static void try_pick(const Input *in, PyObject *data, const int64_t *lo, const int64_t *hi, size_t rows)
{
    size_t cells = rows * 4;
    void *from = block(lo, rows * 8), *to = block(hi, rows * 8), *tags = block(in->tags, sizeof in->tags);
    uint8_t *present = block(NULL, cells);
    int64_t *value = block(NULL, cells * 8), *end = block(NULL, cells * 8);
    Py_DECREF(call("pick", "(ONNNNNN)", data, view(from, rows * 8), view(to, rows * 8), view(tags, sizeof in->tags),
                   view(present, cells), view(value, cells * 8), view(end, cells * 8)));
    for (size_t i = 0; i < cells; i++)
        MUST(present[i] <= 1 && (!end[i] || (0 <= value[i] && value[i] <= end[i] && end[i] <= (int64_t)in->size)));
    free(from), free(to), free(tags), free(present), free(value), free(end);
}

/* Returns how many fields were skipped, which says how many events there can be. */
static size_t try_hop(const Input *in, PyObject *data, long long skip)
{
    PyObject *hop = call("hop", "(OLLL)", data, in->lo, in->hi, skip);
    const int64_t *fields = (const int64_t *)(void *)PyBytes_AsString(PyTuple_GetItem(hop, 0));
    size_t rows = (size_t)PyBytes_Size(PyTuple_GetItem(hop, 0)) / 40, kept = 0;
    long long skipped = item(hop, 1), bad = item(hop, 2), behind = clipped(in, in->lo);
    MUST(skipped >= 0 && bad >= -1 && bad < (long long)in->size + 1);
    int64_t *lo = malloc((rows + 2) * 8), *hi = malloc((rows + 2) * 8);
    for (size_t i = 0; i < rows; i++) {
        const int64_t *field = fields + 5 * i;
        MUST(field[0] > 0 && field[3] >= behind && field[4] >= field[3] && field[4] <= clipped(in, in->hi));
        behind = field[4];
        if (field[1] == LEN && kept < MAX_ROWS) {
            lo[kept] = field[3];
            hi[kept++] = field[4];
        }
    }
    lo[kept] = in->lo, hi[kept++] = in->hi; /* and ranges that no hop has given */
    lo[kept] = (int64_t)in->position, hi[kept++] = INT64_MAX;
    try_pick(in, data, lo, hi, kept);
    free(lo), free(hi);
    Py_DECREF(hop);
    return (size_t)skipped;
}

static int sorted(const int64_t *start, const int64_t *duration, size_t rows)
{
    for (size_t i = 1; i < rows; i++)
        if (start[i] < start[i - 1] || (start[i] == start[i - 1] && duration[i] > duration[i - 1]))
            return 0;
    return 1;
}

static void try_nest(const int64_t *start, const int64_t *duration, size_t rows)
{
    int64_t *s = block(start, rows * 8), *d = block(duration, rows * 8);
    uint8_t *lanes = block(NULL, rows);
    Py_DECREF(call("nest", "(NNN)", view(s, rows * 8), view(d, rows * 8), view(lanes, rows)));
    int64_t until[MAX_LANES];
    for (int i = 0; i < MAX_LANES; i++)
        until[i] = INT64_MIN;
    int in_order = sorted(s, d, rows);
    for (size_t i = 0; i < rows; i++) {
        MUST(lanes[i] < MAX_LANES);
        int64_t end = d[i] > 0 ? (d[i] > INT64_MAX - (s[i] > 0 ? s[i] : 0) ? INT64_MAX : s[i] + d[i]) : s[i];
        MUST(!in_order || lanes[i] == MAX_LANES - 1 || until[lanes[i]] <= s[i]); /* nothing overlaps within a lane */
        until[lanes[i]] = end;
    }
    free(s), free(d), free(lanes);
}

static void try_stats(const Input *in, PyObject *data, const uint64_t *positions, size_t rows)
{
    size_t cells = rows * 4;
    void *at = block(positions, rows * 8), *ids = block(in->ids, sizeof in->ids);
    uint8_t *kind = block(NULL, cells);
    int64_t *bits = block(NULL, cells * 8), *end = block(NULL, cells * 8);
    Py_DECREF(call("scan_stats", "(ONNNNN)", data, view(at, rows * 8), view(ids, sizeof in->ids), view(kind, cells),
                   view(bits, cells * 8), view(end, cells * 8)));
    for (size_t i = 0; i < cells; i++) {
        MUST(kind[i] == 0 || (kind[i] >= 2 && kind[i] <= 7));
        MUST(!end[i] || (0 <= bits[i] && bits[i] <= end[i] && end[i] <= (int64_t)in->size));
    }
    for (size_t i = rows > 3 ? rows - 3 : 0; i < rows; i++)
        Py_DECREF(call("event_stats", "(OL)", data, (long long)positions[i]));
    free(at), free(ids), free(kind), free(bits), free(end);
}

/* ── events in lanes ───────────────────────────────────────────────────────────────────────────────────── */

/* Start, duration, name and place of so many events. `wide` places take 64 bits. */
typedef struct {
    int64_t *start, *duration;
    uint32_t *name;
    uint8_t *place;
    size_t rows, wide;
} Columns;

static Columns columns_of(size_t rows, size_t wide)
{
    Columns made = {block(NULL, rows * 8), block(NULL, rows * 8), block(NULL, rows * 4), block(NULL, rows * wide), rows, wide};
    return made;
}

static void drop(Columns *columns)
{
    free(columns->start), free(columns->duration), free(columns->name), free(columns->place);
}

#define FOUR(columns)                                                                                                             \
    view((columns).start, (columns).rows * 8), view((columns).duration, (columns).rows * 8),                                      \
        view((columns).name, (columns).rows * 4), view((columns).place, (columns).rows * (columns).wide)

/* The line as scan_lanes and move_lanes make it, piece after piece, against scan_events and nest. */
static void try_lanes(const Input *in, PyObject *data, size_t rows, const int64_t *start, const int64_t *duration,
                      const uint32_t *id, size_t whole)
{
    size_t wide = in->skip & 2 ? 8 : 4, used = 0, at = 0;
    rows = rows < MAX_ROWS ? rows : MAX_ROWS;
    Columns out = columns_of(in->skip & 8 ? rows / 2 : rows, wide), all = columns_of(rows, wide);
    uint32_t table[NAMES];
    for (uint32_t i = 0; i < NAMES; i++)
        table[i] = in->ids[0] >= 0 && i == (uint32_t)in->ids[0] ? UINT32_MAX : i * 3; /* one of them has no name */
    uint32_t *names = block(table, sizeof table);
    int64_t *state = block(NULL, STATE * 8);
    uint8_t *lanes = block(NULL, rows);
    state[STATE - 1] = INT64_MIN;
    long long place = clipped(in, in->lo), stop = clipped(in, in->hi);
    while (place >= 0 && place < stop) {
        Columns aside = columns_of(PIECE, wide);
        uint8_t *lane = block(NULL, PIECE);
        PyObject *scan = call("scan_lanes", "(OLLLLLLNNNNNNNNNNN)", data, place, in->hi, (long long)(in->skip & 4), in->base,
                              -LIMIT_PS, LIMIT_PS, view(names, sizeof table), view(state, STATE * 8), view(lane, PIECE),
                              FOUR(aside), FOUR(out));
        long long put = item(scan, 0), next = item(scan, 1);
        Py_DECREF(scan);
        MUST(put >= 0 && put <= PIECE && next >= -1 && next <= stop && (size_t)put + used <= rows);
        MUST(next < 0 || next > place || put == PIECE);
        for (long long i = 0; i < put; i++, used++) {
            MUST(lane[i] > 0 && lane[i] < MAX_LANES);
            lanes[used] = lane[i];
            all.start[used] = aside.start[i], all.duration[used] = aside.duration[i], all.name[used] = aside.name[i];
            memcpy(all.place + used * wide, aside.place + (size_t)i * wide, wide);
        }
        drop(&aside);
        free(lane);
        place = next > place ? next : next < 0 ? -1 : place;
        if (next >= 0 && next <= place && put < PIECE)
            break;
    }
    if (place >= 0 && state[2 * MAX_LANES + 1] > 0 && out.rows == rows) { /* read to its end: each row to its lane */
        int64_t *cursor = block(NULL, MAX_LANES * 8), first[MAX_LANES], count = state[2 * MAX_LANES + 1];
        MUST((size_t)count <= rows);
        for (int64_t i = 0, sum = 0; i < MAX_LANES; sum += state[MAX_LANES + i++])
            first[i] = cursor[i] = sum;
        all.rows = used;
        out.rows = (size_t)count;
        Py_DECREF(call("move_lanes", "(NNNNNNNNNN)", view(lanes, used), FOUR(all), view(cursor, MAX_LANES * 8), FOUR(out)));
        if (whole == (size_t)count) { /* scan_events has read the same: every event lies where nest() puts it */
            int64_t *s = block(start, whole * 8), *d = block(duration, whole * 8);
            uint8_t *nested = block(NULL, whole);
            Py_DECREF(call("nest", "(NNN)", view(s, whole * 8), view(d, whole * 8), view(nested, whole)));
            for (size_t i = 0; i < whole; i++, at++) {
                int64_t row = first[nested[i]]++;
                MUST(out.start[row] == s[i] && out.duration[row] == d[i] && out.name[row] == id[i] * 3);
            }
            free(s), free(d), free(nested);
        }
        free(cursor);
    }
    drop(&out), drop(&all);
    free(names), free(state), free(lanes);
}

/* ── columns ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Sums and longest events by blocks, against one look at every row. */
static void try_blocks(const Input *in, const int64_t *duration, size_t rows)
{
    size_t blocks = rows / BLOCK + (rows % BLOCK > 0), groups = blocks / FAN + (blocks % FAN > 0), levels = 0;
    while (groups && (size_t)1 << levels <= groups)
        levels++;
    int64_t *d = block(duration, rows * 8), *sum = block(NULL, blocks * 8), *before = block(NULL, (blocks + 1) * 8);
    uint8_t *top = block(NULL, blocks);
    Py_DECREF(call("blocks", "(NNN)", view(d, rows * 8), view(sum, blocks * 8), view(top, blocks)));
    for (size_t i = 0; i < blocks; i++)
        before[i + 1] = (int64_t)((uint64_t)before[i] + (uint64_t)sum[i]);
    int32_t *table = block(NULL, levels * groups * 4);
#define LONGER(a, b) ((b) >= 0 && d[(b) * BLOCK + top[b]] > d[(a) * BLOCK + top[a]] ? (b) : (a))
    for (size_t group = 0; group < groups; group++) {
        int32_t best = (int32_t)(group * FAN);
        for (size_t i = group * FAN; i < blocks && i < (group + 1) * FAN; i++)
            best = LONGER(best, (int32_t)i);
        table[group] = best;
    }
    for (size_t level = 1; level < levels; level++)
        for (size_t group = 0; group < groups; group++) {
            size_t half = (size_t)1 << (level - 1), other = group + half;
            int32_t near = table[(level - 1) * groups + group];
            table[level * groups + group] = other < groups ? LONGER(near, table[(level - 1) * groups + other]) : near;
        }
    enum { ASKED = 6 };
    int64_t lo[ASKED], hi[ASKED], at[ASKED];
    size_t asked = rows ? ASKED : 0;
    for (size_t i = 0; i < asked; i++) {
        uint64_t a = (in->position >> 8 * i) % rows, b = (in->position >> (8 * i + 3)) % rows;
        lo[i] = (int64_t)(a < b ? a : b);
        hi[i] = i ? (int64_t)(a < b ? b : a) + 1 : (int64_t)rows; /* the first as far as it goes */
        at[i] = hi[i];
    }
    int64_t *row = block(NULL, asked * 8), *total = block(NULL, asked * 8);
    int64_t *ends = block(NULL, 2 * asked * 8), *none = block(NULL, 2 * asked * 8), *edges = block(NULL, 16);
    for (size_t i = 0; i < asked; i++)
        ends[2 * i] = lo[i], ends[2 * i + 1] = hi[i];
    /* a cell for each range, over whose edges no event reaches: its longest event covers most of it */
    Py_DECREF(call("dominant", "(NNNNNNNN)", view(d, rows * 8), view(top, blocks), view(table, levels * groups * 4),
                   view(edges, 16), view(ends, 2 * asked * 8), view(none, 2 * asked * 8), view(none, 2 * asked * 8),
                   view(row, asked * 8)));
    free(ends), free(none), free(edges);
    int64_t *places = block(at, asked * 8);
    Py_DECREF(call("sums", "(NNNN)", view(d, rows * 8), view(before, (blocks + 1) * 8), view(places, asked * 8),
                   view(total, asked * 8)));
    for (size_t i = 0; i < asked; i++) {
        int64_t best = lo[i];
        uint64_t all = 0;
        for (int64_t k = 0; k < hi[i]; k++) {
            best = k > lo[i] && d[k] > d[best] ? k : best;
            all += (uint64_t)d[k];
        }
        MUST(row[i] == (d[best] < 0 ? -1 : best) && total[i] == (int64_t)all);
    }
    free(d), free(sum), free(before), free(top), free(table), free(row), free(total), free(places);
}

static void try_ends(const uint32_t *names, size_t rows)
{
    enum { MANY = 256 };
    uint32_t *name = block(NULL, rows * 4);
    int64_t *first = block(NULL, MANY * 8), *last = block(NULL, MANY * 8);
    memset(first, 255, MANY * 8);
    memset(last, 255, MANY * 8);
    for (size_t i = 0; i < rows; i++)
        name[i] = names[i] % MANY;
    Py_DECREF(call("ends", "(NNN)", view(name, rows * 4), view(first, MANY * 8), view(last, MANY * 8)));
    for (size_t i = 0; i < rows; i++)
        MUST(first[name[i]] <= (int64_t)i && last[name[i]] >= (int64_t)i && name[first[name[i]]] == name[i]);
    free(name), free(first), free(last);
}

/* The union of every event but each third, with and without a column of their ends: the same. */
static void try_chosen(const int64_t *start, const int64_t *duration, const int64_t *from, const int64_t *to, size_t rows)
{
    uint8_t *chosen = block(NULL, rows);
    int64_t *first = block(NULL, rows * 8), *last = block(NULL, rows * 8);
    size_t count = 0;
    for (size_t i = 0; i < rows; i++)
        if ((chosen[i] = (uint8_t)(i % 3))) {
            first[count] = from[i];
            last[count++] = to[i];
        }
    int64_t *ascending = block(first, count * 8), *ends = block(last, count * 8);
    int64_t *begins = block(start, rows * 8), *lengths = block(duration, rows * 8);
    PyObject *united = call("united", "(NNi)", view(ascending, count * 8), view(ends, count * 8), 0);
    PyObject *same = call("united_events", "(NNNi)", view(begins, rows * 8), view(lengths, rows * 8), view(chosen, rows), 0);
    MUST(PyObject_RichCompareBool(united, same, Py_EQ) == 1);
    uint16_t *kinds = block(NULL, 512);
    kinds[1] = 1 << 3, kinds[2] = 1 << 3 | 1 << 15;
    PyObject *by_kind = call("united_kinds", "(NNNN)", view(begins, rows * 8), view(lengths, rows * 8), view(chosen, rows), view(kinds, 512));
    MUST(PyObject_RichCompareBool(PyList_GetItem(by_kind, 3), same, Py_EQ) == 1);
    Py_DECREF(united), Py_DECREF(same), Py_DECREF(by_kind);
    free(kinds), free(chosen), free(first), free(last), free(ascending), free(ends), free(begins), free(lengths);
}

/* Unions come out apart and ascending, and hold what went in; places in them are those that a look at each gives. */
static void try_stretches(const int64_t *start, const int64_t *duration, size_t rows)
{
    size_t asked = rows < 64 ? rows : 64;
    int64_t *from = block(start, rows * 8), *to = block(NULL, rows * 8), *place = block(NULL, asked * 8);
    for (size_t i = 0; i < rows; i++)
        to[i] = (int64_t)((uint64_t)start[i] + (uint64_t)duration[i]);
    PyObject *united = call("united", "(NNi)", view(from, rows * 8), view(to, rows * 8), 0);
    if (united != Py_None) {
        Py_ssize_t size, again;
        char *bytes, *ends;
        MUST(PyBytes_AsStringAndSize(PyTuple_GetItem(united, 0), &bytes, &size) == 0);
        MUST(PyBytes_AsStringAndSize(PyTuple_GetItem(united, 1), &ends, &again) == 0 && size == again);
        size_t count = (size_t)size / 8;
        int64_t *first = block(bytes, (size_t)size), *last = block(ends, (size_t)size), *before = block(NULL, (size_t)size + 8);
        for (size_t i = 0; i < count; i++) {
            MUST(first[i] < last[i] && (!i || last[i - 1] < first[i]));
            before[i + 1] = (int64_t)((uint64_t)before[i] + (uint64_t)last[i] - (uint64_t)first[i]);
        }
        int64_t *moments = block(from, asked * 8), *covered = block(NULL, asked * 8);
        Py_DECREF(call("ranks", "(NNiN)", view(first, count * 8), view(moments, asked * 8), 1, view(place, asked * 8)));
        Py_DECREF(call("covered", "(NNNNN)", view(first, count * 8), view(last, count * 8), view(before, count * 8 + 8),
                       view(moments, asked * 8), view(covered, asked * 8)));
        for (size_t i = 0; i < asked; i++) {
            MUST(place[i] >= 0 && (size_t)place[i] <= count && (!place[i] || first[place[i] - 1] <= moments[i]));
            MUST((size_t)place[i] == count || first[place[i]] > moments[i]);
            MUST(to[i] <= from[i] || (place[i] && last[place[i] - 1] >= to[i]));
        }
        free(first), free(last), free(before), free(moments), free(covered);
    }
    Py_DECREF(united);
    try_chosen(start, duration, from, to, rows);
    free(from), free(to), free(place);
}

/* What odd events pass on to those inside an even one; codes stay below those that the table has. */
static void try_codes(const int64_t *start, const int64_t *duration, size_t rows)
{
    size_t outer = (rows + 1) / 2, inner = rows / 2;
    int64_t *begins[2] = {block(NULL, outer * 8), block(NULL, inner * 8)}, *lengths[2] = {block(NULL, outer * 8), block(NULL, inner * 8)};
    uint8_t *above = block(NULL, outer), *code = block(NULL, inner), *table = block(NULL, 256);
    for (size_t i = 0; i < rows; i++) {
        begins[i & 1][i / 2] = start[i];
        lengths[i & 1][i / 2] = duration[i];
    }
    for (size_t i = 0; i < outer; i++)
        above[i] = i % 16;
    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)(i >> 4);
    Py_DECREF(call("pass_on", "(NNNNNNN)", view(begins[0], outer * 8), view(lengths[0], outer * 8), view(above, outer),
                   view(begins[1], inner * 8), view(lengths[1], inner * 8), view(table, 256), view(code, inner)));
    for (size_t i = 0; i < inner; i++)
        MUST(code[i] < 16);
    free(begins[0]), free(begins[1]), free(lengths[0]), free(lengths[1]), free(above), free(code), free(table);
}

static void try_events(const Input *in, PyObject *data, size_t rows)
{
    rows = rows < MAX_ROWS ? rows : MAX_ROWS;
    uint32_t *id = block(NULL, rows * 4);
    int64_t *start = block(NULL, rows * 8), *duration = block(NULL, rows * 8);
    uint64_t *position = block(NULL, rows * 8);
    long long at = 0, place = clipped(in, in->lo), stop = clipped(in, in->hi), dropped = 0;
    for (int turns = 0; turns < 8 && place < stop && at < (long long)rows; turns++) {
        PyObject *scan = call("scan_events", "(OLLLNNNNLL)", data, place, in->hi, in->base, view(id, rows * 4),
                              view(start, rows * 8), view(duration, rows * 8), view(position, rows * 8), at, in->limit);
        long long found = item(scan, 0), next = item(scan, 1);
        MUST(found >= 0 && found <= in->limit && at + found <= (long long)rows);
        MUST(next >= place && next <= stop);
        for (Py_ssize_t list = 2; list < 4; list++) {
            const int64_t *numbers = (const int64_t *)(void *)PyBytes_AsString(PyTuple_GetItem(scan, list));
            Py_ssize_t count = PyBytes_Size(PyTuple_GetItem(scan, list)) / 8;
            for (Py_ssize_t i = 0; i < count; i++)
                MUST(numbers[i] >= at && numbers[i] < at + found);
        }
        MUST(PyBytes_Size(PyTuple_GetItem(scan, 3)) == PyBytes_Size(PyTuple_GetItem(scan, 4)));
        MUST(found || next > place || item(scan, 5) == 0);
        dropped += item(scan, 5);
        Py_DECREF(scan);
        at += found;
        place = next;
    }
    uint64_t *positions = block(NULL, ((size_t)at + 2) * 8);
    memcpy(positions, position, (size_t)at * 8);
    positions[at] = in->position;
    positions[at + 1] = in->position % (in->size + 1);
    for (long long i = 0; i < at; i++)
        MUST(position[i] < in->size);
    try_stats(in, data, positions, (size_t)at + 2);
    try_nest(start, duration, (size_t)at);
    try_lanes(in, data, rows, start, duration, id, place >= stop && !dropped ? (size_t)at : SIZE_MAX);
    try_blocks(in, duration, (size_t)at);
    try_ends(id, (size_t)at);
    try_stretches(start, duration, (size_t)at);
    try_codes(start, duration, (size_t)at);
    free(positions), free(id), free(start), free(duration), free(position);
}

/* ── wrong arguments ───────────────────────────────────────────────────────────────────────────────────── */

/* What each function takes, when there are two rows and four of what it is asked for: L a number, d the bytes, 1 4 8 a column
 * of two with so many bytes each, q four numbers, c C a table of four columns with one or eight bytes, s the state of lanes,
 * l a number for each lane, u v x one block's sum, its longest row and a table of one level, U the sums before and behind,
 * t three numbers, k K 256 numbers of two bytes or one. */
static const struct {
    const char *name, *takes;
} FUNCTIONS[] = {
    {"hop", "dLLL"}, {"pick", "d88qcCC"}, {"scan_events", "dLLL4888LL"}, {"stats", "dLLL"}, {"event_stats", "dL"},
    {"scan_stats", "d8qcCC"}, {"nest", "881"}, {"scan_lanes", "dLLLLLL4s188448844"}, {"move_lanes", "18844l8844"},
    {"blocks", "8uv"}, {"sums", "8U88"}, {"dominant", "8vx8888u"}, {"at_edges", "88Uu888qqqq"}, {"rows_at", "88U88888"}, {"ends", "488"}, {"put_numbers", "188188"},
    {"ranks", "88L8"}, {"covered", "88t88"}, {"united", "88L"}, {"united_events", "881L"}, {"united_kinds", "881k"}, {"pass_on", "88188K1"}, {"add_events", "48888LLL888"},
};

enum { SHORT, CROOKED, LONG, NOTHING, WAYS };

/* One function with one argument that is wrong in one way: an error, never a crash. `choice` says which of each. */
static void try_wrong(const Input *in, unsigned choice)
{
    unsigned which = choice % (sizeof FUNCTIONS / sizeof *FUNCTIONS), way = choice / 16 % WAYS;
    const char *takes = FUNCTIONS[which].takes;
    size_t count = strlen(takes), wrong = in->position % count;
    void *memory[24];
    PyObject *arguments = PyTuple_New((Py_ssize_t)count), *function = PyObject_GetAttrString(module, FUNCTIONS[which].name);
    MUST(arguments && function);
    for (size_t i = 0; i < count; i++) {
        size_t size = takes[i] == 'd'   ? in->size
                      : takes[i] == 'q' ? 32
                      : takes[i] == 'c' ? 8
                      : takes[i] == 'C' ? 64
                      : takes[i] == 'L' ? 0
                      : takes[i] == 'k' ? 512
                      : takes[i] == 'K' ? 256
                      : takes[i] == 's' ? STATE * 8
                      : takes[i] == 'l' ? MAX_LANES * 8
                      : takes[i] == 'u' ? 8
                      : takes[i] == 'v' ? 1
                      : takes[i] == 'x' ? 4
                      : takes[i] == 'U' ? 16
                      : takes[i] == 't' ? 24
                                        : 2 * (size_t)(takes[i] - '0');
        uint8_t *copy = memory[i] = block(NULL, size + 8);
        if (takes[i] == 'd')
            memcpy(copy, in->message, size);
        PyObject *argument;
        if (i == wrong && way == NOTHING)
            argument = (Py_INCREF(Py_None), Py_None);
        else if (takes[i] == 'L')
            argument = PyLong_FromLongLong(i == wrong && way == SHORT ? -1 : i == wrong ? (long long)in->position : 0);
        else if (i == wrong && size)
            argument = view(copy + (way == CROOKED), size - (way == SHORT) + (way == LONG));
        else
            argument = view(copy, size);
        MUST(argument && PyTuple_SetItem(arguments, (Py_ssize_t)i, argument) == 0);
    }
    PyObject *result = PyObject_Call(function, arguments, NULL);
    calls++;
    /* numbers and the bytes themselves may be anything; columns may not */
    MUST(result || PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_TypeError) ||
         PyErr_ExceptionMatches(PyExc_IndexError));
    MUST(!result || takes[wrong] == 'L' || takes[wrong] == 'd' || (way == CROOKED && strchr("1cvK", takes[wrong])));
    PyErr_Clear();
    Py_XDECREF(result);
    Py_DECREF(arguments);
    Py_DECREF(function);
    for (size_t i = 0; i < count; i++)
        free(memory[i]);
}

/* Columns of the right length that hold anything at all, as they would if an index were broken: an error at most. */
static void try_garbage(const Input *in)
{
    enum { ROWS = 300, BLOCKS = 19, GROUPS = 5, LEVELS = 3, ASKED = 4 };
    uint8_t noise[ROWS * 8];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = in->size ? in->message[i % in->size] : 0;
    int64_t *duration = block(noise, ROWS * 8), *before = block(noise, (BLOCKS + 1) * 8), *row = block(NULL, ASKED * 8);
    int64_t *lo = block(NULL, ASKED * 8), *hi = block(NULL, ASKED * 8), *cursor = block(NULL, MAX_LANES * 8);
    int64_t *edges = block(noise, 16), *at = block(NULL, 2 * ASKED * 8), *over = block(noise, 2 * ASKED * 8);
    int64_t *guide = block(noise, GROUPS * 8), *made[4];
    for (int i = 0; i < 4; i++)
        made[i] = block(NULL, 2 * ASKED * 8);
    uint8_t *top = block(noise, BLOCKS), *lanes = block(noise, ROWS);
    int32_t *table = block(noise, LEVELS * GROUPS * 4);
    uint32_t *names = block(noise, ROWS * 4);
    for (int i = 0; i < ASKED; i++) {
        lo[i] = (int64_t)(in->position >> 4 * i & 255) - 8;
        hi[i] = lo[i] + (int64_t)(in->position >> 12 * i & 255);
        at[2 * i] = lo[i];
        at[2 * i + 1] = hi[i];
    }
    for (int i = 0; i < MAX_LANES; i++)
        cursor[i] = (int64_t)noise[i] - 4;
    for (int i = 0; i < BLOCKS; i++)
        top[i] &= 31; /* some of them beyond their block, or the last row */
    for (int i = 0; i < LEVELS * GROUPS; i++)
        table[i] = table[i] % 24;
    Columns from = columns_of(ROWS, 4), to = columns_of(ROWS, 8);
    PyObject *arguments[] = {
        Py_BuildValue("(NNNNNNNN)", view(duration, ROWS * 8), view(top, BLOCKS), view(table, LEVELS * GROUPS * 4),
                      view(edges, 16), view(at, 2 * ASKED * 8), view(over, 2 * ASKED * 8), view(over, 2 * ASKED * 8),
                      view(row, ASKED * 8)),
        Py_BuildValue("(NNNNNNNNNNN)", view(duration, ROWS * 8), view(duration, ROWS * 8), view(before, (BLOCKS + 1) * 8),
                      view(guide, GROUPS * 8), view(lo, ASKED * 8), view(hi, ASKED * 8), view(edges, 16),
                      view(made[0], 2 * ASKED * 8), view(made[1], 2 * ASKED * 8), view(made[2], 2 * ASKED * 8),
                      view(made[3], 2 * ASKED * 8)),
        Py_BuildValue("(NNNNNNNN)", view(duration, ROWS * 8), view(duration, ROWS * 8), view(before, (BLOCKS + 1) * 8),
                      view(lo, ASKED * 8), view(hi, ASKED * 8), view(over, 2 * ASKED * 8), view(made[0], 2 * ASKED * 8),
                      view(made[1], 2 * ASKED * 8)),
        Py_BuildValue("(NNNN)", view(duration, ROWS * 8), view(before, (BLOCKS + 1) * 8), view(hi, ASKED * 8),
                      view(row, ASKED * 8)),
        Py_BuildValue("(NNN)", view(names, ROWS * 4), view(lo, ASKED * 8), view(hi, ASKED * 8)),
        Py_BuildValue("(NNNNNNNNNN)", view(lanes, ROWS), FOUR(from), view(cursor, MAX_LANES * 8), FOUR(to)),
    };
    static const char *const called[] = {"dominant", "at_edges", "rows_at", "sums", "ends", "move_lanes"};
    for (size_t i = 0; i < sizeof called / sizeof *called; i++) {
        PyObject *function = PyObject_GetAttrString(module, called[i]);
        MUST(function && arguments[i]);
        PyObject *result = PyObject_Call(function, arguments[i], NULL);
        calls++;
        MUST(result || PyErr_ExceptionMatches(PyExc_IndexError) || PyErr_ExceptionMatches(PyExc_ValueError));
        PyErr_Clear();
        Py_XDECREF(result);
        Py_DECREF(function);
        Py_DECREF(arguments[i]);
    }
    drop(&from), drop(&to);
    for (int i = 0; i < 4; i++)
        free(made[i]);
    free(edges), free(at), free(over), free(guide);
    free(duration), free(before), free(row), free(lo), free(hi), free(cursor), free(top), free(lanes), free(table), free(names);
}

static void try_all(const Input *in)
{
    void *message = block(in->message, in->size);
    PyObject *data = view(message, in->size);
    try_hop(in, data, in->skip);
    try_events(in, data, try_hop(in, data, 4) + (in->skip & 1));
    Py_DECREF(call("stats", "(OLLL)", data, in->lo, in->hi, in->skip ? in->skip : 6LL));
    size_t rows = in->size / 16;
    int64_t *pairs = block(in->message, rows * 16); /* the message as times, in order and then as they come */
    try_nest(pairs, pairs + rows, rows);
    try_blocks(in, pairs, 2 * rows);
    Py_DECREF(data);
    free(pairs), free(message);
}

/* ── libFuzzer's entry points ──────────────────────────────────────────────────────────────────────────── */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void tell(void)
{
    fprintf(stderr, "%llu inputs, %llu calls of the scanner\n", inputs, calls);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    setenv("PYTHONMALLOC", "malloc", 1); /* every object in a block that the sanitizer watches */
    MUST(PyImport_AppendInittab("_scan", PyInit__scan) == 0);
    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    config.site_import = 0;
    config.install_signal_handlers = 0;
    PyStatus status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status))
        Py_ExitStatusException(status);
    module = PyImport_ImportModule("_scan");
    MUST(module);
    atexit(tell);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEADER)
        return -1; /* not worth keeping */
    Input in = read_input(data, size);
    inputs++;
    try_all(&in);
    if (data[0] == 255)
        try_garbage(&in);
    else if (data[0])
        try_wrong(&in, data[0] - 1u);
    MUST(!PyErr_Occurred());
    return 0;
}

#ifdef STANDALONE
int main(int argc, char **argv)
{
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        MUST(file);
        MUST(fseek(file, 0, SEEK_END) == 0);
        long size = ftell(file);
        MUST(size >= 0);
        rewind(file);
        uint8_t *data = block(NULL, (size_t)size);
        MUST(fread(data, 1, (size_t)size, file) == (size_t)size);
        fclose(file);
        LLVMFuzzerTestOneInput(data, (size_t)size);
        free(data);
    }
    printf("%d inputs, no finding\n", argc - 1);
    return 0;
}
#endif
