#include "accounting/statistics.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "collective/unordered_order.hpp"

namespace yantra {

namespace {

using Interval = std::pair<u64, u64>;

// Disjoint and ascending.
std::vector<Interval> union_of(std::vector<Interval> intervals) {
    if (!std::is_sorted(intervals.begin(), intervals.end())) {
        std::sort(intervals.begin(), intervals.end());
    }
    std::size_t last = 0;
    for (const auto& [from, to] : intervals) {
        if (from <= intervals[last].second) {
            intervals[last].second = std::max(intervals[last].second, to);
        } else {
            intervals[++last] = {from, to};
        }
    }
    intervals.resize(intervals.empty() ? 0 : last + 1);
    return intervals;
}

std::vector<Interval> union_of(const std::vector<Interval>& a, const std::vector<Interval>& b) {
    std::vector<Interval> both(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), both.begin());
    return union_of(std::move(both));
}

u64 length_of(const std::vector<Interval>& apart) {
    u64 total = 0;
    for (const auto& [from, to] : apart) {
        total += to - from;
    }
    return total;
}

bool ran(const Outcome& outcome, u64 at) {
    return outcome.start[at] != never && outcome.end[at] != never;
}

u64 begun(const Outcome& outcome, u64 at) {
    const bool waited = at < outcome.begun.size() && outcome.begun[at] != never;
    return waited ? outcome.begun[at] : outcome.start[at];
}

// In order of NodeClass, or of what `as` makes of it; `from(place)`: where a node begins.
template <class From, class As>
std::array<std::vector<Interval>, node_classes> covered_by_class(const Model& model,
                                                                 const Outcome& outcome, u32 rank,
                                                                 From&& from, As&& as) {
    std::array<std::vector<Interval>, node_classes> covered;
    const Job& job = model.work.job(rank);
    std::array<std::size_t, node_classes> nodes{};
    for (const Op& op : job.ops) {
        ++nodes[static_cast<std::size_t>(as(op.node_class))];
    }
    for (std::size_t node_class = 0; node_class < node_classes; ++node_class) {
        covered[node_class].reserve(nodes[node_class]);
    }
    for (u32 node = 0; node < job.ops.size(); ++node) {
        const u64 at = outcome.first_node[rank] + node;
        if (ran(outcome, at)) {
            covered[static_cast<std::size_t>(as(job.ops[node].node_class))].emplace_back(
                from(at), outcome.end[at]);
        }
    }
    for (std::vector<Interval>& of_class : covered) {
        of_class = union_of(std::move(of_class));
    }
    return covered;
}

std::vector<Interval> waits(const Model& model, const Outcome& outcome, u32 rank) {
    std::vector<Interval> waits;
    const Job& job = model.work.job(rank);
    const u64 first = outcome.first_node[rank];
    const u64 known = outcome.begun.size() < first ? 0 : outcome.begun.size() - first;
    for (u32 node = 0; node < std::min<u64>(job.ops.size(), known); ++node) {
        const u64 at = first + node;
        if (job.ops[node].node_class == NodeClass::communication && ran(outcome, at) &&
            outcome.begun[at] != never) {
            waits.emplace_back(outcome.start[at], outcome.begun[at]);
        }
    }
    return waits;
}

struct Ran {
    std::vector<u32> nodes;
    std::vector<Interval> started;   // pairs of a tick and a node
};

Ran nodes_that_ran(const Graph& graph, const Outcome& outcome, u32 rank) {
    Ran issued;
    const u64 first = outcome.first_node[rank];
    const u64* const start = outcome.start.data() + first;
    const u64* const end = outcome.end.data() + first;
    const u32 nodes = graph.size();
    issued.nodes.reserve(nodes);
    issued.started.reserve(nodes);
    for (u32 node = 0; node < nodes; ++node) {
        if (start[node] != never && end[node] != never) {
            issued.nodes.push_back(node);
            issued.started.emplace_back(start[node], node);
        }
    }
    return issued;
}

// Upstream prints classes as first met, and sums of fractions depend on it.
bool has_an_order(const std::vector<u32>& nodes, const Job& job, const Roofline& roofline) {
    return roofline.enabled || std::any_of(nodes.begin(), nodes.end(), [&](u32 node) {
               return upstream_class(job.ops[node].node_class) != upstream_class(job.ops[nodes.front()].node_class);
           });
}

std::vector<u32> in_upstream_order(std::vector<Interval> started, const Graph& graph) {
    if (!std::is_sorted(started.begin(), started.end())) {
        std::sort(started.begin(), started.end());
    }
    UnorderedOrder map;
    map.reserve_items(started.size());
    for (const auto& [tick, node] : started) {
        map.insert(graph.id[node]);
    }
    std::vector<u32> order = map.places();
    for (u32& place : order) {
        place = static_cast<u32>(started[place].second);
    }
    return order;
}

bool has_roofline(const Op& op, const Graph& graph, u32 node, const Roofline& roofline) {
    return roofline.enabled && upstream_class(op.node_class) == NodeClass::gpu && op.kind == OpKind::timed &&
           graph.num_ops.kind_of(node) == IntColumn::integer &&
           graph.tensor_size.kind_of(node) == IntColumn::integer;
}

void add_utilisations(const Model& model, const Outcome& outcome, u32 rank, const Roofline& roofline,
                      const std::vector<u32>& order, RankStatistics& statistics) {
    const Job& job = model.work.job(rank);
    const Graph& graph = *job.graph;
    u64 bound = 0;
    u64 total = 1;  // upstream's guard against dividing by zero
    for (u32 node : order) {
        const Op& op = job.ops[node];
        const NodeClass counts_as = upstream_class(op.node_class);
        if (counts_as != NodeClass::gpu && counts_as != NodeClass::cpu) {
            continue;
        }
        const u64 at = outcome.first_node[rank] + node;
        const u64 ticks = outcome.end[at] - outcome.start[at];
        total += ticks;
        if (!has_roofline(op, graph, node, roofline)) {
            continue;
        }
        const u64 operations = graph.num_ops.value[node];
        const u64 bytes = graph.tensor_size.value[node];
        const double intensity = static_cast<double>(operations) / static_cast<double>(bytes);
        const double flops = std::min(roofline.memory_bytes_per_s * intensity, roofline.peak_flops);
        const double weight = static_cast<double>(ticks);
        bound += flops < roofline.peak_flops ? 0 : ticks;
        statistics.compute_utilisation += flops / roofline.peak_flops * weight;
        statistics.memory_utilisation +=
            operations == 0 ? weight : flops / intensity / roofline.memory_bytes_per_s * weight;
        statistics.operation_intensity += bytes == 0 ? 0.0 : intensity * weight;
    }
    const double all = static_cast<double>(total);
    statistics.compute_bound = static_cast<double>(bound) / all;
    statistics.compute_utilisation /= all;
    statistics.memory_utilisation /= all;
    statistics.operation_intensity /= all;
}

}  // namespace

