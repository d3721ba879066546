// Python's view of Model, Simulation and Outcome.
//
// A Model is filled by `yantra.compile`, which knows names, units and files; here are only numbers.
// Columns of an Outcome are shared, not copied: each memoryview keeps its owner alive.
#include "bind/sim_bind.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/unsupported.hpp"
#include "bind/columns.hpp"
#include "bind/simulation_class.hpp"
#include "fold/folding.hpp"
#include "model/model.hpp"
#include "run/outcome.hpp"
#include "accounting/statistics.hpp"
#include "workload/checks.hpp"
#include "workload/lowering.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

// One exchange run: count, out, into, by_xor, num, den, reduce_num, reduce_den, from_memory, back.
using RunTuple = std::tuple<u64, i32, i32, bool, u64, u64, u64, u64, bool, bool>;
// One graph operation: kind, peer, num, den, reduce_num, reduce_den, dependencies, from_memory, back.
using OpTuple = std::tuple<u32, u32, u64, u64, u64, u64, std::vector<u32>, bool, bool, bool>;
// One level: size, stride, index stride, dimension, fixed_hand_over, programs by kind, alternates by kind, turn.
using LevelTuple = std::tuple<u32, u32, u32, u32, bool, std::array<u32, collective_kinds>,
                              std::array<u32, collective_kinds>, u32>;

// A number for every rank.
using RankColumn = nb::ndarray<const u32, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr i32 collective_node = 7;  // Chakra's COMM_COLL_NODE

u32 add_program(Model& model, Program program, const std::pair<u64, u64>& result, bool round_up) {
    program.result = {result.first, result.second};
    program.round_up = round_up;
    model.programs.push_back(std::move(program));
    return static_cast<u32>(model.programs.size() - 1);
}

u32 add_exchange(Model& model, const std::vector<RunTuple>& runs, u64 window, u64 sends,
                 u64 barrier_at, u64 barrier_receipts, bool barrier_counts_hand_overs,
                 std::pair<u64, u64> result, bool round_up) {
    ExchangeProgram machine;
    machine.window = window;
    machine.sends = sends;
    machine.barrier_at = barrier_at;
    machine.barrier_receipts = barrier_receipts;
    machine.barrier_counts_hand_overs = barrier_counts_hand_overs;
    for (const auto& [count, out, into, by_xor, num, den, reduce_num, reduce_den, from_memory, back] :
         runs) {
        machine.runs.push_back({count, out, into, by_xor, {num, den}, {reduce_num, reduce_den},
                                from_memory, back});
        machine.neighbours_only = machine.neighbours_only && !by_xor && (out == 1 || out == -1);
    }
    return add_program(model, {std::move(machine), {}, false}, result, round_up);
}

u32 add_graph(Model& model, const std::vector<std::vector<OpTuple>>& positions, u32 symmetry,
              std::pair<u64, u64> result, bool round_up) {
    GraphProgram machine;
    machine.symmetry = static_cast<Symmetry>(symmetry);
    for (const std::vector<OpTuple>& ops : positions) {
        const std::size_t first = machine.ops.size();
        machine.first_op.push_back(static_cast<u32>(first));
        std::vector<std::vector<u32>> successors(ops.size());
        for (u32 i = 0; i < ops.size(); ++i) {
            const auto& [kind, peer, num, den, reduce_num, reduce_den, deps, from_memory, back,
                         back_if_last] = ops[i];
            machine.ops.push_back({static_cast<GraphOp::Kind>(kind), peer, {num, den},
                                   {reduce_num, reduce_den}, from_memory, back, back_if_last,
                                   static_cast<u32>(deps.size()), 0, 0});
            for (u32 dep : deps) {
                successors.at(dep).push_back(i);
            }
        }
        for (u32 i = 0; i < ops.size(); ++i) {
            GraphOp& op = machine.ops[first + i];
            op.first_successor = static_cast<u32>(machine.successors.size());
            machine.successors.insert(machine.successors.end(), successors[i].begin(),
                                      successors[i].end());
            op.last_successor = static_cast<u32>(machine.successors.size());
        }
    }
    machine.first_op.push_back(static_cast<u32>(machine.ops.size()));
    return add_program(model, {std::move(machine), {}, false}, result, round_up);
}

