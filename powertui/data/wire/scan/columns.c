/* What is asked of whole columns: sums, the longest event of any rows, the first and the last row of each name. */
#include "calls.h"

enum { BLOCK = 16, FAN = 4 }; /* rows of a block, blocks of a group */

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

PyObject *call_longest(PyObject *self, PyObject *args)
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
    result = none_or(PyExc_IndexError, "a range of rows is empty or lies outside the column", fine);
done:
    release(views, 6);
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
