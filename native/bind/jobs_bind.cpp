// Python's view of lowering: from a graph's nodes to a job's operations.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "accounting/recorded_timeline.hpp"
#include "base/ensure.hpp"
#include "base/ids.hpp"
#include "bind/arrays.hpp"
#include "bind/choices.hpp"
#include "bind/columns.hpp"
#include "bind/fields.hpp"
#include "bind/parts.hpp"
#include "trace/communicates.hpp"
#include "workload/checks.hpp"
#include "workload/job.hpp"
#include "workload/kernels.hpp"
#include "workload/lowering.hpp"
#include "workload/used_collectives.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

struct Lowered {
    std::shared_ptr<const Job> job;
    std::vector<Problem> problems;
};

struct NodeKinds {
    bool kernels = false;
    bool other_kernels = false;
    bool communication = false;
    bool memory = false;
    bool host = false;
    bool unexplained = false;
};

NodeKinds node_kinds(const Graph& graph) {
    constexpr i32 compute_node = 4;   // Chakra's COMP_NODE; memory is before it, communication behind
    constexpr i32 metadata_node = 1;
    NodeKinds kinds;
    for (u32 node = 0; node < graph.size(); ++node) {
        const auto type = static_cast<i32>(graph.type[node]);
        if (type > compute_node) {
            kinds.communication = true;
        } else if (type == compute_node) {
            const bool on_host = graph.is_cpu_op.kind_of(node) == IntColumn::integer &&
                                 graph.is_cpu_op.value[node] != 0;
            if (is_delay(graph, node)) {
                kinds.unexplained = true;
                continue;
            }
            if (communicates_at_recorded_time(graph, node)) {
                continue;
            }
            kinds.host |= on_host;
            kinds.kernels |= !on_host;
            kinds.other_kernels |= !on_host && graph.num_ops.kind_of(node) != IntColumn::integer;
        } else if (type > metadata_node) {
            kinds.memory = true;
        }
    }
    return kinds;
}

Lowered lower_graph(std::shared_ptr<const Graph> graph, const LowerOptions& options) {
    const nb::gil_scoped_release unlocked;
    Lowered lowered;
    lowered.job = lower(std::move(graph), options, lowered.problems, nullptr);
    return lowered;
}

// The first graphs, up to one with a problem or more nodes.
std::vector<std::shared_ptr<const Job>> lower_small(
    const std::vector<std::shared_ptr<const Graph>>& graphs, const LowerOptions& options,
    u32 most_nodes) {
    const nb::gil_scoped_release unlocked;
    std::vector<std::shared_ptr<const Job>> jobs;
    std::vector<Problem> problems;
    for (const std::shared_ptr<const Graph>& graph : graphs) {
        if (graph->size() > most_nodes) {
            break;
        }
        std::shared_ptr<const Job> job = lower(graph, options, problems, jobs.empty() ? nullptr : jobs.back().get());
        if (!problems.empty()) {
            break;
        }
        jobs.push_back(std::move(job));
    }
    return jobs;
}

void name_groups(LowerOptions& options, const std::unordered_map<std::string, CommunicatorId>& by_name) {
    options.communicators.clear();
    for (const auto& [name, communicator] : by_name) {
        options.communicators.emplace(name, communicator.index());
    }
}

// Names that each rank of a template resolves; the first communicator is all ranks.
void name_in_template(LowerOptions& options, const std::vector<std::string>& groups,
                      const std::vector<std::string>& peers) {
    options.is_template = true;
    options.communicators = {{"", 0}};
    for (u32 at = 0; at < groups.size(); ++at) {
        options.communicators.insert_or_assign(groups[at], at + 1);
    }
    options.peers.clear();
    for (u32 at = 0; at < peers.size(); ++at) {
        options.peers.emplace(peers[at], at);
    }
}

void set_custom_by_node(LowerOptions& options, const std::unordered_map<u64, CustomId>& by_node) {
    options.custom_by_node.clear();
    for (const auto& [node, custom] : by_node) {
        options.custom_by_node.emplace(node, custom.index());
    }
}

void offer(LowerOptions& options, CollectiveKind kind, const std::vector<u32>& covered) {
    options.offered_kinds |= 1u << static_cast<u32>(kind);
    for (u32 dimension : covered) {
        options.covered[static_cast<std::size_t>(kind)] |= u64{1} << dimension;
    }
}