u32 add_plan(Model& model, const std::vector<LevelTuple>& levels, bool over_members,
             u32 communicator_size, std::optional<u32> custom, bool masked, bool shared_load) {
    Plan plan;
    for (const auto& [size, stride, index_stride, dimension, fixed, program, alternate, turn] : levels) {
        plan.levels.push_back({size, stride, index_stride, dimension, fixed, program, alternate, turn});
    }
    plan.over_members = over_members;
    plan.communicator_size = communicator_size;
    plan.custom = custom.value_or(none);
    plan.masked = masked;
    plan.shared_load = shared_load;
    model.plans.push_back(std::move(plan));
    return static_cast<u32>(model.plans.size() - 1);
}

u32 add_custom(Model& model, const std::vector<std::shared_ptr<Graph>>& graphs, bool over_members) {
    CustomCollective custom;
    custom.over_members = over_members;
    custom.hash_order = model.quirks.hash_order_custom;
    for (const std::shared_ptr<Graph>& graph : graphs) {
        custom.positions.push_back(prepare_custom(graph));
    }
    model.custom.push_back(std::move(custom));
    return static_cast<u32>(model.custom.size() - 1);
}

using ProblemTuple = std::tuple<u32, bool, std::string>;

std::vector<ProblemTuple> as_tuples(const std::vector<Problem>& problems) {
    std::vector<ProblemTuple> tuples;
    for (const Problem& problem : problems) {
        tuples.emplace_back(problem.node, problem.unsupported, problem.text);
    }
    return tuples;
}

// The distinct (group name, comm_type) of the collectives of a graph; an absent name is "".
std::vector<std::pair<std::string, u64>> used_collectives(const Graph& graph) {
    std::set<std::pair<std::string, u64>> used;
    std::pair<i32, u64> last{-3, 0};
    for (u32 node = 0; node < graph.size(); ++node) {
        if (graph.type[node] != collective_node ||
            graph.comm_type.kind_of(node) != IntColumn::integer) {
            continue;
        }
        const std::pair<i32, u64> now{graph.pg_name[node], graph.comm_type.value[node]};
        if (now != last) {
            last = now;
            used.emplace(now.first >= 0 ? graph.pg_names[static_cast<std::size_t>(now.first)] : "",
                         now.second);
        }
    }
    return {used.begin(), used.end()};
}

std::pair<std::shared_ptr<Job>, std::vector<ProblemTuple>> lower_graph(std::shared_ptr<Graph> graph,
                                                                       const LowerOptions& options) {
    std::vector<Problem> problems;
    std::shared_ptr<const Job> job;
    {
        nb::gil_scoped_release release;
        job = lower(std::move(graph), options, problems);
    }
    return {std::const_pointer_cast<Job>(job), as_tuples(problems)};
}

void bind_parameters(nb::module_& module) {
    nb::class_<Quirks>(module, "Quirks")
        .def(nb::init<>())
        .def_rw("padded_chunks", &Quirks::padded_chunks)
        .def_rw("half_queues", &Quirks::half_queues)
        .def_rw("send_completes_on_arrival", &Quirks::send_completes_on_arrival)
        .def_rw("lowest_dimension_only", &Quirks::lowest_dimension_only)
        .def_rw("sizes_of_32_bits", &Quirks::sizes_of_32_bits)
        .def_rw("bus_charges_reduction_twice", &Quirks::bus_charges_reduction_twice)
        .def_rw("hash_order_custom", &Quirks::hash_order_custom)
        .def_rw("phases_as_ready", &Quirks::phases_as_ready)
        .def_rw("no_duration_takes_a_nanosecond", &Quirks::no_duration_takes_a_nanosecond)
        .def_rw("mismatched_collectives_meet", &Quirks::mismatched_collectives_meet)
        .def_rw("whole_microseconds", &Quirks::whole_microseconds);
    nb::class_<SystemParameters>(module, "SystemParameters")
        .def(nb::init<>())
        .def_prop_rw("priority", [](const SystemParameters& s) { return static_cast<u32>(s.priority); },
                     [](SystemParameters& s, u32 v) { s.priority = static_cast<Priority>(v); })
        .def_prop_rw("inter_dimension",
                     [](const SystemParameters& s) { return static_cast<u32>(s.inter_dimension); },
                     [](SystemParameters& s, u32 v) { s.inter_dimension = static_cast<InterDimension>(v); })
        .def_prop_rw("intra_dimension",
                     [](const SystemParameters& s) { return static_cast<u32>(s.intra_dimension); },
                     [](SystemParameters& s, u32 v) { s.intra_dimension = static_cast<IntraDimension>(v); })
        .def_rw("local_bw_aware", &SystemParameters::local_bw_aware)
        .def_rw("chunks", &SystemParameters::chunks)
        .def_rw("active_chunks", &SystemParameters::active_chunks)
        .def_rw("queues_per_dimension", &SystemParameters::queues_per_dimension)
        .def_rw("endpoint_delay", &SystemParameters::endpoint_delay)
        .def_rw("group_hand_over", &SystemParameters::group_hand_over)
        .def_rw("local_reduction_delay", &SystemParameters::local_reduction_delay)
        .def_rw("memory_bytes_per_s", &SystemParameters::memory_bytes_per_s)
        .def_rw("rendezvous", &SystemParameters::rendezvous)
        .def_rw("custom_work_takes_no_time", &SystemParameters::custom_work_takes_no_time)
        .def("set_bus", [](SystemParameters& s, u64 latency, u64 overhead, u64 gap, double per_byte) {
            s.bus = {true, latency, overhead, gap, per_byte};
        });
    nb::class_<ResourceMap>(module, "ResourceMap")
        .def(nb::init<>())
        .def_rw("capacity", &ResourceMap::capacity)
        .def_rw("cpu", &ResourceMap::cpu)
        .def_rw("compute", &ResourceMap::compute)
        .def_rw("memory", &ResourceMap::memory)
        .def_rw("collective", &ResourceMap::collective)
        .def_rw("send", &ResourceMap::send);
}

