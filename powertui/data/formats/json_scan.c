/* Events of a JSON trace, compiled: one walk over the text, a row of numbers for each event.
 *
 * Only what is written plainly is taken: an object with known members in any order, numbers without exponents, times with at most six
 * decimals, strings, arguments of any shape. Everything else ends the walk with the place where it stands, and Python reads that one
 * item as it reads all of them where there is no compiler. So both ways give the same events.
 *
 * The bytes come from files that nobody vouches for: every read is checked against the end of the text, nothing recurses, and sums are
 * checked before they are made. Loops run without the GIL. Plain C99 on Python's limited API; no assumption about byte order,
 * alignment, the sign of char or the page size.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 64, NONE = -1 };
/* Why a walk ended: the text is over in the middle, an item that Python has to read, the list is over, no room for another row. */
enum { MORE = 0, ODD = 1, END = 2, FULL = 3, NO_MEMORY = 4 };

/* ── texts, each once ──────────────────────────────────────────────────────────────────────────────────── */

typedef struct {
    uint64_t hash;
    int64_t at; /* in the arena */
    int32_t size;
    int32_t number;
} Slot;

typedef struct {
    Slot *slots;
    int64_t room; /* a power of two */
    int64_t count;
    uint8_t *arena;
    int64_t used, held;
    int64_t *starts; /* of each text in the arena, by number */
    int64_t starts_room;
    int busy;
} Texts;

static void texts_free(Texts *texts)
{
    if (texts) {
        free(texts->slots);
        free(texts->arena);
        free(texts->starts);
        free(texts);
    }
}

static uint64_t hash_of(const uint8_t *text, int64_t size, uint64_t hash)
{
    while (size >= 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
        text += 8;
        size -= 8;
    }
    for (; size > 0; size--)
        hash = (hash ^ *text++) * UINT64_C(0x100000001B3);
    return hash ^ hash >> 32;
}

static int texts_grow(Texts *texts)
{
    int64_t room = texts->room ? texts->room * 2 : 1024;
    Slot *slots = calloc((size_t)room, sizeof(Slot));
    if (!slots)
        return 0;
    for (int64_t i = 0; i < texts->room; i++)
        if (texts->slots[i].number) {
            int64_t at = (int64_t)(texts->slots[i].hash & (uint64_t)(room - 1));
            while (slots[at].number)
                at = (at + 1) & (room - 1);
            slots[at] = texts->slots[i];
        }
    free(texts->slots);
    texts->slots = slots;
    texts->room = room;
    return 1;
}

/* The number of this text, a new one when it is new; NONE without memory. */
static int32_t texts_number(Texts *texts, const uint8_t *text, int64_t size)
{
    if (2 * (texts->count + 1) > texts->room && !texts_grow(texts))
        return NONE;
    uint64_t hash = hash_of(text, size, (uint64_t)size);
    int64_t at = (int64_t)(hash & (uint64_t)(texts->room - 1));
    for (; texts->slots[at].number; at = (at + 1) & (texts->room - 1)) {
        const Slot *slot = &texts->slots[at];
        if (slot->hash == hash && slot->size == size && !memcmp(texts->arena + slot->at, text, (size_t)size))
            return slot->number - 1;
    }
    if (size > INT32_MAX || texts->count >= INT32_MAX - 1)
        return NONE;
    if (texts->used + size > texts->held) {
        int64_t held = 2 * (texts->used + size) + 4096;
        uint8_t *arena = realloc(texts->arena, (size_t)held);
        if (!arena)
            return NONE;
        texts->arena = arena;
        texts->held = held;
    }
    if (texts->count + 2 > texts->starts_room) {
        int64_t room = 2 * (texts->count + 2) + 256;
        int64_t *starts = realloc(texts->starts, (size_t)room * sizeof(int64_t));
        if (!starts)
            return NONE;
        texts->starts = starts;
        texts->starts_room = room;
    }
    memcpy(texts->arena + texts->used, text, (size_t)size);
    Slot *slot = &texts->slots[at];
    slot->hash = hash;
    slot->at = texts->used;
    slot->size = (int32_t)size;
    texts->starts[texts->count] = texts->used;
    texts->used += size;
    texts->starts[texts->count + 1] = texts->used;
    slot->number = (int32_t)++texts->count;
    return slot->number - 1;
}

/* ── tokens ────────────────────────────────────────────────────────────────────────────────────────────── */

