"""Makers whose programs have no server of this kind: what captures from them, and how the result is
opened.
"""

from __future__ import annotations

INSTRUCTIONS = {
    "pytorch": """\
PyTorch's profiler has no server. Started like this, a program can be profiled at any time, with --pid:
    KINETO_USE_DAEMON=1 python train.py
    powertui capture --pid PID -t 2s --logdir DIR
Or let it write profiles by itself, and watch the logdir: powertui live --logdir DIR
    torch.profiler.profile(schedule=…, on_trace_ready=torch.profiler.tensorboard_trace_handler(DIR))""",
    "neuron": """\
AWS Neuron: neuron-profile capture -n MODEL.neff -s PROFILE.ntff, or NEURON_RT_INSPECT_ENABLE=1 in the environment of the program.
    neuron-explorer view -n MODEL.neff -s PROFILE.ntff --output-format json, then: powertui FILE""",
    "amd": """\
AMD: rocprofv3 --sys-trace --output-format pftrace -- python train.py, then: powertui FILE
    JAX and TensorFlow on ROCm have their own servers: powertui capture HOST:PORT works there.""",
    "nvidia": """\
NVIDIA: JAX and TensorFlow have their own servers: powertui capture HOST:PORT works there. For PyTorch: --other pytorch.
    Nsight Systems: nsys profile --trace cuda,nvtx --output FILE python train.py
    nsys export --type sqlite -o FILE.sqlite FILE.nsys-rep, then: powertui FILE.sqlite""",
}
