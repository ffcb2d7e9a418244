/* The wire decoder, compiled: the same answers as pure/, to the byte; types.py says what they mean.
 *
 * Plain C99 on Python's limited API (the buffer protocol is part of it from 3.11 on): no numpy headers. Loops run without the GIL.
 * How bytes are read that nobody vouches for stands in field.h.
 */
#include "calls.h"

static PyMethodDef methods[] = {
    {"hop", call_hop, METH_VARARGS, "hop(data, lo, hi, skip) -> (number, wire, value, lo, hi of each field; skipped; bad)"},
    {"pick", call_pick, METH_VARARGS, "pick(data, lo, hi, tags, present, value, end) -> bad"},
    {"scan_events", call_scan_events, METH_VARARGS,
     "scan_events(data, lo, hi, base, id, start, duration, position, at, limit)"
     " -> (rows, next, counted, wide, wide_ids, dropped, bad)"},
    {"stats", call_stats, METH_VARARGS, "stats(data, lo, hi, field) -> [(id, kind, value)]"},
    {"event_stats", call_event_stats, METH_VARARGS, "event_stats(data, position) -> [(id, kind, value)]"},
    {"scan_stats", call_scan_stats, METH_VARARGS, "scan_stats(data, positions, ids, kind, bits, end)"},
    {"put_numbers", call_put_numbers, METH_VARARGS, "put_numbers(kind, bits, rows, present, ints, floats)"},
    {"nest", call_nest, METH_VARARGS, "nest(start, duration, lanes)"},
    {"scan_lanes", call_scan_lanes, METH_VARARGS,
     "scan_lanes(data, lo, hi, shift, base, earliest, latest, names, state, lanes, four columns aside, four columns)"
     " -> (rows aside, next or -1)"},
    {"move_lanes", call_move_lanes, METH_VARARGS,
     "move_lanes(lanes, start, duration, name, place, cursor, start, duration, name, place)"},
    {"blocks", call_blocks, METH_VARARGS, "blocks(duration, sum, top)"},
    {"sums", call_sums, METH_VARARGS, "sums(duration, before, at, sum)"},
    {"at_edges", call_at_edges, METH_VARARGS,
     "at_edges(start, duration, before, guide, lo, hi, edges, at, over, length, passed)"},
    {"dominant", call_dominant, METH_VARARGS, "dominant(duration, top, table, edges, at, over, length, dominant)"},
    {"rows_at", call_rows_at, METH_VARARGS, "rows_at(start, duration, before, first, last, positions, row, moment)"},
    {"ends", call_ends, METH_VARARGS, "ends(name, first, last)"},
    {"ranks", call_ranks, METH_VARARGS, "ranks(ascending, moments, equal_too, place)"},
    {"covered", call_covered, METH_VARARGS, "covered(start, end, before, moments, covered)"},
    {"united", call_united, METH_VARARGS, "united(start, end, empty_too) -> (start, end), None for too many runs"},
    {"united_events", call_united_events, METH_VARARGS,
     "united_events(start, duration, chosen, empty_too) -> (start, end), None for too many runs"},
    {"add_events", call_add_events, METH_VARARGS,
     "add_events(name, start, duration, start below, duration below, lo, hi, lowest, count, total, self_time)"},
    {"united_kinds", call_united_kinds, METH_VARARGS,
     "united_kinds(start, duration, code, kinds of each code) -> [(start, end)], None for too many runs"},
    {"pass_on", call_pass_on, METH_VARARGS,
     "pass_on(start, duration, code of the lane above, start, duration, table, code)"},
    {"records", call_records, METH_VARARGS, "records(data, lo, begin, end, good) -> (rows, next, whether the length there is damaged)"},
    {NULL, NULL, 0, NULL},
};

/* compiled.py says the same number: another one means that this was built from another version of powertui. */
enum { INTERFACE = 8 };

static int fill_module(PyObject *made)
{
    make_crc_table();
    return PyModule_AddIntConstant(made, "INTERFACE", INTERFACE);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill_module},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED}, /* nothing here is shared between calls */
#endif
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_scan", "Protobuf on the wire, compiled. See powertui.data.wire.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__scan(void)
{
    return PyModuleDef_Init(&module);
}