typedef struct {
    const uint8_t *at;
    const uint8_t *end;
    int status; /* MORE or ODD once something failed */
} Text;

typedef struct {
    const uint8_t *lo;
    const uint8_t *hi;
} Span;

static int fail(Text *text, int status)
{
    text->status = status;
    return 0;
}

static inline void skip_space(Text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\n' || *text->at == '\r' || *text->at == '\t'))
        text->at++;
}

static inline int peek(Text *text)
{
    skip_space(text);
    return text->at < text->end ? *text->at : fail(text, MORE);
}

/* The next quote or backslash, else the end: eight bytes at a time, since most strings are too short for a call of memchr. */
static inline const uint8_t *to_mark(const uint8_t *p, const uint8_t *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = UINT64_C(0x8080808080808080);
    while (end - p >= 8) {
        uint64_t word, quote, back;
        memcpy(&word, p, 8);
        quote = word ^ ones * '"';
        back = word ^ ones * '\\';
        if ((((quote - ones) & ~quote) | ((back - ones) & ~back)) & tops) /* one of the bytes is 0 now */
            break;
        p += 8;
    }
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}

/* A string: `span` is what stands between the quotes, escapes as they are written. Which escapes are right, Python knows when it
 * decodes; an escape that is none of JSON's makes the item odd. */
static int take_string(Text *text, Span *span)
{
    const uint8_t *p = text->at + 1;
    span->lo = p;
    for (;;) {
        const uint8_t *back = to_mark(p, text->end);
        if (back == text->end)
            return fail(text, MORE);
        if (*back == '"') {
            span->hi = back;
            text->at = back + 1;
            return 1;
        }
        if (text->end - back < 6)
            return fail(text, MORE);
        if (back[1] == 'u') {
            for (int i = 2; i < 6; i++)
                if (!((back[i] >= '0' && back[i] <= '9') || ((back[i] | 32) >= 'a' && (back[i] | 32) <= 'f')))
                    return fail(text, ODD);
            p = back + 6;
        } else if (memchr("\"\\/bfnrt", back[1], 8)) {
            p = back + 2;
        } else {
            return fail(text, ODD);
        }
    }
}

static inline int is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* A number or a word: what Python's json takes. */
static int take_scalar(Text *text, Span *span)
{
    static const char *const words[] = {"true", "false", "null", "NaN", "Infinity", "-Infinity"};
    const uint8_t *p = text->at, *end = text->end;
    span->lo = p;
    while (p < end && (is_digit(*p) || ((*p | 32) >= 'a' && (*p | 32) <= 'z') || *p == '-' || *p == '+' || *p == '.'))
        p++;
    if (p == end)
        return fail(text, MORE);
    span->hi = p;
    text->at = p;
    size_t size = (size_t)(p - span->lo);
    p = span->lo;
    p += p < span->hi && *p == '-';
    for (size_t i = 0; !(p < span->hi && is_digit(*p)) && i < sizeof words / sizeof *words; i++)
        if (size == strlen(words[i]) && !memcmp(span->lo, words[i], size))
            return 1;
    if (p == span->hi || !is_digit(*p))
        return fail(text, ODD);
    if (*p == '0' && p + 1 < span->hi && is_digit(p[1]))
        return fail(text, ODD);
    while (p < span->hi && is_digit(*p))
        p++;
    if (p < span->hi && *p == '.') {
        p++;
        if (p == span->hi || !is_digit(*p))
            return fail(text, ODD);
        while (p < span->hi && is_digit(*p))
            p++;
    }
    if (p < span->hi && (*p | 32) == 'e') {
        p++;
        p += p < span->hi && (*p == '-' || *p == '+');
        if (p == span->hi || !is_digit(*p))
            return fail(text, ODD);
        while (p < span->hi && is_digit(*p))
            p++;
    }
    if (p != span->hi || span->hi - span->lo > 300) /* thousands of digits are refused by Python */
        return fail(text, ODD);
    return 1;
}

