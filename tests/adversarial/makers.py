"""Things that single makers' profiles do: graphs of kernels, ROCm's and TPU's names, instant marks,
odd numbers, few steps.
"""

from __future__ import annotations

from tests.adversarial.program import ANY, Program, Step
from tests.adversarial.rows import cannot_tell, row
from tests.synthetic.xplane import Event, Line, Plane


@row
def graphs_of_kernels() -> Program:
    """A CUDA graph: one launch with one correlation id leads to six kernels."""
    p = Program()
    for i in range(8):
        at = 1 + i * 0.3
        p.event("python", "train", at, 0.2, step_num=i, _r=1)
        p.event(
            "python", "cuGraphLaunch", at + 0.05, 0.01, correlation_id=500 + i, cuda_graph_exec_id=7
        )
        spans = [(3 + i * 4 + k * 0.6, 0.5) for k in range(6)]
        for k, span in enumerate(spans):
            p.kernel(0, f"gemm_{k}", *span, correlation_id=500 + i, cuda_graph_exec_id=7)
        p.tell(i, None, at, 0.2, {0: spans})
    p.asynchronous = True
    return p


@row
def correlation_ids_of_two_devices() -> Program:
    """Each device counts its correlation ids from 1: the same id stands on both, launched by two
    threads.
    """
    p = Program()
    for i in range(6):
        at = i * 20.0
        p.event("python", "train", at, 18, step_num=i, _r=1)
        spans = {g: [(at + 2 + g, 10.0)] for g in (0, 1)}
        for g, [span] in spans.items():
            p.event(
                "python",
                "hipLaunchKernel",
                at + 1 + g * 0.1,
                0.01,
                correlation_id=i + 1,
                device_id=g,
            )
            p.kernel(g, "Cijk_Ailk", *span, correlation_id=i + 1)
        p.tell(i, None, at, 18, spans)
    p.asynchronous = False
    return p


@row
def a_module_line_beside_kernels_and_marks() -> Program:
    """The collector drew modules from the kernels: the same work twice, which counts once."""
    p = Program()
    for i in range(8):
        at = 1 + i * 0.3
        spans = [(3 + i * 4.0, 1.5), (5 + i * 4.0, 1.0)]
        p.step(i, at, 0.2, {0: spans})
        p.module(0, "jit_step(12)", 3 + i * 4.0, 3.0)
    p.asynchronous = True
    return p


class Tpu(Program):
    """Planes of a TPU: steps, modules and ops are lines of the device, and nothing is a stream."""

    def planes(self) -> list[Plane]:
        return [
            Plane(
                gpu.name.replace("GPU", "TPU"),
                [
                    Line("Steps", gpu.drawn, key=0),
                    Line("XLA Modules", gpu.modules, key=1),
                    Line("XLA Ops", gpu.kernels, key=2),
                ],
            )
            for gpu in self.gpus.values()
        ] + [
            Plane(
                "/host:CPU",
                [
                    Line(name, events, key=i + 1)
                    for i, (name, events) in enumerate(self.threads.items())
                ],
            )
        ]


@row
def steps_of_a_tpu() -> Program:
    """Two cores, step lines with numbers, ops that fill most of them; the host only dispatches."""
    p = Tpu()
    for i in range(8):
        spans = {core: [(i * 10 + 1.0, 5.0), (i * 10 + 6.5, 2.5)] for core in (0, 1)}
        for core, found in spans.items():
            for k, span in enumerate(found):
                p.kernel(core, f"fusion.{k}", *span)
            p.draw(core, str(120 + i), (i * 10 + 1.0, 8))
            p.module(core, "jit_train_step(3)", i * 10 + 1.0, 8)
        p.tell(120 + i, None, i * 10 + 1, None, spans)
    p.event("python", "PjitFunction(train_step)", 0.5, 0.1)
    return p


@row
def one_step_alone() -> Program:
    """One mark, one kernel after it."""
    p = Program()
    p.step(7, 5, 1, {0: [(8, 20)]})
    return p


@row
def two_steps() -> Program:
    """Two marks."""
    p = Program()
    for i in range(2):
        p.step(7 + i, i * 30, 1, {0: [(i * 30 + 2, 20)]})
    return p


@row
def every_mark_has_a_name_of_its_own() -> Program:
    """The program writes the number into the name as well: no name comes twice."""
    p = Program()
    for i in range(10):
        p.step(i, i * 10, 9, name=f"train_step_{i}")
    return p