void bind_lowering(nb::module_& module) {
    nb::class_<Roofline>(module, "Roofline")
        .def(nb::init<>())
        .def_rw("enabled", &Roofline::enabled)
        .def_rw("peak_flops", &Roofline::peak_flops)
        .def_rw("memory_bytes_per_s", &Roofline::memory_bytes_per_s);
    nb::class_<LowerOptions>(module, "LowerOptions")
        .def(nb::init<>())
        .def("use_picoseconds", [](LowerOptions& o) { o.scale = TimeScale::picoseconds(); })
        .def_rw("replay_only", &LowerOptions::replay_only)
        .def_rw("cpu_slots_count", &LowerOptions::cpu_slots_count)
        .def_rw("compute_slots_count", &LowerOptions::compute_slots_count)
        .def_rw("roofline", &LowerOptions::roofline)
        .def_rw("resources", &LowerOptions::resources)
        .def_rw("dimensions", &LowerOptions::dimensions)
        .def_rw("remote_memory", &LowerOptions::remote_memory)
        .def_rw("tracks_tensors", &LowerOptions::tracks_tensors)
        .def_rw("communicators", &LowerOptions::communicators)
        .def_rw("is_template", &LowerOptions::is_template)
        .def_rw("peers", &LowerOptions::peers)
        .def_rw("custom_by_node", &LowerOptions::custom_by_node)
        .def_rw("offered_kinds", &LowerOptions::offered_kinds)
        .def_rw("covered", &LowerOptions::covered)
        .def("set_impossible", [](LowerOptions& o, u32 kind, u32 dimension, bool last,
                                  const std::string& why) {
            o.impossible[{kind, dimension, last}] = why;
        })
        .def_rw("missing_is_cpu_op_means_cpu", &LowerOptions::missing_is_cpu_op_means_cpu)
        .def_rw("skipped_nodes_do_not_wake", &LowerOptions::skipped_nodes_do_not_wake)
        .def_rw("broadcast_is_a_timer", &LowerOptions::broadcast_is_a_timer)
        .def_rw("zero_op_kernel_never_ends", &LowerOptions::zero_op_kernel_never_ends)
        .def_rw("zero_byte_kernel_is_skipped", &LowerOptions::zero_byte_kernel_is_skipped)
        .def_rw("no_duration_takes_a_nanosecond", &LowerOptions::no_duration_takes_a_nanosecond)
        .def_rw("whole_microseconds", &LowerOptions::whole_microseconds)
        .def_rw("takes_no_time", &LowerOptions::takes_no_time);
}

