"""What to do, in the words of the framework that a program is written with."""

from __future__ import annotations

from powertui.data.tools.framework import Framework

READ_AHEAD = {
    Framework.TENSORFLOW: "Read in parallel and ahead: dataset.map(…, num_parallel_calls="
    "tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE).",
    Framework.PYTORCH: "Give the DataLoader more workers (num_workers), pin_memory=True and "
    "persistent_workers=True.",
    Framework.JAX: "Prepare batches in another thread or process, and copy them to the device "
    "ahead.",
    Framework.UNKNOWN: "Read and prepare batches in parallel and ahead.",
}
LAUNCH_LESS = {
    Framework.TENSORFLOW: "Launch less: larger batches, tf.function, jit_compile=True, "
    "steps_per_execution.",
    Framework.PYTORCH: "Launch less: larger batches, torch.compile, CUDA graphs, fused optimizers.",
    Framework.JAX: "Launch less: larger batches, jit over the whole step, lax.scan over several.",
    Framework.UNKNOWN: "Launch less: larger batches, compiled steps, fewer small ops.",
}
LESS_PYTHON = {
    Framework.TENSORFLOW: "Move it into tf.data or a tf.function, or into another process.",
    Framework.PYTORCH: "Move it into the workers of a DataLoader, or into tensors' operators.",
    Framework.JAX: "Move it into jit, or into another process that runs ahead.",
    Framework.UNKNOWN: "Do it once before the training, or in another process that runs ahead.",
}
MIXED_PRECISION = {
    Framework.TENSORFLOW: "Try keras.mixed_precision.set_global_policy('mixed_bfloat16').",
    Framework.PYTORCH: "Try torch.autocast with bfloat16.",
    Framework.JAX: "Try bfloat16 for parameters and activations.",
    Framework.UNKNOWN: "Try mixed precision.",
}
COMPILE_STEP = {
    Framework.TENSORFLOW: "Wrap the step in tf.function.",
    Framework.PYTORCH: "Compile the step: torch.compile.",
    Framework.JAX: "Wrap the step in jax.jit.",
    Framework.UNKNOWN: "Compile the step.",
}
COPY_AHEAD = {
    Framework.TENSORFLOW: "Copy ahead: tf.data's prefetch_to_device, or keep the data on the "
    "device.",
    Framework.PYTORCH: "Copy ahead: pin_memory=True and .to(device, non_blocking=True), or keep "
    "the data on the device.",
    Framework.JAX: "Copy ahead: jax.device_put of the next batch, or keep the data on the device.",
    Framework.UNKNOWN: "Copy the next batch while this one computes.",
}
KEEP_MEMORY = {
    Framework.TENSORFLOW: "Use smaller batches, or leave more memory to this program.",
    Framework.PYTORCH: "Leave out torch.cuda.empty_cache() in the loop. Else use smaller batches, "
    "or PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
    Framework.JAX: "Let JAX keep memory: no XLA_PYTHON_CLIENT_ALLOCATOR=platform. Else use smaller "
    "batches.",
    Framework.UNKNOWN: "Use smaller batches, or keep memory from step to step.",
}
EXAMINE_INPUT = {
    Framework.TENSORFLOW: "See which op of the pipeline takes the time.",
    Framework.PYTORCH: "See in the timeline what the DataLoader's threads do while steps wait.",
    Framework.JAX: "See in the timeline what prepares the batches while steps wait.",
    Framework.UNKNOWN: "See in the timeline what prepares the batches while steps wait.",
}
EXAMINE_OTHER_INPUT = {
    Framework.TENSORFLOW: "Move it into tf.data, where it can run ahead.",
    Framework.PYTORCH: "Move it into the dataset, where the DataLoader's workers run it ahead.",
    Framework.JAX: "Move it into the thread or process that prepares batches ahead.",
    Framework.UNKNOWN: "Move it into what prepares batches ahead.",
}
PREPARE_IN_PARALLEL = {
    Framework.TENSORFLOW: "Raise num_parallel_calls of map(), or preprocess once before training.",
    Framework.PYTORCH: "Raise num_workers of the DataLoader, or preprocess once before training.",
    Framework.JAX: "Prepare in several processes, or once before training.",
    Framework.UNKNOWN: "Prepare in parallel, or once before training.",
}
