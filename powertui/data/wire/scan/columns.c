/* What is asked of whole columns: sums, the longest event of any rows, the first and the last row of each name. */
#include "calls.h"

enum { BLOCK = 16, FAN = 4, GUIDE = 64 }; /* rows of a block, blocks of a group, rows between two starts of a guide */

/* Ask for memory before it is read: the places of many edges lie far apart, and none of them waits for another. */
#if defined(__GNUC__)
#define ASK_FOR(place) __builtin_prefetch(place)
#else
#define ASK_FOR(place) ((void)(place))
#endif

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

/* The columns of a track and what lies over them. */
typedef struct {
    const int64_t *start, *duration;
    const int64_t *before; /* durations summed up to each block, and to the end */
    const int64_t *guide;  /* the start of every GUIDE rows */
} Times;

/* How the events of a lane are placed at each of n edges. */
typedef struct {
    int64_t *at;     /* the first event that starts at or after the edge */
    int64_t *over;   /* how far the one before it reaches past the edge … */
    int64_t *length; /* … and how long that one is */
    int64_t *passed; /* what the events of the track cover before the edge */
} AtEdges;

/* The first of rows [lo, hi) of an ascending column that is not less. Without a branch, so that several searches overlap. */
static inline int64_t first_from(const int64_t *ascending, int64_t lo, int64_t hi, int64_t value)
{
    int64_t count = hi - lo;
    while (count > 0) {
        int64_t half = (count + 1) / 2;
        lo += half & -(int64_t)(ascending[lo + half - 1] < value);
        count -= half;
    }
    return lo;
}

static inline uint64_t sum_before(const int64_t *duration, const int64_t *before, int64_t row)
{
    uint64_t total = (uint64_t)before[row / BLOCK];
    for (int64_t i = row - row % BLOCK; i < row; i++)
        total += (uint64_t)duration[i];
    return total;
}

/* The lane is rows [lo, hi) of its track. */
static void place_at_edges(const Times *times, int64_t lo, int64_t hi, const int64_t *edges, int64_t n, AtEdges made)
{
    int64_t first_guide = (lo + GUIDE - 1) / GUIDE, end_guide = (hi + GUIDE - 1) / GUIDE;
    for (int64_t i = 0; i < n; i++) {
        made.at[i] = first_from(times->guide, first_guide, end_guide, edges[i]);
        int64_t from = made.at[i] > first_guide ? (made.at[i] - 1) * GUIDE : lo;
        for (int64_t ahead = GUIDE / 4; ahead < GUIDE; ahead += GUIDE / 4) /* where the first looks of a search are */
            ASK_FOR(times->start + from + ahead - 1);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t from = made.at[i] > first_guide ? (made.at[i] - 1) * GUIDE : lo;
        int64_t until = made.at[i] < end_guide ? made.at[i] * GUIDE : hi;
        int64_t row = made.at[i] = first_from(times->start, from, until, edges[i]);
        ASK_FOR(times->duration + row - row % BLOCK);
        ASK_FOR(times->duration + row);
        ASK_FOR(times->before + row / BLOCK);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t row = made.at[i];
        uint64_t past = 0;
        made.length[i] = hi > lo ? times->duration[row > lo ? row - 1 : lo] : 0;
        if (row > lo)
            past = (uint64_t)times->start[row - 1] + (uint64_t)made.length[i] - (uint64_t)edges[i];
        made.over[i] = (int64_t)past > 0 ? (int64_t)past : 0;
        made.passed[i] = (int64_t)(sum_before(times->duration, times->before, row) - (uint64_t)made.over[i]);
    }
}

/* Of each cell between two edges the event that covers most of it, the first of equals; -1 for none. It reaches in from the cell
 * before, is inside, or reaches out into the next cell. 0 when the index or the rows make no sense. */