@row
def names_with_numbers_and_no_stats() -> Program:
    """Only the name says which step it is."""
    p = Program()
    for i in range(10):
        p.step(40 + i, i * 10, 9, name=f"train_step {40 + i}", shows={"_r": 1})
    return p


@row
def instant_marks() -> Program:
    """A mark is a moment at which a step begins: how long the step took, only the next one
    tells.
    """
    p = Program()
    for i in range(8):
        p.event("python", "train", i * 10, 0, step_num=i, _r=1)
        p.event("python", "MatMul", i * 10 + 1, 8)
        p.truth.append(Step(i, None, i * 10, ANY, None, ANY))
    p.holes = set()
    return p


@row
def every_other_number() -> Program:
    """The program counts in twos: nothing is missing."""
    p = Program()
    for i in range(8):
        p.step(i * 2, i * 10, 9)
    p.holes = set()
    return p


@row
def a_warm_up_numbered_below_zero() -> Program:
    """The first step is number -1."""
    p = Program()
    for i in range(-1, 8):
        p.step(i, 10 + i * 10, 9)
    p.truth[0].number = ANY  # -1 is what readers use for "no number"
    p.epochs = 0
    return p


@row
def a_validation_within_a_validation() -> Program:
    """`evaluate` holds three `test` marks: one phase, from its begin to its end."""
    p = Program()
    for i in range(10):
        p.step(i, i * 10 + (50 if i > 4 else 0), 9)
    p.event("python", "evaluate", 50, 48, step_num=0, _r=1)
    for k in range(3):
        p.event("python", "test", 52 + k * 15, 14, step_num=k, _r=1)
    p.phase("validation", 50, 98)
    return p


@cannot_tell(
    "an outer and an inner mark cover the same time, both numbered: steps of four "
    "micro-batches, or rounds of four steps"
)
def marks_within_marks() -> Program:
    """`outer` holds four `inner` each."""
    p = Program()
    for i in range(6):
        p.event("python", "outer", i * 50, 49, step_num=i)
        for k in range(4):
            p.event("python", "inner", i * 50 + 1 + k * 12, 11, step_num=i * 4 + k)
    p.truth = [Step(ANY, ANY, i * 50, ANY, ANY, ANY) for i in range(6)]
    return p


@row
def work_of_another_program_on_the_device() -> Program:
    """Kernels without a launch in this process (another one shares the device) are no
    step's work.
    """
    p = Program()
    for i in range(8):
        at = i * 20.0
        p.step(i, at, 18, {0: [(at + 2, 6), (at + 12, 4)]})
        p.gpu(0).copies.append(
            Event("foreign", int((at + 9) * 1e9), int(2 * 1e9), {"correlation_id": 70_000 + i})
        )
    p.asynchronous = False
    return p


@row
def a_checkpoint_that_copies_from_the_device() -> Program:
    """Between steps 3 and 4 a checkpoint reads the weights: its copies are no step's work."""
    p = Program()
    for i in range(8):
        at = i * 10 + (40 if i > 3 else 0)
        p.step(i, at, 9, {0: [(at + 1.0, 7.0)]})
    p.event("python", "save_checkpoint", 41, 35, step_num=4, _r=1)
    for k in range(5):
        p.launch("python", 42 + k * 6, 0, "MemcpyD2H", (43 + k * 6, 4))
    p.phase("checkpoint", 41, 76)
    p.asynchronous = False
    return p


@row
def a_pause_in_the_middle() -> Program:
    """The program slept for a second between two steps: nothing is missing, and no epoch began."""
    p = Program()
    for i in range(10):
        p.step(i, i * 10 + (1000 if i > 4 else 0), 9)
    p.epochs = 0
    p.holes = set()
    return p


@row
def steps_that_get_slower() -> Program:
    """Sequences grow: the last step takes ten times the first."""
    p = Program()
    at = 0.0
    for i in range(12):
        length = 2.0 * (1 + i * 0.8)
        p.step(i, at, length * 0.05, {0: [(at + length * 0.1, length * 0.85)]})
        at += length
    return p


@row
def launches_on_a_line_of_their_own() -> Program:
    """ROCm: launches stand on a line that belongs to no thread, without contexts; they lie in time
    where the marks are.
    """
    p = Program()
    for i in range(10):
        at = 1 + i * 0.3
        p.event("python", "train", at, 0.2, step_num=i, _r=1)
        spans = [(3 + i * 4.0, 1.5), (5 + i * 4.0, 1.0)]
        for k, span in enumerate(spans):
            p.launch("Host Threads/1083", at + 0.05 + k * 0.05, 0, f"Cijk_{k}", span)
        p.tell(i, None, at, 0.2, {0: spans})
    p.asynchronous = True
    return p


