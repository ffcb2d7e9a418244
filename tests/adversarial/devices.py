"""Device lines and host marks: which of them is the step, on one device and on several."""

from __future__ import annotations

from tests.adversarial.program import ANY, Program, Step
from tests.adversarial.rows import cannot_tell, row


def grouped(
    p: Program,
    group: int,
    at: float,
    host: float,
    spans: dict[int, list[tuple[float, float]]],
    name: str = "EagerKernelExecute",
) -> None:
    """As TensorFlow up to 2.10 wrote it: every event knows its group, the root carries a step_name,
    devices have step lines.
    """
    p.event("python3", name, at, host, group_id=group, step_name=f"{name} {group}")
    p.event("python3", "MatMul", at + 0.1, host / 2, group_id=group)
    for gpu, device in spans.items():
        for start, length in device:
            p.launch("python3", at + 0.2, gpu, "sgemm", (start, length), group_id=group)
        lo, hi = device[0][0], max(s + n for s, n in device)
        p.draw(gpu, str(group), (lo, hi - lo), group_id=group, step_name=f"{name} {group}")
    p.tell(group, None, at, host, spans)


@row
def a_device_line_beside_the_mark() -> Program:
    """The T4 case: the mark ends after 8.4 ms, the device ran from inside it until long after."""
    p = Program()
    grouped(p, 0, 10, 8.397, {0: [(12, 3), (20, 2), (60, 13)]})
    return p


@row
def a_device_line_inside_the_mark() -> Program:
    """The mark holds the device's step: TensorFlow takes the mark."""
    p = Program()
    for i in range(6):
        grouped(p, i, i * 20, 18, {0: [(i * 20 + 2, 3), (i * 20 + 6, 9)]})
    p.asynchronous = False
    return p


@row
def a_device_line_that_begins_with_the_mark() -> Program:
    """Both begin at once and the device runs longer."""
    p = Program()
    for i in range(6):
        grouped(p, i, i * 20, 4, {0: [(i * 20, 6), (i * 20 + 7, 9)]})
    return p


@row
def many_steps_with_lines_that_lag() -> Program:
    """Ten steps dispatched in 2 ms each; the device is one step behind."""
    p = Program()
    for i in range(10):
        grouped(p, i, i * 10, 2, {0: [(i * 10 + 9, 4), (i * 10 + 14, 5)]})
    p.asynchronous = True
    return p


@row
def two_streams_at_once() -> Program:
    """Copies run beside the kernels: device time is their union, not their sum."""
    p = Program()
    for i in range(6):
        at = i * 20.0
        p.step(i, at, 1, {0: [(at + 2, 10), (at + 4, 3)]}, drawn=str(i))
        gpu = p.gpu(0)
        gpu.copies.append(gpu.kernels.pop())
    return p


@row
def gaps_on_the_device() -> Program:
    """Half of the device's step is idle: its work is shorter than its step."""
    p = Program()
    for i in range(6):
        at = i * 20.0
        p.step(i, at, 1, {0: [(at + 2, 2), (at + 8, 2), (at + 14, 2)]}, drawn=str(i))
    return p


@row
def a_device_line_without_any_mark() -> Program:
    """Nothing on the host says where a step is; the device's line does."""
    p = Program()
    for i in range(8):
        p.kernel(0, "gemm", i * 10 + 1, 6)
        p.draw(0, str(i), (i * 10 + 1, 6))
        p.tell(i, None, i * 10 + 1, None, {0: [(i * 10 + 1, 6)]})
    return p


@row
def a_device_that_ran_nothing_in_some_steps() -> Program:
    """Steps 2 and 5 ran on the host alone: they have no device time, which is not 0."""
    p = Program()
    for i in range(8):
        at = i * 10.0
        p.step(i, at, 6, {} if i in (2, 5) else {0: [(at + 1, 7)]}, drawn=str(i))
    return p


@row
def one_number_on_two_devices_at_once() -> Program:
    """Data parallel on two devices: six steps, not twelve."""
    p = Program()
    for i in range(6):
        at = i * 20.0
        p.step(i, at, 1, {0: [(at + 2, 12)], 1: [(at + 2, 12)]}, drawn=str(i))
    return p


