/* What the calls share around Python: buffers that come in, numbers that go out. */
#ifndef POWERTUI_SCAN_BUFFERS_H
#define POWERTUI_SCAN_BUFFERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>

#include "field.h"

/* A list of numbers that grows without the GIL. */
typedef struct {
    int64_t *items;
    Py_ssize_t count, room;
} Numbers;

static inline int push(Numbers *numbers, int64_t item)
{
    if (numbers->count == numbers->room) {
        Py_ssize_t room = numbers->room ? 2 * numbers->room : 64;
        int64_t *items = room < PY_SSIZE_T_MAX / 16 ? realloc(numbers->items, (size_t)room * sizeof *items) : NULL;
        if (!items)
            return 0;
        numbers->items = items;
        numbers->room = room;
    }
    numbers->items[numbers->count++] = item;
    return 1;
}

static inline PyObject *as_bytes(const Numbers *numbers)
{
    return PyBytes_FromStringAndSize((const char *)numbers->items, numbers->count * (Py_ssize_t)sizeof(int64_t));
}

static inline Data data_of(const Py_buffer *view)
{
    Data data = {view->buf, (const uint8_t *)view->buf + view->len};
    return data;
}

/* The part of a range that lies in the file. */
static inline void clip(const Data *data, long long lo, long long hi, const uint8_t **first, const uint8_t **end)
{
    long long size = data->limit - data->first;
    if (lo < 0)
        lo = 0;
    if (lo > size)
        lo = size;
    if (hi > size)
        hi = size;
    *first = data->first + lo;
    *end = hi > lo ? data->first + hi : *first;
}

/* Columns come from numpy; a wrong one must be an error and not a crash. */
static inline int fits(const Py_buffer *view, Py_ssize_t count, size_t size)
{
    if (count >= 0 && (size_t)view->len / size == (size_t)count && (size_t)view->len % size == 0 && (uintptr_t)view->buf % size == 0)
        return 1;
    PyErr_SetString(PyExc_ValueError, "a column has another length, type or alignment than the decoder expects");
    return 0;
}

static inline void release(Py_buffer *views, int count)
{
    while (count--)
        if (views[count].obj)
            PyBuffer_Release(&views[count]);
}

static inline PyObject *none(void)
{
    Py_INCREF(Py_None);
    return Py_None;
}

/* None when all went well, else the error. */
static inline PyObject *none_or(PyObject *error, const char *why, int fine)
{
    if (fine)
        return none();
    PyErr_SetString(error, why);
    return NULL;
}

#endif
