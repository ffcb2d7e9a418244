/* One event of a line, decoded. */
#ifndef POWERTUI_SCAN_EVENT_H
#define POWERTUI_SCAN_EVENT_H

#include <string.h>

#include "field.h"

enum { EVENTS_FIELD = 4, EVENT_STATS_FIELD = 4 };

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

#endif
