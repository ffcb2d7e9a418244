/* TFRecords: where each lies, and whether its checksum is right. */
#include "calls.h"

enum { FRAME = 16, HEAD = 12 }; /* bytes around a payload; of them before it */

static uint32_t crc_table[8][256]; /* written once, when the module is made */

void make_crc_table(void)
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

PyObject *call_records(PyObject *self, PyObject *args)
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
