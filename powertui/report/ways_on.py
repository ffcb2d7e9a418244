"""What to do next, in the words of the framework that wrote the profile."""

from __future__ import annotations

from powertui.data.model import Trace

# How a program marks its steps, by the format of its profile.
_STEPS = {
    "xplane": "with tf.profiler.experimental.Trace('train', step_num=i, _r=1): … "
    "or with jax.profiler.StepTraceAnnotation('train', step_num=i): …",
    "kineto": "call prof.step() at the end of every step, with torch.profiler.profile(schedule=…)",
    "rocprof": (
        'roctxRangePush("step 12") and roctxRangePop() around each, with rocprofv3 --marker-trace'
    ),
    "perfetto": 'TRACE_EVENT("train", "step", "step_num", i) around each',
    "trace_json": 'a span around each, {"ph": "X", "name": "step", "args": {"step_num": 12}, …}',
}


def to_mark_steps(trace: Trace) -> str:
    """How its program marks steps."""
    if of_tensorboard(trace):
        return _STEPS["xplane"]
    return _STEPS.get(trace.format, _STEPS["trace_json"])


def of_tensorboard(trace: Trace) -> bool:
    """Whether its framework is used with TensorBoard: TensorFlow, JAX and PyTorch/XLA."""
    if trace.format == "trace_json":
        return is_tensorboards(trace.path)
    return trace.format in ("xplane", "tf_trace")


def is_tensorboards(path: str) -> bool:
    """Whether a file is named as those in plugins/profile are."""
    return (
        path.endswith((".xplane.pb", ".xplane.pb.gz", ".trace.json.gz", "/local.trace"))
        and ".pt.trace." not in path
    )