@row
def functions_that_launch_on_a_line_of_their_own() -> Program:
    """The same without a mark: a benchmark prepares two arrays and then multiplies three times, six
    times over.
    """
    p = Program()
    at = 0.0
    for _ in range(6):
        for name, host, gpu in (
            ("convert_element_type", 0.4, 0.01),
            ("broadcast_in_dim", 0.06, 0.01),
        ) * 2:
            p.event("python", f"PjitFunction({name})", at, host)
            p.launch("Host Threads/1083", at + host * 0.7, 0, "copyBuffer", (at + host * 0.8, gpu))
            at += host + 0.05
        for _ in range(3):
            p.event("python", "PjitFunction(dot)", at, 0.07)
            p.launch("Host Threads/1083", at + 0.03, 0, "gemm", (at + 0.05, 0.3))
            p.tell(None, None, at, 0.07, {0: [(at + 0.05, 0.3)]})
            p.truth[-1].number = ANY
            at += 0.45
    p.marker = "PjitFunction(dot)"
    p.epochs = 0
    return p


@row
def one_eager_kernel_that_returns_early() -> Program:
    """One step of TensorFlow's eager mode on a device: the host's mark is over long before the
    device is.
    """
    p = Program()
    p.event("python3", "EagerKernelExecute", 232, 8.4, group_id=0, step_name="EagerKernelExecute 0")
    p.launch("python3", 236, 0, "sgemm", (239, 4), group_id=0)
    p.launch("python3", 238, 0, "sgemm", (295, 5), group_id=0)
    p.draw(0, "0", (239, 61), group_id=0, step_name="EagerKernelExecute 0")
    p.tell(0, None, 232, 8.4, {0: [(239, 4), (295, 5)]})
    p.truth[-1].number = ANY
    p.asynchronous = True
    return p


def function_called(p: Program, at: float, length: float, graph: str, *, ahead: bool) -> None:
    """One call of a tf.function as Keras makes it: its graph runs in a pool, so that its
    FunctionRun is over at once or soon.
    """
    p.event(
        "python",
        "multi_step_on_iterator",
        at,
        length,
        tf_function_call="notTraced-nonXla",
        tracing_count=1,
    )
    p.event("python", "EagerExecute", at + length * 0.03, length * 0.94, eager_op=graph, is_func=1)
    p.event("python", f"EagerLocalExecute: {graph}", at + length * 0.04, length * 0.92)
    p.event("python", "EagerKernelExecute", at + length * 0.05, length * 0.9)
    p.event(
        "python", "FunctionRun", at + length * 0.06, length * (0.2 if ahead else 0.001), _r=1, id=77
    )
    p.event("pool", "ExecutorState::Process", at + length * 0.1, length * 0.8, id=77, iter_num=0)
    p.event(
        "tf_data_iterator_resource/4711",
        "FunctionRun",
        at + length * 0.3,
        length * 0.001,
        _r=1,
        id=78,
    )
    for k in range(8):
        p.event(
            "python",
            "EagerExecute",
            at + length * (1.02 + k * 0.005),
            length * 0.003,
            eager_op="AssignAddVariableOp",
            is_func=0,
        )


@row
def a_session_in_the_middle_of_a_training() -> Program:
    """Keras 3, profiled from step 100 on: no mark.

    The function that the loop calls is the step, no FunctionRun is.
    """
    p = Program()
    for i in range(20):
        length = 20 + (i * 7 % 5)
        function_called(
            p, i * 27.0, length, "__inference_multi_step_on_iterator_1963", ahead=i % 3 == 0
        )
        p.tell(None, None, i * 27.0, length, {})
        p.truth[-1].number = ANY
    p.marker = "multi_step_on_iterator"
    return p


@row
def a_session_that_reaches_into_a_validation() -> Program:
    """The same, and the validation calls a function of the same name: what was compiled for it has
    another.
    """
    p = Program()
    at = 0.0
    for _ in range(2):
        for _ in range(9):
            function_called(p, at, 20, "__inference_multi_step_on_iterator_1963", ahead=False)
            p.tell(None, None, at, 20 * 0.92, {})
            p.truth[-1].number = ANY
            p.truth[-1].start = at + 20 * 0.04
            at += 27
        for _ in range(3):
            function_called(p, at, 7, "__inference_multi_step_on_iterator_2874", ahead=False)
            at += 9
    p.marker = "__inference_multi_step_on_iterator_1963"
    return p
