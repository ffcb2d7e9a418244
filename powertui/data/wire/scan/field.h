/* One field of a protobuf message, and what every part of the scanner says about the bytes that it reads.
 *
 * The bytes come from files that nobody vouches for: every read is checked against the end of the message it
 * belongs to, lengths are compared before they are added, nothing recurses, and what makes no sense ends the
 * message with a position instead of an error. No assumption about byte order, alignment of the input, the sign of char
 * or the page size.
 */
#ifndef POWERTUI_SCAN_FIELD_H
#define POWERTUI_SCAN_FIELD_H

#include <stddef.h>
#include <stdint.h>

enum { VARINT = 0, FIXED64 = 1, LEN = 2, FIXED32 = 5 };

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

static inline const uint8_t *varint_slowly(const uint8_t *p, const uint8_t *end, uint64_t *value)
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

#endif