void bind_model(nb::module_& module) {
    nb::class_<Job>(module, "Job").def("__len__", [](const Job& job) { return job.ops.size(); });
    module.def("lower", &lower_graph, "graph"_a, "options"_a);
    module.def("used_collectives", &used_collectives, "graph"_a);
    module.def("check_custom", [](const Graph& graph, u32 positions, bool whole_microseconds) {
        return as_tuples(check_custom(graph, positions, whole_microseconds));
    }, "graph"_a, "positions"_a, "whole_microseconds"_a = false);
    nb::class_<BlockTable>(module, "BlockTable")
        .def(nb::init<u32, u32, std::vector<u32>, std::vector<u32>, std::vector<u32>>(), "ranks"_a,
             "devices"_a, "link_from"_a, "link_to"_a, "next_link"_a);
    nb::class_<Model>(module, "Model")
        .def(nb::init<>())
        .def("use_picoseconds", [](Model& m) { m.scale = TimeScale::picoseconds(); })
        .def_rw("quirks", &Model::quirks)
        .def_rw("system", &Model::system)
        .def_rw("resources", &Model::resources)
        .def("add_dimension", [](Model& m, u32 block, u32 size, double bytes_per_ns, double latency_ns,
                                double weight) {
            m.dimensions.push_back(
                {static_cast<Block>(block), size, bytes_per_ns, latency_ns, weight});
        })
        .def("set_table", [](Model& m, u32 dimension, std::shared_ptr<BlockTable> table) {
            m.dimensions.at(dimension).block = Block::table;
            m.tables.resize(m.dimensions.size());
            m.tables[dimension] = std::move(table);
        })
        .def("match_by_tag", [](Model& m) { m.match_by_tag = true; })
        .def("set_network", [](Model& m, u32 kind) { m.network = static_cast<NetworkKind>(kind); })
        .def("set_memory", [](Model& m, u32 kind, u64 latency_ns, double bytes_per_ns, u32 per_node) {
            m.memory = {static_cast<RemoteMemoryKind>(kind), latency_ns, bytes_per_ns, per_node};
        })
        .def("add_exchange", &add_exchange, "runs"_a, "window"_a, "sends"_a, "barrier_at"_a,
             "barrier_receipts"_a, "barrier_counts_hand_overs"_a, "result"_a, "round_up"_a)
        .def("add_graph", &add_graph, "positions"_a, "symmetry"_a, "result"_a, "round_up"_a)
        .def("add_plan", &add_plan, "levels"_a, "over_members"_a, "communicator_size"_a,
             "custom"_a, "masked"_a, "shared_load"_a)
        .def("add_custom", &add_custom, "graphs"_a, "over_members"_a)
        .def("set_jobs", [](Model& m, const std::vector<std::shared_ptr<Job>>& jobs,
                            const RankColumn& job_of) {
            m.distinct_jobs.assign(jobs.begin(), jobs.end());
            m.rules.assign(jobs.size(), nullptr);
            m.job_of.assign(job_of.data(), job_of.data() + job_of.size());
        }, "jobs"_a, "job_of"_a)
        .def("check_ranks", [](const Model& m) {
            const auto [rank, problems] = check_ranks(m);
            return std::make_pair(rank, as_tuples(problems));
        });
}

nb::object unless_none(u32 value) { return value == none ? nb::none() : nb::cast(value); }
nb::object unless_never(u64 value) { return value == never ? nb::none() : nb::cast(value); }

void bind_waiting(nb::module_& module) {
    nb::class_<Waiting>(module, "Waiting")
        .def_ro("rank", &Waiting::rank)
        .def_ro("node", &Waiting::node)
        .def_ro("is_cause", &Waiting::is_cause)
        .def_ro("for_message", &Waiting::for_message)
        .def_ro("since", &Waiting::since)
        .def_ro("bytes", &Waiting::bytes)
        .def_prop_ro("other_bytes", [](const Waiting& w) { return unless_never(w.other_bytes); })
        .def_ro("sends", &Waiting::sends)
        .def_ro("peer_finished", &Waiting::peer_finished)
        .def_ro("peer", &Waiting::peer)
        .def_ro("tag", &Waiting::tag)
        .def_prop_ro("other_tag", [](const Waiting& w) { return unless_none(w.other_tag); })
        .def_prop_ro("peer_node", [](const Waiting& w) { return unless_none(w.peer_node); })
        .def_ro("kind", &Waiting::kind)
        .def_ro("collective_bytes", &Waiting::collective_bytes)
        .def_ro("communicator", &Waiting::communicator)
        .def_ro("missing", &Waiting::missing)
        .def_ro("missing_count", &Waiting::missing_count)
        .def_prop_ro("other_rank", [](const Waiting& w) { return unless_none(w.other_rank); })
        .def_prop_ro("other_node", [](const Waiting& w) { return unless_none(w.other_node); })
        .def_ro("other_kind", &Waiting::other_kind)
        .def_prop_ro("inner_node", [](const Waiting& w) {
            return w.inner_chunk == none ? nb::none() : nb::cast(w.inner_node);
        })
        .def_ro("inner_name", &Waiting::inner_name);
}