/* Any value, looked at so far as to know that Python would take it. */
static int take_value(Text *text, Span *span)
{
    uint8_t open[DEPTH];
    int depth = 0, first = peek(text);
    Span inner;
    if (text->status != NONE)
        return 0;
    span->lo = text->at;
    if (first == '"') {
        int fine = take_string(text, &inner);
        span->hi = text->at;
        return fine;
    }
    if (first != '{' && first != '[')
        return take_scalar(text, span);
    for (int value = 1;;) { /* a value is due, or what follows one */
        int c = peek(text);
        if (text->status != NONE)
            return 0;
        if (value && (c == '{' || c == '[')) {
            if (depth == DEPTH)
                return fail(text, ODD);
            open[depth++] = (uint8_t)c;
            text->at++;
            c = peek(text);
            if (text->status != NONE)
                return 0;
            if (c == '}' || c == ']') {
                value = 0;
                continue;
            }
        } else if (value) {
            if (!(c == '"' ? take_string(text, &inner) : take_scalar(text, &inner)))
                return 0;
            value = 0;
            continue;
        } else if (c == ',') {
            text->at++;
            c = peek(text);
            if (text->status != NONE)
                return 0;
        } else if ((c == '}' && open[depth - 1] == '{') || (c == ']' && open[depth - 1] == '[')) {
            text->at++;
            if (!--depth) {
                span->hi = text->at;
                return 1;
            }
            continue;
        } else {
            return fail(text, ODD);
        }
        value = 1;
        if (open[depth - 1] == '{') { /* a key first */
            if (c != '"')
                return fail(text, ODD);
            if (!take_string(text, &inner))
                return 0;
            if (peek(text) != ':')
                return text->status == NONE ? fail(text, ODD) : 0;
            text->at++;
        }
    }
}

/* A time in µs as whole µs and ps; 0 when it is not written plainly. */
static int take_time(const Span *span, int64_t *us, int32_t *ps)
{
    const uint8_t *p = span->lo;
    int minus = p < span->hi && *p == '-';
    p += minus;
    int64_t whole = 0;
    int32_t part = 0;
    const uint8_t *begin = p;
    while (p < span->hi && is_digit(*p) && p - begin < 18)
        whole = whole * 10 + (*p++ - '0');
    if (p == begin || p - begin > 17)
        return 0;
    if (p < span->hi && *p == '.') {
        int digits = 0;
        for (p++; p < span->hi && is_digit(*p) && digits < 6; digits++)
            part = part * 10 + (*p++ - '0');
        if (!digits)
            return 0;
        for (; digits < 6; digits++)
            part *= 10;
    }
    if (p != span->hi)
        return 0;
    if (minus) { /* down to the whole µs below */
        whole = -whole - (part > 0);
        part = part > 0 ? 1000000 - part : 0;
    }
    *us = whole;
    *ps = part;
    return 1;
}

/* ── events ────────────────────────────────────────────────────────────────────────────────────────────── */

/* Members and arguments that are kept. Rows of the table of numbers in this order. */
enum { NAME, CAT, PID, TID, DEVICE, STREAM, LONG_NAME, MEMBERS };

typedef struct {
    Py_ssize_t rows, room;
    uint8_t *phase;    /* 0 for an event that says none, or one of several letters */
    int64_t *us;       /* ts: whole µs … */
    int32_t *ps;       /* … and what is left */
    uint8_t *timed;    /* whether it has one */
    int64_t *length;   /* dur in ps */
    int64_t *lo, *hi;  /* the event's text */
    int64_t *args;     /* where its arguments stand; -1 without any */
    int32_t *member;   /* [MEMBERS × room] numbers of texts; NONE where it has none */
    int64_t *id;       /* its id: an integer as it is, a text by a hash */
    uint8_t *bind;     /* what ties it to other events, see below */
} Columns;

/* json_batch.py says the same numbers. */
enum { HAS_ID = 1, ENCLOSING = 2, FLOW_IN = 4, FLOW_OUT = 8 };

static int same(const Span *span, const char *word)
{
    size_t size = strlen(word);
    return (size_t)(span->hi - span->lo) == size && !memcmp(span->lo, word, size);
}

/* A text's number into a column; texts of strings with their quotes, so that 7 and "7" differ. */
static int put(Texts *texts, int32_t *where, const Span *span, Text *text)
{
    if (*where != NONE) /* a member that is there twice: the last one holds, Python knows how */
        return fail(text, ODD);
    *where = texts_number(texts, span->lo, span->hi - span->lo);
    return *where != NONE ? 1 : fail(text, NO_MEMORY);
}