@row
def one_number_on_two_devices_far_apart() -> Program:
    """As in GPU-multi-worker: group 0 ran on device 4, and 0.6 s later on device 6.

    It is not a step of 0.67 s.
    """
    p = Program()
    p.kernel(4, "sgemm", 100, 19.9)
    p.draw(4, "0", (100, 19.9), step_name="0")
    p.kernel(6, "sgemm", 747.6, 21.3)
    p.draw(6, "0", (747.6, 21.3), step_name="0")
    p.tell(0, None, 100, None, {4: [(100, 19.9)], 6: [(747.6, 21.3)]})
    return p


@row
def labels_that_restart_on_the_second_device() -> Program:
    """Device 1 lags by half a step and counts its own steps from 0 again."""
    p = Program()
    for i in range(6):
        for gpu, lag in ((0, 0.0), (1, 8.0)):
            p.kernel(gpu, "gemm", i * 20 + lag, 14)
            p.draw(gpu, str(i), (i * 20 + lag, 14))
        p.tell(i, None, i * 20, None, {0: [(i * 20, 14)], 1: [(i * 20 + 8, 14)]})
    return p


@row
def labels_that_restart_after_the_first_device_was_done() -> Program:
    """The same six steps on device 0, then on device 1: nothing overlaps, and they are still six
    numbers.
    """
    p = Program()
    for i in range(6):
        spans = {gpu: [(gpu * 500.0 + i * 20, 14.0 + gpu)] for gpu in (0, 1)}
        for gpu, [span] in spans.items():
            p.kernel(gpu, "gemm", *span)
            p.draw(gpu, str(i), span)
        p.tell(i, None, i * 20, None, spans)
    return p


@row
def a_straggler_among_four() -> Program:
    """Device 2 takes twice as long: the step is as long as its longest device."""
    p = Program()
    for i in range(8):
        at = i * 30.0
        p.step(
            i, at, 1, {gpu: [(at + 2, 24 if gpu == 2 else 12)] for gpu in range(4)}, drawn=str(i)
        )
    return p


@row
def a_device_that_misses_steps() -> Program:
    """The buffer of device 1 was full after step 3: its later steps are not in the file, those of
    device 0 are.
    """
    p = Program()
    for i in range(8):
        at = i * 20.0
        p.step(
            i,
            at,
            1,
            {0: [(at + 2, 12)], 1: [(at + 2, 12)]},
            drawn=str(i),
            lost=[1] if i > 3 else [],
        )
    return p


@row
def devices_that_did_nothing() -> Program:
    """Eight devices are there, two recorded."""
    p = Program()
    for i in range(8):
        p.gpu(i)
    for i in range(6):
        at = i * 20.0
        p.step(i, at, 1, {2: [(at + 2, 12)], 5: [(at + 2, 12)]}, drawn=str(i))
    return p


@row
def steps_that_take_turns_on_two_devices() -> Program:
    """Even steps on device 0, odd ones on device 1: each device numbers only its own."""
    p = Program()
    for i in range(8):
        at = i * 10.0
        p.step(i, at, 1, {i % 2: [(at + 2, 7)]}, drawn=str(i))
    return p


@row
def a_line_that_numbers_groups_and_marks_that_number_batches() -> Program:
    """The device counts groups from 0, the host's marks say 500 to 507: the program's numbers are
    the marks'.
    """
    p = Program()
    for i in range(8):
        at = i * 20.0
        p.step(
            500 + i,
            at,
            2,
            {0: [(at + 3, 12)]},
            shows={"step_num": 500 + i, "group_id": i, "_r": 1},
            drawn=None,
        )
        p.draw(0, str(i), (at + 3, 12), group_id=i)
    return p


@row
def a_line_whose_first_step_began_before_the_profile() -> Program:
    """What was on the device when the profile began belongs to a step whose mark is not in the
    file.
    """
    p = Program()
    p.kernel(0, "gemm", 0, 5)
    p.draw(0, "41", (0, 5))
    p.truth.append(Step(41, None, 0, None, 5, 5))
    for i in range(42, 50):
        at = (i - 41) * 20.0
        p.step(i, at, 1, {0: [(at + 2, 12)]}, drawn=str(i))
    return p


@cannot_tell(
    "two devices, each with step labels that the other does not have and nothing that ties "
    "them: one program or two"
)
def two_devices_with_labels_of_their_own() -> Program:
    """Device 0 says 0, 1, 2; device 1 says 100, 101, 102 at the same times."""
    p = Program()
    for i in range(3):
        for gpu, first in ((0, 0), (1, 100)):
            p.kernel(gpu, "gemm", i * 20, 14)
            p.draw(gpu, str(first + i), (i * 20, 14))
        p.truth.append(Step(ANY, ANY, i * 20, None, ANY, ANY))
    return p
