/* What is looked for in many series of numbers: whether any stretch of one adds up to as much as is asked. */
#include "calls.h"

enum { SPAN = 8 }; /* sums of a block, and lengths that are looked at together */

typedef struct {
    double low, high;
} Range;

static inline Range wider(Range range, Range other)
{
    range.low = other.low < range.low ? other.low : range.low;
    range.high = other.high > range.high ? other.high : range.high;
    return range;
}

static Range range_of(const double *sums, int64_t lo, int64_t hi)
{
    Range range = {sums[lo], sums[lo]};
    for (int64_t i = lo + 1; i < hi; i++) {
        Range one = {sums[i], sums[i]};
        range = wider(range, one);
    }
    return range;
}

static inline double size_of(double difference)
{
    return difference < 0 ? -difference : difference;
}

static inline int64_t smaller(int64_t value, int64_t other)
{
    return value < other ? value : other;
}

/* Whether a stretch that starts in a block and has one of these lengths reaches the score. */
static int block_reaches(const double *sums, int64_t count, int64_t lo, int64_t first, int64_t last, const double *roots, double score)
{
    for (int64_t length = first; length <= last; length++) {
        int64_t hi = smaller(lo + SPAN, count - length);
        for (int64_t i = lo; i < hi; i++)
            if (size_of(sums[i + length] - sums[i]) / roots[length] >= score)
                return 1;
    }
    return 0;
}

/* Whether |sums[i + length] - sums[i]| / roots[length] reaches the score anywhere. No difference between two blocks is larger than
 * that of their extremes, and rounding keeps order: what these do not reach, nothing in the blocks does. */
static int series_reaches(const double *sums, int64_t count, int64_t least, int64_t longest, const double *roots, double score,
                          Range *ranges)
{
    int64_t blocks = count / SPAN + (count % SPAN > 0);
    for (int64_t block = 0; block < blocks; block++)
        ranges[block] = range_of(sums, block * SPAN, smaller(block * SPAN + SPAN, count));
    Range whole = ranges[0];
    for (int64_t block = 1; block < blocks; block++)
        whole = wider(whole, ranges[block]);
    for (int64_t first = least; first <= longest && first < count; first += SPAN) {
        if ((whole.high - whole.low) / roots[first] < score)
            return 0; /* nor does anything longer */
        int64_t last = smaller(smaller(first + SPAN - 1, longest), count - 1);
        for (int64_t lo = 0; lo + first < count; lo += SPAN) {
            int64_t to = smaller((lo + SPAN - 1 + last) / SPAN, blocks - 1);
            Range here = ranges[lo / SPAN], there = ranges[(lo + first) / SPAN];
            for (int64_t block = (lo + first) / SPAN + 1; block <= to; block++)
                there = wider(there, ranges[block]);
            double up = there.high - here.low, down = here.high - there.low;
            if ((up > down ? up : down) / roots[first] >= score && block_reaches(sums, count, lo, first, last, roots, score))
                return 1;
        }
    }
    return 0;
}

typedef struct {
    int64_t first, length; /* length 0: none above 0 */
} Stretch;

/* The stretch with the largest |sum| / root of its length; of equals the shortest, and of these the first. */
static Stretch find_strongest(const double *sums, int64_t count, int64_t least, int64_t longest, const double *roots)
{
    Stretch stretch = {0, 0};
    double best = 0;
    for (int64_t length = least; length <= longest && length < count; length++) {
        double worth_dividing = best * roots[length] * (1 - 1e-9);
        for (int64_t i = 0; i < count - length; i++) {
            double size = size_of(sums[i + length] - sums[i]);
            if (size >= worth_dividing && size / roots[length] > best) {
                best = size / roots[length];
                stretch.first = i;
                stretch.length = length;
            }
        }
    }
    return stretch;
}

PyObject *call_reaching(PyObject *self, PyObject *args)
{
    Py_buffer views[2] = {{0}}; /* series × sums, roots */
    PyObject *result = NULL;
    Range *ranges = NULL;
    long long series, least, longest, reaching = 0;
    double score;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*LLLdy*", &views[0], &series, &least, &longest, &score, &views[1]))
        goto done;
    Py_ssize_t count = series > 0 ? views[0].len / 8 / (Py_ssize_t)series : 0, roots = views[1].len / 8;
    if (series > views[0].len || !fits(&views[0], count * (Py_ssize_t)series, 8) || !fits(&views[1], roots, 8))
        goto done;
    if (count) {
        if (least < 1 || longest >= roots) {
            PyErr_SetString(PyExc_ValueError, "a length has no root");
            goto done;
        }
        ranges = malloc((size_t)(count / SPAN + 1) * sizeof *ranges);
        if (!ranges) {
            PyErr_NoMemory();
            goto done;
        }
        Py_BEGIN_ALLOW_THREADS
        for (long long i = 0; i < series; i++)
            reaching += series_reaches((const double *)views[0].buf + i * count, count, least, longest, views[1].buf, score, ranges);
        Py_END_ALLOW_THREADS
    }
    result = PyLong_FromLongLong(reaching);
done:
    free(ranges);
    release(views, 2);
    return result;
}

PyObject *call_strongest(PyObject *self, PyObject *args)
{
    Py_buffer views[2] = {{0}}; /* sums, roots */
    PyObject *result = NULL;
    Stretch stretch;
    long long least, longest;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*LLy*", &views[0], &least, &longest, &views[1]))
        goto done;
    Py_ssize_t count = views[0].len / 8, roots = views[1].len / 8;
    if (!fits(&views[0], count, 8) || !fits(&views[1], roots, 8))
        goto done;
    if (least < 1 || longest >= roots) {
        PyErr_SetString(PyExc_ValueError, "a length has no root");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    stretch = find_strongest(views[0].buf, count, least, longest, views[1].buf);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("LL", (long long)stretch.first, (long long)stretch.length);
done:
    release(views, 2);
    return result;
}