/* The next key of an object and where its value begins: 1, or 0 at the object's end and when something failed. */
static int take_key(Text *text, Span *key, int first)
{
    int c = peek(text);
    if (text->status != NONE)
        return 0;
    if (c == '}') {
        text->at++;
        return 0;
    }
    if (!first) {
        if (c != ',')
            return fail(text, ODD);
        text->at++;
        c = peek(text);
        if (text->status != NONE)
            return 0;
    }
    if (c != '"')
        return fail(text, ODD);
    if (!take_string(text, key))
        return 0;
    if (memchr(key->lo, '\\', (size_t)(key->hi - key->lo))) /* "t\u0073": Python knows */
        return fail(text, ODD);
    if (peek(text) != ':')
        return text->status == NONE ? fail(text, ODD) : 0;
    text->at++;
    peek(text);
    return text->status == NONE;
}

static int take_args(Text *text, Texts *texts, int32_t *numbers, Py_ssize_t room, int64_t *place, const uint8_t *base)
{
    Span key, span;
    const uint8_t *begin = text->at++;
    int first = 1;
    for (; take_key(text, &key, first); first = 0) {
        if (!take_value(text, &span))
            return 0;
        int which = same(&key, "device") ? DEVICE : same(&key, "stream") ? STREAM : same(&key, "long_name") ? LONG_NAME : NONE;
        if (which != NONE && !put(texts, &numbers[which * room], &span, text))
            return 0;
    }
    if (!first)
        *place = begin - base;
    return text->status == NONE;
}

/* HAS_ID and the id, as json_batch.identity has it; 0 for one that is not written plainly. */
static uint8_t take_id(const Span *span, int first, int64_t *id)
{
    const uint8_t *p = span->lo, *end = span->hi;
    if (first == '"') {
        uint64_t code = UINT64_C(0xCBF29CE484222325);
        for (p++, end--; p < end; p++) {
            if (*p == '\\' || *p >= 0x80)
                return 0;
            code = (code ^ *p) * UINT64_C(0x100000001B3);
        }
        memcpy(id, &code, sizeof code);
        return HAS_ID;
    }
    int minus = *p == '-';
    p += minus;
    if (p == end || end - p > 18)
        return 0;
    int64_t whole = 0;
    for (; p < end; p++) {
        if (!is_digit(*p))
            return 0;
        whole = whole * 10 + (*p - '0');
    }
    *id = minus ? -whole : whole;
    return HAS_ID;
}

static int take_event(Text *text, Texts *texts, Columns *to, const uint8_t *base)
{
    Py_ssize_t row = to->rows;
    int32_t *numbers = to->member + row;
    int seen_args = 0, seen_phase = 0, seen_dur = 0;
    for (int k = 0; k < MEMBERS; k++)
        numbers[k * to->room] = NONE;
    to->phase[row] = 0;
    to->us[row] = 0;
    to->ps[row] = 0;
    to->timed[row] = 0;
    to->length[row] = 0;
    to->args[row] = -1;
    to->id[row] = 0;
    to->bind[row] = 0;
    to->lo[row] = text->at - base;
    text->at++;
    Span key, span;
    for (int first = 1; take_key(text, &key, first); first = 0) {
        int c = *text->at;
        if (same(&key, "args") || same(&key, "attr")) { /* IBM's AIU writes the second */
            if (c != '{' || seen_args++)
                return fail(text, ODD);
            if (!take_args(text, texts, numbers, to->room, &to->args[row], base))
                return 0;
            continue;
        }
        if (!take_value(text, &span))
            return 0;
        if (same(&key, "ph")) {
            if (seen_phase++ || span.hi - span.lo != 3 || *span.lo != '"')
                return fail(text, ODD);
            to->phase[row] = span.lo[1];
        } else if (same(&key, "ts")) {
            if (to->timed[row] || !take_time(&span, &to->us[row], &to->ps[row]))
                return fail(text, ODD);
            to->timed[row] = 1;
        } else if (same(&key, "dur")) {
            int64_t us = 0;
            int32_t ps = 0;
            if (seen_dur++ || (!same(&span, "null") && !take_time(&span, &us, &ps)) || us > INT64_C(8000000000000) ||
                us < -INT64_C(8000000000000))
                return fail(text, ODD);
            to->length[row] = us * 1000000 + ps;
        } else if (same(&key, "id") || same(&key, "bind_id")) {
            if (to->bind[row] & HAS_ID)
                return fail(text, ODD);
            uint8_t told = take_id(&span, c, &to->id[row]);
            if (!told && c == '"')
                return fail(text, ODD);
            to->bind[row] |= told;
        } else if (same(&key, "bp")) {
            to->bind[row] = (uint8_t)((to->bind[row] & ~ENCLOSING) | (c == '"' && span.hi - span.lo == 3 && span.lo[1] == 'e' ? ENCLOSING : 0));
        } else if (same(&key, "flow_in") || same(&key, "flow_out")) {
            uint8_t flag = key.hi - key.lo == 7 ? FLOW_IN : FLOW_OUT;
            to->bind[row] = (uint8_t)((to->bind[row] & ~flag) | (same(&span, "true") ? flag : 0));
        } else if (same(&key, "name")) {
            if (c != '"')
                return fail(text, ODD);
            if (!put(texts, &numbers[NAME * to->room], &span, text))
                return 0;
        } else {
            int which = same(&key, "cat") ? CAT : same(&key, "pid") ? PID : same(&key, "tid") ? TID : NONE;
            if (which != NONE && !put(texts, &numbers[which * to->room], &span, text))
                return 0;
        }
    }
    if (text->status != NONE)
        return 0;
    to->hi[row] = text->at - base;
    to->rows++;
    return 1;
}