std::vector<Problem> add_kernels(KernelTable& kernels, const std::shared_ptr<const Graph>& graph,
                                 u64 ranks) {
    const nb::gil_scoped_release unlocked;
    return kernels.add(graph, ranks);
}

void bind_kernels(nb::module_& module) {
    Class<KernelTable> kernels(module, "KernelTable");
    kernels
        .def("__init__", [](KernelTable* self, bool flops, bool bytes, bool missing_means_cpu,
                            bool whole_microseconds, bool may_communicate) {
            new (self) KernelTable({flops, bytes, missing_means_cpu, whole_microseconds, may_communicate});
        }, nb::kw_only(), "flops"_a, "bytes"_a, "missing_is_cpu_op_means_cpu"_a, "whole_microseconds"_a,
             "may_communicate"_a)
        .def("__len__", [](const KernelTable& self) { return self.count.size(); })
        .def("add", &add_kernels, "graph"_a, "ranks"_a)
        .def("set_ns", [](KernelTable& self, const Array<double>& ns, TimeScale scale) {
            self.set_ns(span_of(ns), scale);
        }, "ns"_a, "scale"_a)
        .def_prop_ro("op_classes", &KernelTable::op_classes)
        .def_prop_ro("dtypes", &KernelTable::dtypes)
        .def_prop_ro("phases", &KernelTable::phases)
        .def("size", [](const KernelTable& self, std::string_view name) {
            const auto at = std::find(kernel_sizes.begin(), kernel_sizes.end(), name);
            ensure(at != kernel_sizes.end(), "kernels: a size that no kernel has");
            return view(self.sizes[static_cast<std::size_t>(at - kernel_sizes.begin())], self);
        }, "name"_a);
    kernels.column("op_class", &KernelTable::op_class);
    kernels.column("dtype", &KernelTable::dtype);
    kernels.column("phase", &KernelTable::phase);
    kernels.column("flops", &KernelTable::flops);
    kernels.column("bytes", &KernelTable::bytes);
    kernels.column("recorded_ns", &KernelTable::recorded_ns);
    kernels.column("count", &KernelTable::count);
}

void bind_accesses(nb::module_& module) {
    Class<AccessTable> accesses(module, "AccessTable");
    accesses.def(nb::init<>())
        .def("add", [](AccessTable& self, const Graph& graph, u64 ranks) {
            const nb::gil_scoped_release unlocked;
            self.add(graph, ranks);
        }, "graph"_a, "ranks"_a)
        .def("set_ns", [](AccessTable& self, const Array<double>& ns, TimeScale scale) {
            self.set_ns(span_of(ns), scale);
        }, "ns"_a, "scale"_a)
        .def("set_ns_of", [](AccessTable& self, const Graph& graph, const Array<double>& ns,
                             TimeScale scale) {
            self.set_ns_of(graph, span_of(ns), scale);
        }, "graph"_a, "ns"_a, "scale"_a);
    accesses.column("bytes", &AccessTable::bytes);
    accesses.column("is_store", &AccessTable::is_store);
    accesses.column("count", &AccessTable::count);
}

