/* The calls of the module, each in the file that is named here, and what other parts need of one. */
#ifndef POWERTUI_SCAN_CALLS_H
#define POWERTUI_SCAN_CALLS_H

#include "buffers.h"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden) /* no name of ours meets one of another library */
#endif

/* fields.c */
PyObject *call_hop(PyObject *self, PyObject *args);
PyObject *call_pick(PyObject *self, PyObject *args);

/* events.c */
PyObject *call_scan_events(PyObject *self, PyObject *args);

/* stats.c */
PyObject *call_stats(PyObject *self, PyObject *args);
PyObject *call_event_stats(PyObject *self, PyObject *args);
PyObject *call_scan_stats(PyObject *self, PyObject *args);
PyObject *call_put_numbers(PyObject *self, PyObject *args);

/* lanes.c */
PyObject *call_nest(PyObject *self, PyObject *args);
PyObject *call_scan_lanes(PyObject *self, PyObject *args);
PyObject *call_move_lanes(PyObject *self, PyObject *args);

/* columns.c */
PyObject *call_blocks(PyObject *self, PyObject *args);
PyObject *call_sums(PyObject *self, PyObject *args);
PyObject *call_at_edges(PyObject *self, PyObject *args);
PyObject *call_dominant(PyObject *self, PyObject *args);
PyObject *call_rows_at(PyObject *self, PyObject *args);
PyObject *call_ends(PyObject *self, PyObject *args);

/* stretches.c */
PyObject *call_ranks(PyObject *self, PyObject *args);
PyObject *call_covered(PyObject *self, PyObject *args);
PyObject *call_united(PyObject *self, PyObject *args);
PyObject *call_united_events(PyObject *self, PyObject *args);
PyObject *call_add_events(PyObject *self, PyObject *args);

/* codes.c */
PyObject *call_united_kinds(PyObject *self, PyObject *args);
PyObject *call_pass_on(PyObject *self, PyObject *args);

/* records.c */
PyObject *call_records(PyObject *self, PyObject *args);
void make_crc_table(void); /* once, before the first call */

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
