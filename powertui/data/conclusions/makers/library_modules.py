"""Modules of Python and of frameworks that a profile names without the folder they are in.

XPlanes write a frame as `$fromnumeric.py:3699 mean`. A program's own file may have one of these
names, too: then the function that calls into it is named, which is true as well. General names
(utils, model, data) are left out. Collected from the frames of the recorded programs (make causes)
and from the sources of JAX 0.10, TensorFlow 2.21, Keras 3 and NumPy 2.
"""

from __future__ import annotations

# asyncio, concurrent.futures, http, json, logging, multiprocessing, urllib, xml
_PYTHON = """
    base_events selector_events runners client cookiejar decoder encoder scanner handlers
    connection queues managers synchronize popen_fork popen_spawn_posix request response error
    ElementTree feedparser
"""
# What most programs speak to servers with: requests and urllib3
_CLIENTS = "adapters sessions connectionpool poolmanager"
_JAX = """
    abstract_arrays ad ad_checkpoint api api_util array array_constructors array_creation
    array_methods batching buffer_callback callback compilation compilation_cache compiler
    control_flow core custom_batching custom_derivatives dispatch einsum index_tricks indexing
    jaxpr_util lax lax_numpy lax_reference linear_util loops mlir named_sharding partial_eval
    partition_spec pjit pxla profiler prng reductions setops shard_map sharding_impls slicing
    source_info_util stages tensor_contractions traceback_util tree_util ufunc_api ufuncs
    window_functions windowed_reductions xla_bridge xla_metadata
"""
_TENSORFLOW = """
    array_ops atomic_function autograph_ops concrete_function constant_op context
    convert dataset_ops execute func_graph function_type_utils gradients_impl iterator_ops math_ops
    nn_ops polymorphic_function resource_variable_ops script_ops tensor_util traceback_utils
    tracing_compilation variable_utils
"""
_KERAS = """
    base_trainer callback_list data_adapter epoch_iterator operation py_dataset_adapter
    generator_data_adapter array_data_adapter tf_dataset_adapter progbar_logger io_utils
"""
_ARRAYS = """
    arraysetops fromnumeric function_base multiarray nanfunctions npyio numeric shape_base
    stride_tricks twodim_base
"""
_PLOTS = "backend_agg backend_bases figure font_manager pyplot ticker"
_WAITING = frozenset(f"{_PYTHON} {_CLIENTS}".split())
_KNOWN = _WAITING | frozenset(f"{_JAX} {_TENSORFLOW} {_KERAS} {_ARRAYS} {_PLOTS}".split())


def is_known(module: str) -> bool:
    """Whether a module's name, without its package, is one of a library's."""
    return module in _KNOWN or module.startswith("gen_")


def is_client(module: str) -> bool:
    """Whether it belongs to what speaks to servers and other processes."""
    return module in _WAITING