void bind_options(nb::module_& module) {
    Class<LowerOptions>(module, "LowerOptions")
        .setting("replay_only", &LowerOptions::replay_only)
        .setting("cpu_slots_count", &LowerOptions::cpu_slots_count)
        .setting("compute_slots_count", &LowerOptions::compute_slots_count)
        .setting("roofline", &LowerOptions::roofline)
        .setting("resources", &LowerOptions::resources)
        .setting("dimensions", &LowerOptions::dimensions)
        .setting("involved_by_default", &LowerOptions::involved_by_default)
        .setting("named_by_system_file", &LowerOptions::named_by_system_file)
        .setting("remote_memory", &LowerOptions::remote_memory)
        .setting("kernels_share_bandwidth", &LowerOptions::kernels_share_bandwidth)
        .setting("tracks_tensors", &LowerOptions::tracks_tensors)
        .setting("missing_is_cpu_op_means_cpu", &LowerOptions::missing_is_cpu_op_means_cpu)
        .setting("skipped_nodes_do_not_wake", &LowerOptions::skipped_nodes_do_not_wake)
        .setting("broadcast_is_a_timer", &LowerOptions::broadcast_is_a_timer)
        .setting("zero_op_kernel_never_ends", &LowerOptions::zero_op_kernel_never_ends)
        .setting("zero_byte_kernel_is_skipped", &LowerOptions::zero_byte_kernel_is_skipped)
        .setting("no_duration_takes_a_nanosecond", &LowerOptions::no_duration_takes_a_nanosecond)
        .setting("whole_microseconds", &LowerOptions::whole_microseconds)
        .setting("kernels_may_communicate", &LowerOptions::kernels_may_communicate)
        .def("__init__", [](LowerOptions* self, TimeScale scale) {
            new (self) LowerOptions();
            self->scale = scale;
        }, "scale"_a)
        .def("take_kernels", [](LowerOptions& o, std::shared_ptr<const KernelTable> kernels) {
            o.kernels = std::move(kernels);
        }, "kernels"_a.none())
        .def("take_accesses", [](LowerOptions& o, std::shared_ptr<const AccessTable> accesses) {
            o.accesses = std::move(accesses);
        }, "accesses"_a.none())
        .def("name_groups", &name_groups, "by_name"_a)
        .def("name_in_template", &name_in_template, "groups"_a, "peers"_a)
        .def("set_custom_by_node", &set_custom_by_node, "by_node"_a)
        .def("offer", &offer, "kind"_a, "covered"_a)
        .def("give_by_traces", [](LowerOptions& o, CollectiveKind kind) {
            o.kinds_by_traces |= 1u << static_cast<u32>(kind);
        }, "kind"_a)
        .def("set_impossible", [](LowerOptions& o, CollectiveKind kind, u32 dimension, bool is_last,
                                  const std::string& reason) {
            o.impossible[{static_cast<u32>(kind), dimension, is_last}] = reason;
        }, "kind"_a, "dimension"_a, "is_last"_a, "reason"_a)
        .def("takes_no_time", [](LowerOptions& o, NodeClass which) {
            o.takes_no_time[static_cast<std::size_t>(which)] = true;
        }, "node_class"_a);
}

void bind_recorded_timeline(nb::module_& module) {
    Class<Overlap>(module, "Overlap").field("us", &Overlap::us).field("most", &Overlap::most);
    Class<RecordedTimeline>(module, "RecordedTimeline")
        .field("length_us", &RecordedTimeline::length_us)
        .field("in_slots_us", &RecordedTimeline::in_slots_us)
        .field("delay_us", &RecordedTimeline::delay_us)
        .field("cpu", &RecordedTimeline::cpu)
        .field("compute", &RecordedTimeline::compute);
    module.def("recorded_timeline", [](const Graph& graph, u32 cpu, u32 compute) {
        const nb::gil_scoped_release unlocked;
        return recorded_timeline(graph, {cpu, compute});
    }, "graph"_a, "cpu"_a, "compute"_a);
    module.def("recorded_ends", &recorded_ends, "graph"_a, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace

void register_jobs(nb::module_& module) {
    Class<Roofline>(module, "Roofline")
        .setting("enabled", &Roofline::enabled)
        .setting("peak_flops", &Roofline::peak_flops)
        .setting("memory_bytes_per_s", &Roofline::memory_bytes_per_s)
        .def(nb::init<>());
    Class<Problem>(module, "Problem")
        .field("node", &Problem::node)
        .field("unsupported", &Problem::unsupported)
        .field("text", &Problem::text);
    nb::class_<Job>(module, "Job").def("__len__", [](const Job& job) { return job.ops.size(); });
    Class<Lowered>(module, "Lowered")
        .field("job", &Lowered::job)
        .field("problems", &Lowered::problems);
    Class<NodeKinds>(module, "NodeKinds")
        .field("kernels", &NodeKinds::kernels)
        .field("other_kernels", &NodeKinds::other_kernels)
        .field("communication", &NodeKinds::communication)
        .field("memory", &NodeKinds::memory)
        .field("host", &NodeKinds::host)
        .field("unexplained", &NodeKinds::unexplained);
    module.def("node_kinds", &node_kinds, "graph"_a, nb::call_guard<nb::gil_scoped_release>());
    Class<UsedCollective>(module, "UsedCollective")
        .field("group", &UsedCollective::group)
        .field("comm_type", &UsedCollective::comm_type);
    bind_kernels(module);
    bind_accesses(module);
    bind_options(module);
    bind_recorded_timeline(module);
    module.def("lower", &lower_graph, "graph"_a, "options"_a);
    module.def("lower_small", &lower_small, "graphs"_a, "options"_a, "most_nodes"_a);
    module.def("used_collectives", &used_collectives, "graphs"_a);
    module.def("check_custom", &check_custom, "graph"_a, "positions"_a, "whole_microseconds"_a = false);
}

}  // namespace yantra