RankStatistics rank_statistics(const Model& model, const Outcome& outcome, u32 rank,
                               const Roofline& roofline) {
    RankStatistics statistics;
    const Job& job = model.work.job(rank);
    Ran ran = nodes_that_ran(*job.graph, outcome, rank);
    const bool ordered = has_an_order(ran.nodes, job, roofline);
    const std::vector<u32> order =
        ordered ? in_upstream_order(std::move(ran.started), *job.graph) : std::move(ran.nodes);
    std::array<bool, node_classes> is_there{};
    for (u32 node : order) {
        const NodeClass node_class = upstream_class(job.ops[node].node_class);
        if (!std::exchange(is_there[static_cast<std::size_t>(node_class)], true)) {
            statistics.classes.push_back(node_class);
        }
        statistics.wall = std::max(statistics.wall, outcome.end[outcome.first_node[rank] + node]);
    }
    const auto covered = covered_by_class(model, outcome, rank,
                                          [&](u64 at) { return outcome.start[at]; }, upstream_class);
    for (std::size_t node_class = 0; node_class < node_classes; ++node_class) {
        statistics.class_ticks[node_class] = length_of(covered[node_class]);
    }
    const u64 gpu = statistics.class_ticks[static_cast<std::size_t>(NodeClass::gpu)];
    const u64 communication =
        statistics.class_ticks[static_cast<std::size_t>(NodeClass::communication)];
    const bool both = std::count_if(statistics.classes.begin(), statistics.classes.end(),
                                    [](NodeClass c) {
                                        return c == NodeClass::gpu || c == NodeClass::communication;
                                    }) == 2;
    statistics.overlap = both ? gpu + communication - statistics.wall : 0;
    add_utilisations(model, outcome, rank, roofline, order, statistics);
    return statistics;
}

Breakdown breakdown(const Model& model, const Outcome& outcome, u32 rank) {
    const auto moving =
        covered_by_class(model, outcome, rank, [&](u64 at) { return begun(outcome, at); },
                         [](NodeClass own) { return own; });
    const auto of = [&moving](NodeClass node_class) -> const std::vector<Interval>& {
        return moving[static_cast<std::size_t>(node_class)];
    };
    Breakdown parts;
    std::vector<Interval> covered;
    u64 so_far = 0;
    const auto add = [&](const std::vector<Interval>& more, u64& part) {
        covered = union_of(covered, more);
        const u64 length = length_of(covered);
        part = length - so_far;
        so_far = length;
    };
    add(of(NodeClass::gpu), parts.compute);
    add(of(NodeClass::communication), parts.exposed_communication);
    add(of(NodeClass::memory), parts.exposed_memory);
    add(of(NodeClass::cpu), parts.exposed_host);
    add(of(NodeClass::unexplained_device), parts.unexplained_device);
    add(of(NodeClass::unexplained_host), parts.unexplained_host);
    parts.communication = length_of(of(NodeClass::communication));
    add(union_of(waits(model, outcome, rank)), parts.waiting);
    const u64 finish = outcome.finish[rank];
    parts.idle = finish == never ? 0 : finish - so_far;
    return parts;
}

}  // namespace yantra