static int find_dominant(const Index *index, const int64_t *edges, int64_t cells, const int64_t *at, const int64_t *over,
                         const int64_t *length, int64_t *dominant)
{
    for (int64_t i = 0; i < cells; i++) {
        int64_t lo = at[i], hi = at[i + 1], best = -1, stay = -1;
        if (over[i] > 0) {
            int64_t width = (int64_t)((uint64_t)edges[i + 1] - (uint64_t)edges[i]);
            best = lo - 1;
            stay = over[i] < width ? over[i] : width;
        }
        int64_t inside = hi - (over[i + 1] > 0 && hi > lo); /* [lo, inside): events that start and end in the cell */
        if (inside > lo) {
            int64_t longest = find_longest(index, lo, inside);
            if (longest < 0)
                return 0;
            best = index->duration[longest] > stay ? longest : best;
            stay = index->duration[longest] > stay ? index->duration[longest] : stay;
        }
        if (inside < hi && (int64_t)((uint64_t)length[i + 1] - (uint64_t)over[i + 1]) > stay)
            best = hi - 1;
        dominant[i] = best;
    }
    return 1;
}

/* The events in which the durations, summed up, reach n positions, and the moments of that: of events [first, last]. */
static void find_rows(const Times *times, int64_t rows, int64_t first, int64_t last, const int64_t *position, int64_t n,
                      int64_t *found, int64_t *moment)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t after = (int64_t)((uint64_t)position[i] + 1);
        /* The first block that begins after the position is the next one; sums that wrapped around are not in order. */
        int64_t block = first_from(times->before, first / BLOCK + 1, last / BLOCK + 1, after) - 1, row = block * BLOCK;
        uint64_t passed = (uint64_t)times->before[block];
        while (row < rows - 1 && row < block * BLOCK + BLOCK - 1 && (int64_t)(passed + (uint64_t)times->duration[row]) <= position[i])
            passed += (uint64_t)times->duration[row++];
        row = row < first ? first : row > last ? last : row;
        found[i] = row;
        moment[i] = (int64_t)((uint64_t)times->start[row] + (uint64_t)position[i] - passed);
    }
}

/* Durations summed up to each of these rows; `before` is the sum up to each block. 0 when a row is none. */
static int sum_until(const int64_t *duration, int64_t rows, const int64_t *before, const int64_t *at, int64_t n, int64_t *sum)
{
    for (int64_t i = 0; i < n; i++) {
        if (at[i] < 0 || at[i] > rows)
            return 0;
        sum[i] = (int64_t)sum_before(duration, before, at[i]);
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

PyObject *call_blocks(PyObject *self, PyObject *args)
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
    result = none();
done:
    release(views, 3);
    return result;
}

PyObject *call_sums(PyObject *self, PyObject *args)
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
    result = none_or(PyExc_IndexError, "a row lies outside the column", fine);
done:
    release(views, 4);
    return result;
}

PyObject *call_at_edges(PyObject *self, PyObject *args)
{
    Py_buffer views[11] = {{0}}; /* start, duration, before, guide, lo, hi, edges → at, over, length, passed */
    PyObject *result = NULL;
    int fine = 1;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*w*w*w*w*", &views[0], &views[1], &views[2], &views[3], &views[4], &views[5],
                          &views[6], &views[7], &views[8], &views[9], &views[10]))
        goto done;
    Py_ssize_t rows = views[0].len / 8, lanes = views[4].len / 8, n = views[6].len / 8;
    if (!fits(&views[0], rows, 8) || !fits(&views[1], rows, 8) || !fits(&views[2], rows / BLOCK + (rows % BLOCK > 0) + 1, 8) ||
        !fits(&views[3], rows / GUIDE + (rows % GUIDE > 0), 8) || !fits(&views[4], lanes, 8) || !fits(&views[5], lanes, 8) ||
        !fits(&views[6], n, 8))
        goto done;
    for (int i = 7; i < 11; i++)
        if (!fits(&views[i], lanes * n, 8))
            goto done;
    Times times = {views[0].buf, views[1].buf, views[2].buf, views[3].buf};
    AtEdges made = {views[7].buf, views[8].buf, views[9].buf, views[10].buf};
    const int64_t *lo = views[4].buf, *hi = views[5].buf;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < lanes && fine; i++) {
        fine = lo[i] >= 0 && lo[i] <= hi[i] && hi[i] <= rows;
        if (!fine)
            break;
        AtEdges of_lane = {made.at + i * n, made.over + i * n, made.length + i * n, made.passed + i * n};
        place_at_edges(&times, lo[i], hi[i], views[6].buf, n, of_lane);
    }
    Py_END_ALLOW_THREADS
    result = none_or(PyExc_IndexError, "a lane lies outside the columns", fine);