/* Events of a list from `at` on. `at` comes back as the first byte that was not used. */
static int walk(Texts *texts, const uint8_t *data, int64_t *at, int64_t size, Columns *to)
{
    for (;;) {
        Text text = {data + *at, data + size, NONE};
        while (text.at < text.end && (*text.at == ' ' || *text.at == '\n' || *text.at == '\r' || *text.at == '\t' || *text.at == ','))
            text.at++;
        *at = text.at - data;
        if (text.at == text.end)
            return MORE;
        if (*text.at == ']')
            return END;
        if (*text.at != '{')
            return ODD;
        if (to->rows == to->room)
            return FULL;
        if (!take_event(&text, texts, to, data))
            return text.status;
        *at = text.at - data;
    }
}

/* ── Python ────────────────────────────────────────────────────────────────────────────────────────────── */

static const char CAPSULE[] = "powertui.texts";

static void capsule_free(PyObject *capsule)
{
    texts_free(PyCapsule_GetPointer(capsule, CAPSULE));
}

static PyObject *new_texts(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    Texts *texts = calloc(1, sizeof(Texts));
    if (!texts)
        return PyErr_NoMemory();
    PyObject *capsule = PyCapsule_New(texts, CAPSULE, capsule_free);
    if (!capsule)
        texts_free(texts);
    return capsule;
}

static PyObject *texts_from(PyObject *self, PyObject *args)
{
    PyObject *capsule;
    long long from;
    (void)self;
    if (!PyArg_ParseTuple(args, "OL", &capsule, &from))
        return NULL;
    Texts *texts = PyCapsule_GetPointer(capsule, CAPSULE);
    if (!texts)
        return NULL;
    if (texts->busy || from < 0 || from > texts->count) {
        PyErr_SetString(PyExc_ValueError, "no such text");
        return NULL;
    }
    PyObject *list = PyList_New((Py_ssize_t)(texts->count - from));
    for (int64_t i = from; list && i < texts->count; i++) {
        PyObject *one =
            PyBytes_FromStringAndSize((const char *)texts->arena + texts->starts[i], (Py_ssize_t)(texts->starts[i + 1] - texts->starts[i]));
        if (!one || PyList_SetItem(list, (Py_ssize_t)(i - from), one) < 0) {
            Py_CLEAR(list);
            break;
        }
    }
    return list;
}

/* The value of one argument of many events: of each object that begins at starts[i] the last member of this name. */
static void find_values(const uint8_t *data, int64_t size, const int64_t *starts, Py_ssize_t rows, const Span *name, int64_t *lo, int64_t *hi)
{
    for (Py_ssize_t i = 0; i < rows; i++) {
        lo[i] = hi[i] = -1;
        if (starts[i] < 0 || starts[i] >= size || data[starts[i]] != '{')
            continue;
        Text text = {data + starts[i] + 1, data + size, NONE};
        Span key, span;
        for (int first = 1; take_key(&text, &key, first) && take_value(&text, &span); first = 0)
            if (key.hi - key.lo == name->hi - name->lo && !memcmp(key.lo, name->lo, (size_t)(key.hi - key.lo))) {
                lo[i] = span.lo - data;
                hi[i] = span.hi - data;
            }
        if (text.status == MORE)
            lo[i] = hi[i] = -2; /* the text ends within it */
    }
}

