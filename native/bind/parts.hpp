// Register functions, one for each .cpp of this folder.
#pragma once

#include <nanobind/nanobind.h>

namespace yantra {

void register_trace(nanobind::module_& module);
void register_graph(nanobind::module_& module);
void register_surveys(nanobind::module_& module);
void register_recorder(nanobind::module_& module);
void register_replay(nanobind::module_& module);
void register_linked(nanobind::module_& module);
void register_linking(nanobind::module_& module);
void register_encoder(nanobind::module_& module);   // for passes of the player
void register_player(nanobind::module_& module);
void register_templates(nanobind::module_& module);
void register_parameters(nanobind::module_& module);
void register_fabric(nanobind::module_& module);
void register_flows(nanobind::module_& module);
void register_packets(nanobind::module_& module);
void register_seen_packets(nanobind::module_& module);
void register_noc(nanobind::module_& module);
void register_networks(nanobind::module_& module);
void register_jobs(nanobind::module_& module);
void register_schedules(nanobind::module_& module);
void register_builder(nanobind::module_& module);
void register_outcome(nanobind::module_& module);
void register_folding(nanobind::module_& module);
void register_simulation(nanobind::module_& module);
void register_recording(nanobind::module_& module);
void register_timelines(nanobind::module_& module);
void register_tables(nanobind::module_& module);
void register_arrow(nanobind::module_& module);
void register_synthesis(nanobind::module_& module);
void register_serving(nanobind::module_& module);
void register_post_training(nanobind::module_& module);

}  // namespace yantra
