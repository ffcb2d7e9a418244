"""What to do next, in the words of whoever wrote the profile: advice never names another
framework.
"""

from __future__ import annotations

from powertui.data.model import Trace

_STEPS = {
    "xplane": "with tf.profiler.experimental.Trace('train', step_num=i, _r=1): … "
    "or with jax.profiler.StepTraceAnnotation('train', step_num=i): …",
    "kineto": "call prof.step() at the end of every step, with torch.profiler.profile(schedule=…)",
    "rocprof": (
        'roctxRangePush("step 12") and roctxRangePop() around each, with rocprofv3 --marker-trace'
    ),
    "perfetto": 'TRACE_EVENT("train", "step", "step_num", i) around each',
}
_STEPS["trace_json"] = (
    'a span around each, {"ph": "X", "name": "step", "args": {"step_num": 12}, …}'
)
_TENSORFLOW = _STEPS["xplane"]


def to_mark_steps(trace: Trace) -> str:
    """How its program marks steps."""
    if trace.format != "xplane" and of_tensorboard(trace):
        return _TENSORFLOW
    return _STEPS.get(trace.format, _STEPS["trace_json"])


def of_tensorboard(trace: Trace) -> bool:
    """Whether TensorBoard is where its makers look at it: TensorFlow, JAX and PyTorch/XLA."""
    return trace.format in ("xplane", "tf_trace") or (
        trace.format == "trace_json" and is_tensorboards(trace.path)
    )


def is_tensorboards(path: str) -> bool:
    """Whether a file is named as those in plugins/profile are."""
    return (
        path.endswith((".xplane.pb", ".xplane.pb.gz", ".trace.json.gz", "/local.trace"))
        and ".pt.trace." not in path
    )