static PyObject *values(PyObject *self, PyObject *args)
{
    Py_buffer views[5];
    PyObject *result = NULL;
    (void)self;
    memset(views, 0, sizeof views);
    if (!PyArg_ParseTuple(args, "y*y*y*w*w*", &views[0], &views[1], &views[2], &views[3], &views[4]))
        goto done;
    for (int k = 2; k < 5; k++)
        if (views[k].len != views[2].len || views[k].len % 8 || (uintptr_t)views[k].buf % 8) {
            PyErr_SetString(PyExc_ValueError, "columns of different lengths");
            goto done;
        }
    Span name = {views[1].buf, (const uint8_t *)views[1].buf + views[1].len};
    Py_BEGIN_ALLOW_THREADS
    find_values(views[0].buf, views[0].len, views[2].buf, views[2].len / 8, &name, views[3].buf, views[4].buf);
    Py_END_ALLOW_THREADS
    result = Py_None;
    Py_INCREF(result);
done:
    for (int k = 0; k < 5; k++)
        if (views[k].obj)
            PyBuffer_Release(&views[k]);
    return result;
}

enum { VIEWS = 12 };

static PyObject *scan(PyObject *self, PyObject *args)
{
    Py_buffer views[VIEWS];
    PyObject *capsule, *result = NULL;
    long long at;
    (void)self;
    memset(views, 0, sizeof views);
    if (!PyArg_ParseTuple(args, "Oy*Lw*w*w*w*w*w*w*w*w*w*w*", &capsule, &views[0], &at, &views[1], &views[2], &views[3], &views[4],
                          &views[5], &views[6], &views[7], &views[8], &views[9], &views[10], &views[11]))
        goto done;
    Texts *texts = PyCapsule_GetPointer(capsule, CAPSULE);
    if (!texts)
        goto done;
    Py_ssize_t room = views[1].len;
    /* phase, timed, us, ps, length, lo, hi, args, member, id, bind */
    static const Py_ssize_t widths[VIEWS] = {0, 1, 1, 8, 4, 8, 8, 8, 8, 4 * MEMBERS, 8, 1};
    for (int k = 1; k < VIEWS; k++)
        if (views[k].len != room * widths[k] || (widths[k] > 1 && (uintptr_t)views[k].buf % (widths[k] == 8 ? 8 : 4))) {
            PyErr_SetString(PyExc_ValueError, "columns of different lengths");
            goto done;
        }
    if (at < 0 || at > views[0].len || texts->busy) {
        PyErr_SetString(PyExc_ValueError, "no such place, or the texts are in use");
        goto done;
    }
    Columns to = {0, room, views[1].buf, views[3].buf, views[4].buf, views[2].buf, views[5].buf, views[6].buf, views[7].buf,
                  views[8].buf, views[9].buf, views[10].buf, views[11].buf};
    int64_t next = at;
    int status;
    texts->busy = 1;
    Py_BEGIN_ALLOW_THREADS
    status = walk(texts, views[0].buf, &next, views[0].len, &to);
    Py_END_ALLOW_THREADS
    texts->busy = 0;
    result = status == NO_MEMORY ? PyErr_NoMemory() : Py_BuildValue("nLi", to.rows, (long long)next, status);
done:
    for (int k = 0; k < VIEWS; k++)
        if (views[k].obj)
            PyBuffer_Release(&views[k]);
    return result;
}

static PyMethodDef methods[] = {
    {"new_texts", new_texts, METH_NOARGS, "new_texts() -> a table of texts, each once"},
    {"texts_from", texts_from, METH_VARARGS, "texts_from(texts, first) -> those from this number on"},
    {"scan", scan, METH_VARARGS,
     "scan(texts, data, at, phase, timed, us, ps, length, lo, hi, args, member, id, bind) -> (rows, next, why it ended)"},
    {"values", values, METH_VARARGS, "values(data, name, starts, lo, hi)"},
    {NULL, NULL, 0, NULL},
};

enum { INTERFACE = 2 }; /* json_compiled.py says the same number */

static int fill_module(PyObject *made)
{
    return PyModule_AddIntConstant(made, "INTERFACE", INTERFACE);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill_module},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED}, /* a table of texts is used by one reader */
#endif
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_json_scan", "Events of a JSON trace, compiled. See json_compiled.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__json_scan(void)
{
    return PyModuleDef_Init(&module);
}