done:
    release(views, 11);
    return result;
}

PyObject *call_dominant(PyObject *self, PyObject *args)
{
    Py_buffer views[8] = {{0}}; /* duration, top, table, edges, at, over, length → dominant */
    PyObject *result = NULL;
    int fine = 1;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*w*", &views[0], &views[1], &views[2], &views[3], &views[4], &views[5], &views[6],
                          &views[7]))
        goto done;
    Py_ssize_t rows = views[0].len / 8, count = rows / BLOCK + (rows % BLOCK > 0), n = views[3].len / 8;
    Py_ssize_t groups = count / FAN + (count % FAN > 0), levels = groups ? views[2].len / 4 / groups : 0;
    Py_ssize_t lanes = n ? views[4].len / 8 / n : 0, cells = n ? n - 1 : 0;
    if (!fits(&views[0], rows, 8) || !fits(&views[1], count, 1) || !fits(&views[2], levels * groups, 4) ||
        !fits(&views[3], n, 8) || !fits(&views[7], lanes * cells, 8))
        goto done;
    for (int i = 4; i < 7; i++)
        if (!fits(&views[i], lanes * n, 8))
            goto done;
    Index index = {views[0].buf, rows, views[1].buf, count, views[2].buf, groups, levels};
    const int64_t *edges = views[3].buf, *at = views[4].buf, *over = views[5].buf, *length = views[6].buf;
    int64_t *dominant = views[7].buf;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < lanes && fine; i++)
        fine = find_dominant(&index, edges, cells, at + i * n, over + i * n, length + i * n, dominant + i * cells);
    Py_END_ALLOW_THREADS
    result = none_or(PyExc_IndexError, "an event at an edge lies outside the column", fine);
done:
    release(views, 8);
    return result;
}

PyObject *call_rows_at(PyObject *self, PyObject *args)
{
    Py_buffer views[8] = {{0}}; /* start, duration, before, first, last, positions → row, moment */
    PyObject *result = NULL;
    int fine = 1;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*w*w*", &views[0], &views[1], &views[2], &views[3], &views[4], &views[5], &views[6],
                          &views[7]))
        goto done;
    Py_ssize_t rows = views[0].len / 8, cells = views[3].len / 8, n = cells ? views[5].len / 8 / cells : 0;
    if (!fits(&views[0], rows, 8) || !fits(&views[1], rows, 8) || !fits(&views[2], rows / BLOCK + (rows % BLOCK > 0) + 1, 8) ||
        !fits(&views[3], cells, 8) || !fits(&views[4], cells, 8))
        goto done;
    for (int i = 5; i < 8; i++)
        if (!fits(&views[i], cells * n, 8))
            goto done;
    Times times = {views[0].buf, views[1].buf, views[2].buf, NULL};
    const int64_t *first = views[3].buf, *last = views[4].buf, *position = views[5].buf;
    int64_t *row = views[6].buf, *moment = views[7].buf;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < cells && fine; i++) {
        fine = first[i] >= 0 && first[i] <= last[i] && last[i] < rows;
        if (fine)
            find_rows(&times, rows, first[i], last[i], position + i * n, n, row + i * n, moment + i * n);
    }
    Py_END_ALLOW_THREADS
    result = none_or(PyExc_IndexError, "a cell's events lie outside the columns", fine);
done:
    release(views, 8);
    return result;
}

PyObject *call_ends(PyObject *self, PyObject *args)
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
    result = none_or(PyExc_IndexError, "a name lies beyond the table of names", fine);
done:
    release(views, 3);
    return result;
}
