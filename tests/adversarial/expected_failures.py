"""Rows that are told wrongly so far, and how. A row that is told rightly has to leave this list: its test says so."""

OPEN: dict[str, str] = {
    "ahead_on_two_devices_with_a_straggler_and_a_cut_end": "wrongly told: number, device_s, step_s",
    "a_step_that_the_end_cut_on_a_device": "wrongly told: steps",
    "two_hosts_that_run_ahead_and_are_cut": "wrongly told: number, device_s, step_s",
    "a_line_whose_first_step_began_before_the_profile": "wrongly told: steps",
    "dispatched_ahead_and_cut_at_the_end": "wrongly told: number, device_s, step_s",
    "modules_in_order_without_correlation": "wrongly told: device_s, step_s",
    "cut_on_one_of_two_devices": "wrongly told: number, device_s, step_s",
    "marks_within_marks": "wrongly told: nobody can tell",
    "two_marks_that_share_the_time": "wrongly told: nobody can tell",
    "an_evaluator_on_its_own_thread": "wrongly told: phase",
    "validation_on_other_threads": "wrongly told: phase",
    "random_009": "wrongly told: number, host_s, device_s, step_s, phase",
    "random_016": "wrongly told: number, epoch, host_s, device_s, step_s, phase",
    "random_041": "wrongly told: number, host_s, device_s, step_s",
    "random_045": "wrongly told: phase",
    "random_047": "wrongly told: number, host_s, device_s, step_s",
    "numbers_in_no_order": "wrongly told: epoch, epochs",
    "restored_from_a_checkpoint": "wrongly told: epoch, epochs",
}
