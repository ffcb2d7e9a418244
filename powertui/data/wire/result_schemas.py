"""The messages in which TensorBoard's profiler stores its own results.

From tensorflow/core/profiler/protobuf and, since 2024, plugin/xprof/protobuf: overview_page,
input_pipeline, tpu_input_pipeline, tf_stats, kernel_stats, power_metrics, diagnostics; held against
the descriptors in xprof 2.24.2. Fields have the names that TensorFlow gives them: pages show them
by name. Those with ":?" came later: where a file does not hold one, nobody knows whether it is 0 or
its writer did not know it.
"""

from __future__ import annotations

RESULT_SCHEMAS: dict[str, str] = {
    "OverviewPage": """
        run_environment 6 OverviewEnvironment, input_analysis 2 InputPipelineAnalysisResult,
        analysis 3 OverviewAnalysis, recommendation 4 OverviewRecommendation,
        diagnostics 8 ProfilerDiagnostics, inference_latency 9 OverviewInferenceLatency,
        disaggregated_serving_latency 10 ServingLatency
    """,
    "OverviewOp": """
        name 1 string, category 2 string, self_time_fraction 3 double,
        cumulative_time_fraction 4 double, flop_rate 5 double, is_op_tensorcore_eligible 6 bool,
        is_op_using_tensorcore 7 bool
    """,
    "OverviewAnalysis": """
        mxu_utilization_percent 1 double, device_idle_time_percent 2 double,
        host_idle_time_percent 3 double, top_device_ops 4 [OverviewOp], remark_text 5 string,
        remark_color 6 string, flop_rate_utilization_relative_to_roofline_percent 7 double,
        memory_bw_utilization_relative_to_hw_limit_percent 8 double,
        device_compute_16bit_percent 9 double, device_compute_32bit_percent 10 double,
        host_tf_op_percent 11 double, device_tf_op_percent 12 double, host_trace_level 13 uint32,
        host_op_time_eager_percent 14 double, device_op_time_eager_percent 15 double,
        device_op_time_outside_compilation_percent 16 double, device_duty_cycle_percent 17 double,
        program_goodput_percent 18 double :?, sc_step_time_ms_average 19 double :?,
        sc_infeed_time_ms_avg 20 double :?, sc_outfeed_time_ms_avg 21 double :?,
        sc_idle_time_ms_avg 22 double :?, fw_max_vdd_core_pl1_power_watts 23 double :?,
        fw_max_vdd_core_pl2_power_watts 24 double :?, fw_max_vdd_core_pl3_power_watts 25 double :?,
        fw_max_vdd_core_pl4_power_watts 26 double :?, fw_max_hbm_pl1_power_watts 27 double :?,
        fw_max_hbm_pl2_power_watts 28 double :?, fw_max_hbm_pl3_power_watts 29 double :?,
        fw_max_hbm_pl4_power_watts 30 double :?, hbm_utilization_percent 31 double :?,
        program_goodput_high_confidence_percent 61 double :?,
        device_duty_cycle_high_confidence_percent 62 double :?, has_program_goodput 63 bool :?,
        idle_time_high_confidence_ps 64 double :?, active_step_time_ms_average 65 double :?,
        tc_active_time_ms_average 66 double :?, sc_active_time_ms_average 67 double :?
    """,
    "OverviewTip": "link 1 string",
    "OverviewRecommendation": """
        bottleneck 1 string, statement 2 string, input_tips 11 [OverviewTip],
        output_statement 9 string, eager_statement_html 12 string,
        outside_compilation_statement_html 13 string, tf_function_statement_html 10 string,
        host_tips 3 [OverviewTip], device_tips 4 [OverviewTip], documentation_tips 5 [OverviewTip],
        recommendation 6 ProtobufAny, faq_tips 7 [OverviewTip], inference_tips 8 [OverviewTip]
    """,
    "GenericRecommendation": """
        kernel_launch_bottleneck 1 string, kernel_launch_statement 2 string,
        all_other_bottleneck 3 string, all_other_statement 4 string, precision_statement 5 string,
        device_collectives_bottleneck 6 string, device_collectives_statement 7 string
    """,
    "OverviewJob": """
        change_list 1 int64, build_time 2 int64, build_target 3 string,
        profile_duration_ms 4 uint32, workspace_id 5 string :?, snapshot 6 int64 :?
    """,
    "OverviewHostJob": """
        host_id 1 string, command_line 2 string, start_time 3 int64, bns_address 4 string,
        profile_time_ns 5 uint64
    """,
    "PowerMetrics": "power_component_metrics 1 [PowerComponentMetrics]",
    "PowerComponentMetrics": """
        component_name 1 string, max_power 2 double, avg_power 3 double,
        max_moving_avg_power_100us 4 double, max_moving_avg_power_1ms 5 double,
        max_moving_avg_power_10ms 6 double, timescale_us 7 uint32, sample_count 8 uint64,
        max_moving_avg_power_1s 9 double
    """,
    "OverviewInferenceLatency": """
        percentile_numbers 1 [double], latency_breakdowns 2 [OverviewLatencyBreakdown],
        max_latency_us 3 double, min_latency_us 4 double, sessions_per_second 5 double
    """,
    "ServingLatency": """
        prefill_step_time_us 1 ServingQuantiles, num_prefill_steps 2 int64,
        decode_step_time_us 3 ServingQuantiles, num_decode_steps 4 int64
    """,
    "ServingQuantiles": "avg 1 double, p50 2 double, p90 3 double, p95 4 double, p99 5 double",
    "OverviewLatencyBreakdown": """
        total_latency_us 1 double, host_latency_us 2 double, device_latency_us 3 double,
        communication_latency_us 4 double
    """,
    "OverviewHostname": "key 1 string, value 2 bool",
    "OverviewEnvironment": """
        host_count 1 int32, task_count 2 int32, hostnames 3 [OverviewHostname],
        device_type 4 string, device_core_count 5 int32, host_independent_job_info 7 OverviewJob,
        host_dependent_job_info 8 [OverviewHostJob], replica_count 9 int32,
        num_cores_per_replica 10 int32, is_training 11 bool, power_metrics 12 PowerMetrics
    """,
    "ProfilerDiagnostics": "info 1 [string], warnings 2 [string], errors 3 [string]",
    "ProtobufAny": "type_url 1 string, value 2 bytes",
    "BottleneckAnalysis": """
        input_percent 7 double, output_percent 8 double, idle_percent 9 double,
        compute_percent 10 double, input_classification 1 string, input_statement 2 string,
        kernel_launch_classification 3 string, kernel_launch_statement 4 string,
        all_other_classification 5 string, all_other_statement 6 string,
        device_collectives_classification 11 string, device_collectives_statement 12 string
    """,
    "StepSummary": (
        "average 1 double, standard_deviation 2 double, minimum 3 double, maximum 4 double"
    ),
    "PerGenericStepDetails": """
        step_number 1 int32, step_name 14 string, step_time_ms 2 double, unknown_time_ms 3 double,
        host_wait_input_ms 11 double, host_to_device_ms 12 double, output_ms 5 double,
        device_compute_ms 6 double, device_to_device_ms 7 double, device_collectives_ms 13 double,
        host_compute_ms 8 double, host_prepare_ms 9 double, host_compile_ms 10 double
    """,
    "InputTimeBreakdown": """
        demanded_file_read_us 1 double, advanced_file_read_us 2 double, preprocessing_us 3 double,
        enqueue_us 4 double, unclassified_non_enqueue_us 5 double
    """,
    "InputOpDetails": """
        op_name 1 string, count 2 uint64, time_in_ms 3 double, time_in_percent 4 double,
        self_time_in_ms 5 double, self_time_in_percent 6 double, category 7 string
    """,
    "InputRecommendation": """
        details 1 [string], bottleneck_analysis 2 ProtobufAny, summary_next_step 3 string
    """,
    "GenericStepTimeBreakdown": """
        unknown_time_ms_summary 1 StepSummary, host_wait_input_ms_summary 9 StepSummary,
        host_to_device_ms_summary 10 StepSummary, input_ms_summary 11 StepSummary,
        output_ms_summary 3 StepSummary, device_compute_ms_summary 4 StepSummary,
        device_to_device_ms_summary 5 StepSummary, device_collectives_ms_summary 12 StepSummary,
        host_compute_ms_summary 6 StepSummary, host_prepare_ms_summary 7 StepSummary,
        host_compile_ms_summary 8 StepSummary
    """,
    "PerTpuStepDetails": """
        step_number 1 int32, tc_compute_time_ms 13 double, tc_idle_time_ms 14 double,
        tc_outfeed_time_ms 15 double, tc_infeed_time_ms 3 double, infeed_percent_average 4 double,
        infeed_percent_minimum 5 double, infeed_percent_maximum 6 double,
        coreid_max_infeed_time 7 uint32, max_infeed_time_core_name 25 string,
        all_reduce_compute_time_ms 11 double, all_reduce_sync_time_ms 12 double,
        scv0_compute_time_ms 16 double, scv0_infeed_time_ms 17 double, host_transfer_ms 18 double,
        sc_compute_time_ms 20 double, sc_idle_time_ms 21 double, sc_outfeed_time_ms 22 double,
        sc_infeed_time_ms 23 double, sc_step_time_ms 24 double, tc_active_time_ms 26 double,
        sc_active_time_ms 27 double, active_step_time_ms 28 double
    """,
    "TpuStepTimeBreakdown": """
        tc_compute_ms_summary 1 StepSummary, scv0_compute_ms_summary 2 StepSummary,
        tc_infeed_ms_summary 3 StepSummary, tc_outfeed_ms_summary 6 StepSummary,
        scv0_infeed_ms_summary 4 StepSummary, tc_idle_ms_summary 5 StepSummary,
        host_transfer_ms_summary 7 StepSummary, sparse_core_step_summary 8 SparseCoreStepSummary,
        tc_active_ms_summary 9 StepSummary, active_step_time_ms_summary 10 StepSummary
    """,
    "SparseCoreStepSummary": """
        sc_compute_ms_summary 1 StepSummary, sc_infeed_ms_summary 2 StepSummary,
        sc_outfeed_ms_summary 3 StepSummary, sc_idle_ms_summary 4 StepSummary,
        sc_step_time_ms_summary 5 StepSummary, sc_active_ms_summary 6 StepSummary
    """,
    "TpuBottleneckAnalysis": """
        input_percent 11 double, input_classification 1 string, input_statement 2 string,
        output_percent 12 double, output_classification 9 string, output_statement 10 string,
        tc_idle_percent 13 double, tc_idle_classification 3 string, tc_idle_statement 4 string,
        scv0_classification 5 string, scv0_statement 6 string, all_reduce_classification 7 string,
        all_reduce_statement 8 string, compute_percent 14 double
    """,
    "InputPipelineAnalysisResult": """
        hardware_type 9 string, step_time_summary 2 StepSummary,
        input_percent_summary 3 StepSummary, input_percent 11 double, output_percent 13 double,
        idle_percent 14 double, compute_percent 15 double, step_details 4 [ProtobufAny],
        input_time_breakdown 5 InputTimeBreakdown, input_op_details 6 [InputOpDetails],
        recommendation 7 InputRecommendation, step_time_breakdown 8 ProtobufAny,
        diagnostics 12 ProfilerDiagnostics, tag 16 bool :?
    """,
    "TfStatsDatabase": """
        with_idle 4 TfStatsTable, without_idle 5 TfStatsTable, device_type 6 string
    """,
    "TfStatsTable": """
        tf_stats_record 1 [TfStatsRecord], host_tf_pprof_key 2 string,
        device_tf_pprof_key 3 string
    """,
    "TfStatsRecord": """
        rank 1 uint64, host_or_device 2 string, op_type 3 string, op_name 4 string,
        occurrences 5 int64, total_time_in_us 6 double, avg_time_in_us 7 double,
        total_self_time_in_us 8 double, avg_self_time_in_us 9 double,
        device_total_self_time_as_fraction 10 double,
        device_cumulative_total_self_time_as_fraction 11 double,
        host_total_self_time_as_fraction 12 double,
        host_cumulative_total_self_time_as_fraction 13 double, measured_flop_rate 14 double,
        measured_memory_bw 15 double, operational_intensity 16 double, bound_by 17 string,
        is_eager 18 bool, gpu_tensorcore_utilization 19 double, model_flop_rate 20 double :?,
        hbm_bw 21 double :?, cmem_read_bw 22 double :?, cmem_write_bw 23 double :?,
        vmem_read_bw 24 double :?, vmem_write_bw 25 double :?,
        hbm_operational_intensity 26 double :?, cmem_read_operational_intensity 27 double :?,
        cmem_write_operational_intensity 28 double :?,
        vmem_read_operational_intensity 29 double :?,
        vmem_write_operational_intensity 30 double :?,
        bottleneck_operational_intensity 31 double :?, flops 32 uint64 :?,
        bytes_accessed 33 uint64 :?, flops_v2 34 double :?
    """,
    "KernelStatsDb": "reports 1 [KernelReport]",
    "KernelReport": """
        name 1 string, registers_per_thread 2 uint32, static_shmem_bytes 3 uint32,
        dynamic_shmem_bytes 4 uint32, block_dim 5 [uint32], grid_dim 6 [uint32],
        total_duration_ns 7 uint64, min_duration_ns 8 uint64, max_duration_ns 9 uint64,
        is_kernel_using_tensor_core 10 bool, is_op_tensor_core_eligible 11 bool,
        op_name 12 string, occurrences 13 uint32, occupancy_pct 14 float
    """,
}
