"""The parts of the Python package that mutants are made of, and the tests that must notice them."""

from __future__ import annotations

from tests.mutants.parts import Part

# Each takes ten seconds.
SLOW_STUDY = (
    "--deselect=tests/unit/test_study_answers.py::test_plans_by_rate_join_and_none_is_beaten_inside"
)
SLOW_FIT = (
    "--deselect=tests/unit/test_own_rows.py::test_three_steps_are_worth_more_than_a_stack_of_others"
)

PYTHON_PARTS = {
    "link": Part(
        ("src/yantra/tracing/pytorch/link/*.py",),
        (
            "tests/unit/test_link_inferred.py",
            "tests/unit/test_link.py",
            "tests/unit/test_link_alone.py",
            "tests/unit/test_launch_calls.py",
            "tests/unit/test_launches.py",
            "tests/property/test_link.py",
        ),
    ),
    "closed form": Part(
        ("src/yantra/explore/closed_form/*.py",),
        (
            "tests/property/test_closed_form_exact.py",
            "tests/property/test_closed_form_run.py",
            "tests/property/test_closed_form_gradients.py",
            "tests/property/test_closed_form_sharded.py",
            "tests/property/test_closed_form_layouts.py",
            "tests/property/test_closed_form_adapters.py",
            "tests/property/test_closed_form_on_stack.py",
            "tests/property/test_closed_form_cases.py",
            "tests/property/test_closed_form.py",
        ),
    ),
    "studies": Part(
        ("src/yantra/explore/study/*.py",),
        (
            "tests/property/test_pareto.py",
            "tests/golden/test_goodput.py",
            "tests/unit/test_study_journal.py",
            "tests/unit/test_study.py",
            "tests/unit/test_study_answers.py",
            SLOW_STUDY,
            "tests/unit/test_explore_python.py",
            "tests/golden/test_comet.py",
        ),
    ),
    "answers": Part(
        ("src/yantra/explore/answers/*.py", "src/yantra/explore/pages/*.py"),
        (
            "tests/unit/test_why_not.py",
            "tests/unit/test_explore_python.py",
            "tests/unit/test_study_answers.py",
            SLOW_STUDY,
            "tests/unit/test_figures.py",
            "tests/unit/test_room.py",
            "tests/property/test_refine.py",
            "tests/property/test_explore_laws.py",
        ),
    ),
    "result": Part(
        ("src/yantra/result/*.py",),
        (
            "tests/unit/test_result_sums.py",
            "tests/unit/test_what_ran.py",
            "tests/unit/test_result.py",
            "tests/unit/test_waiting.py",
            "tests/unit/test_link_load.py",
            "tests/unit/test_result_summary.py",
            "tests/property/test_result_accounting.py",
            "tests/unit/test_bounds.py",
            "tests/unit/test_arrow_stream.py",
            "tests/unit/test_packet_tables.py",
            "tests/unit/test_result_files.py",
            "tests/unit/test_partial.py",
            "tests/unit/test_explain.py",
            "tests/unit/test_removal.py",
            "tests/unit/test_advice.py",
            "tests/unit/test_comparison.py",
            "tests/unit/test_recording.py",
            "tests/unit/test_figures.py",
            "tests/property/test_tables.py",
            "tests/property/test_energy_laws.py",
            "tests/unit/test_retarget.py",
            "tests/unit/test_background.py",
            "tests/unit/test_failures.py",
            "tests/unit/test_side_by_side.py",
            "tests/unit/test_stacks.py",
            "tests/unit/test_what_is_not_known.py",
        ),
    ),
    "accuracy": Part(
        ("src/yantra/accuracy/*.py",),
        (
            "tests/unit/test_mixture.py",
            "tests/unit/test_deepep.py",
            "tests/unit/test_nccl_logs.py",
            "tests/unit/test_kernel_accuracy.py",
            "tests/unit/test_collective_accuracy.py",
            "tests/unit/test_stack_files.py",
            "tests/unit/test_own_rows.py",
            SLOW_FIT,
            "tests/unit/test_own_stack.py",
            "tests/unit/test_accuracy_default.py",
            "tests/unit/test_accuracy_tables.py",
            "tests/unit/test_inference_accuracy.py",
            "tests/unit/test_accuracy_figures.py",
            "tests/unit/test_accuracy_runs.py",
            *(
                f"tests/validation/test_accuracy_suite.py::{test}"
                for test in (
                    "test_errors_with_a_known_stack_do_not_grow",
                    "test_the_sum_that_factors_are_fitted_to_is_near_the_runs",
                    "test_peak_memory_is_within_three_per_cent_in_the_mean",
                    "test_totals_are_means_over_their_rows",
                    "test_every_row_is_predicted",
                )
            ),
            "tests/unit/test_microbench.py",
            "tests/unit/test_microbench_gpu.py",
        ),
    ),
    "compute": Part(
        ("src/yantra/compute/*.py", "src/yantra/compute/*/*.py"),
        (
            "tests/unit/test_products.py",
            "tests/unit/test_profiles.py",
            "tests/unit/test_compute_models.py",
            "tests/unit/test_measured.py",
            "tests/unit/test_interference.py",
            "tests/unit/test_described_devices.py",
            "tests/unit/test_devices.py",
            "tests/unit/test_systolic.py",
            "tests/unit/test_expert_spread.py",
            "tests/golden/test_gemm_tiles.py",
            "tests/golden/test_scale_sim.py",
            "tests/property/test_systolic_laws.py",
            "tests/unit/test_kernel_accuracy.py",
        ),
    ),
}
