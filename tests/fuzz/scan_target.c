/* What libFuzzer calls: every function of scan.c on one input, through a real interpreter, as powertui calls them.
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

enum { HEADER = 32, MAX_ROWS = 4096, MAX_LANES = 255, LEN = 2 };

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

static void try_events(const Input *in, PyObject *data, size_t rows)
{
    rows = rows < MAX_ROWS ? rows : MAX_ROWS;
    uint32_t *id = block(NULL, rows * 4);
    int64_t *start = block(NULL, rows * 8), *duration = block(NULL, rows * 8);
    uint64_t *position = block(NULL, rows * 8);
    long long at = 0, place = clipped(in, in->lo), stop = clipped(in, in->hi);
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
    free(positions), free(id), free(start), free(duration), free(position);
}

/* ── wrong arguments ───────────────────────────────────────────────────────────────────────────────────── */

/* What each function takes, when there are two rows and four of what it is asked for: L a number, d the bytes, 1 4 8 a column
 * of two with so many bytes each, q four numbers, c C a table of four columns with one or eight bytes. */
static const struct {
    const char *name, *takes;
} FUNCTIONS[] = {
    {"hop", "dLLL"}, {"pick", "d88qcCC"}, {"scan_events", "dLLL4888LL"}, {"stats", "dLLL"}, {"event_stats", "dL"},
    {"scan_stats", "d8qcCC"}, {"nest", "881"},
};

enum { SHORT, CROOKED, LONG, NOTHING, WAYS };

/* One function with one argument that is wrong in one way: an error, never a crash. `choice` says which of each. */
static void try_wrong(const Input *in, unsigned choice)
{
    unsigned which = choice % (sizeof FUNCTIONS / sizeof *FUNCTIONS), way = choice / 16 % WAYS;
    const char *takes = FUNCTIONS[which].takes;
    size_t count = strlen(takes), wrong = in->position % count;
    void *memory[16];
    PyObject *arguments = PyTuple_New((Py_ssize_t)count), *function = PyObject_GetAttrString(module, FUNCTIONS[which].name);
    MUST(arguments && function);
    for (size_t i = 0; i < count; i++) {
        size_t size = takes[i] == 'd'   ? in->size
                      : takes[i] == 'q' ? 32
                      : takes[i] == 'c' ? 8
                      : takes[i] == 'C' ? 64
                      : takes[i] == 'L' ? 0
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
    /* numbers and the bytes themselves may be anything; columns may not */
    MUST(result || PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_TypeError));
    MUST(!result || takes[wrong] == 'L' || takes[wrong] == 'd' || (way == CROOKED && strchr("1c", takes[wrong])));
    PyErr_Clear();
    Py_XDECREF(result);
    Py_DECREF(arguments);
    Py_DECREF(function);
    for (size_t i = 0; i < count; i++)
        free(memory[i]);
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
    Py_DECREF(data);
    free(pairs), free(message);
}

/* ── libFuzzer's entry points ──────────────────────────────────────────────────────────────────────────── */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEADER)
        return -1; /* not worth keeping */
    Input in = read_input(data, size);
    try_all(&in);
    if (data[0])
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
