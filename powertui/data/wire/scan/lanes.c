/* Lanes: which events lie within which, and the events of a line sorted into theirs in one walk. */
#include "calls.h"
#include "event.h"

enum { MAX_LANES = 255 };

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

PyObject *call_nest(PyObject *self, PyObject *args)
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
    result = none();
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

PyObject *call_scan_lanes(PyObject *self, PyObject *args)
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

PyObject *call_move_lanes(PyObject *self, PyObject *args)
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
    result = none_or(PyExc_ValueError, "rows of a lane have no place in the columns", fine);
done:
    release(views, 10);
    return result;
}