void bind_outcome(nb::module_& module) {
    nb::class_<LinkUse>(module, "LinkUse")
        .def_ro("bytes", &LinkUse::bytes)
        .def_ro("messages", &LinkUse::messages)
        .def_ro("busy_ticks", &LinkUse::busy_ticks);
    nb::class_<Outcome> outcome(module, "Outcome");
    column(outcome, "finish", &Outcome::finish);
    column(outcome, "finish_order", &Outcome::finish_order);
    column(outcome, "compute_busy", &Outcome::compute_busy);
    column(outcome, "first_node", &Outcome::first_node);
    column(outcome, "start", &Outcome::start);
    column(outcome, "end", &Outcome::end);
    column(outcome, "class_of", &Outcome::class_of);
    outcome.def_ro("dimensions", &Outcome::dimensions)
        .def_ro("busiest", &Outcome::busiest)
        .def_ro("finished", &Outcome::finished)
        .def_ro("folded", &Outcome::folded)
        .def_ro("events", &Outcome::events)
        .def_ro("messages", &Outcome::messages)
        .def_ro("last_tick", &Outcome::last_tick)
        .def_prop_ro("links", [](const Outcome& o) {
            nb::list rows;
            for (const LinkRecord& link : o.links_on_demand ? o.links_on_demand() : o.links) {
                rows.append(nb::make_tuple(link.dimension, link.from == none ? nb::none() : nb::cast(link.from),
                                           link.to == none ? nb::none() : nb::cast(link.to), link.use.bytes,
                                           link.use.messages, link.use.busy_ticks));
            }
            return rows;
        })
        .def_ro("waiting", &Outcome::waiting)
        .def_prop_ro("unreceived", [](const Outcome& o) {
            std::vector<std::tuple<u32, u32, u32, u64>> rows;
            for (const Unreceived& m : o.unreceived) {
                rows.emplace_back(m.src, m.dst, m.tag, m.bytes);
            }
            return rows;
        });
    nb::class_<RankStatistics>(module, "RankStatistics")
        .def_ro("wall", &RankStatistics::wall)
        .def_ro("class_ticks", &RankStatistics::class_ticks)
        .def_prop_ro("classes", [](const RankStatistics& s) {
            std::vector<u32> classes;
            for (NodeClass c : s.classes) {
                classes.push_back(static_cast<u32>(c));
            }
            return classes;
        })
        .def_ro("overlap", &RankStatistics::overlap)
        .def_ro("compute_bound", &RankStatistics::compute_bound)
        .def_ro("compute_utilisation", &RankStatistics::compute_utilisation)
        .def_ro("memory_utilisation", &RankStatistics::memory_utilisation)
        .def_ro("operation_intensity", &RankStatistics::operation_intensity);
    module.def("rank_statistics", &rank_statistics, "model"_a, "outcome"_a, "rank"_a, "roofline"_a);
    module.def("breakdown", [](const Model& model, const Outcome& o, u32 rank) {
        const Breakdown b = breakdown(model, o, rank);
        return std::make_tuple(b.compute, b.exposed_communication, b.exposed_memory, b.exposed_host, b.idle);
    });
}

void bind_folding(nb::module_& module) {
    nb::class_<Split>(module, "Split")
        .def_ro("rank", &Split::rank)
        .def_ro("other", &Split::other)
        .def_prop_ro("difference", [](const Split& s) { return static_cast<u32>(s.difference); })
        .def_prop_ro("communicator", [](const Split& s) { return unless_none(s.communicator); })
        .def_ro("classes", &Split::classes);
    nb::class_<Folding> folding(module, "Folding");
    folding.def_ro("refusal", &Folding::refusal).def_ro("splits", &Folding::splits);
    column(folding, "class_of", &Folding::class_of);
    column(folding, "representative", &Folding::representative);
    column(folding, "count", &Folding::count);
    module.def("fold", &fold, "model"_a, "least_ranks_per_class"_a = 2, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace

void register_simulation(nb::module_& module) {
    nb::exception<Unsupported>(module, "Unsupported");
    bind_parameters(module);
    bind_lowering(module);
    bind_model(module);
    bind_waiting(module);
    bind_outcome(module);
    bind_folding(module);
    bind_simulation_class(module, "Simulation");
}

}  // namespace yantra
