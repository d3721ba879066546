#include "accounting/statistics.hpp"

#include <algorithm>
#include <utility>

#include "collective/unordered_order.hpp"

namespace yantra {

namespace {

using Interval = std::pair<u64, u64>;

u64 union_length(std::vector<Interval> intervals) {
    if (intervals.empty()) {
        return 0;
    }
    std::sort(intervals.begin(), intervals.end());
    u64 total = 0;
    auto [begin, end] = intervals.front();
    for (const auto& [from, to] : intervals) {
        if (from <= end) {
            end = std::max(end, to);
        } else {
            total += end - begin;
            begin = from;
            end = to;
        }
    }
    return total + (end - begin);
}

bool ran(const Outcome& outcome, u64 at) {
    return outcome.start[at] != never && outcome.end[at] != never;
}

// When a node is more than posted: its message moves.
u64 begun(const Outcome& outcome, u64 at) {
    const bool waited = at < outcome.begun.size() && outcome.begun[at] != never;
    return waited ? outcome.begun[at] : outcome.start[at];
}

enum class From : u8 { posted, moving };

std::vector<Interval> intervals_of(const Model& model, const Outcome& outcome, u32 rank,
                                   NodeClass node_class, From from = From::posted) {
    std::vector<Interval> intervals;
    const Job& job = model.job(rank);
    for (u32 node = 0; node < job.ops.size(); ++node) {
        const u64 at = outcome.first_node[rank] + node;
        if (job.ops[node].node_class == node_class && ran(outcome, at)) {
            intervals.emplace_back(from == From::moving ? begun(outcome, at) : outcome.start[at],
                                   outcome.end[at]);
        }
    }
    return intervals;
}

std::vector<u32> nodes_that_ran(const Graph& graph, const Outcome& outcome, u32 rank) {
    std::vector<u32> issued;
    for (u32 node = 0; node < graph.size(); ++node) {
        if (ran(outcome, outcome.first_node[rank] + node)) {
            issued.push_back(node);
        }
    }
    return issued;
}

// Whether it matters in which order nodes are walked: of classes the first to come is told first, and sums
// of fractions depend on it.
bool has_an_order(const std::vector<u32>& nodes, const Job& job, const Roofline& roofline) {
    return roofline.enabled || std::any_of(nodes.begin(), nodes.end(), [&](u32 node) {
               return job.ops[node].node_class != job.ops[nodes.front()].node_class;
           });
}

// The nodes that ran, as upstream's hash map of statistics walks them.
std::vector<u32> in_upstream_order(std::vector<u32> issued, const Graph& graph,
                                   const Outcome& outcome, u32 rank) {
    const u64 first = outcome.first_node[rank];
    std::stable_sort(issued.begin(), issued.end(), [&](u32 a, u32 b) {
        return outcome.start[first + a] < outcome.start[first + b];
    });
    UnorderedOrder map;
    for (u32 node : issued) {
        map.insert(graph.id[node]);
    }
    std::vector<u32> order;
    for (u64 id : map.keys()) {
        order.push_back(static_cast<u32>(std::lower_bound(graph.id.begin(), graph.id.end(), id) -
                                         graph.id.begin()));
    }
    return order;
}

bool has_roofline(const Op& op, const Graph& graph, u32 node, const Roofline& roofline) {
    return roofline.enabled && op.node_class == NodeClass::gpu && op.kind == OpKind::timed &&
           graph.num_ops.kind_of(node) == IntColumn::integer &&
           graph.tensor_size.kind_of(node) == IntColumn::integer;
}

void add_utilisations(const Model& model, const Outcome& outcome, u32 rank, const Roofline& roofline,
                      const std::vector<u32>& order, RankStatistics& statistics) {
    const Job& job = model.job(rank);
    const Graph& graph = *job.graph;
    u64 bound = 0;
    u64 total = 1;  // upstream's guard against dividing by zero
    for (u32 node : order) {
        const Op& op = job.ops[node];
        if (op.node_class != NodeClass::gpu && op.node_class != NodeClass::cpu) {
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
    const Job& job = model.job(rank);
    std::vector<u32> order = nodes_that_ran(*job.graph, outcome, rank);
    if (has_an_order(order, job, roofline)) {
        order = in_upstream_order(std::move(order), *job.graph, outcome, rank);
    }
    for (u32 node : order) {
        const NodeClass node_class = job.ops[node].node_class;
        if (std::find(statistics.classes.begin(), statistics.classes.end(), node_class) ==
            statistics.classes.end()) {
            statistics.classes.push_back(node_class);
        }
        statistics.wall = std::max(statistics.wall, outcome.end[outcome.first_node[rank] + node]);
    }
    for (NodeClass node_class : statistics.classes) {
        statistics.class_ticks[static_cast<std::size_t>(node_class)] =
            union_length(intervals_of(model, outcome, rank, node_class));
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
    Breakdown parts;
    std::vector<Interval> covered;
    u64 so_far = 0;
    auto add = [&](const std::vector<Interval>& more, u64 Breakdown::*part) {
        covered.insert(covered.end(), more.begin(), more.end());
        const u64 length = union_length(covered);
        parts.*part = length - so_far;
        so_far = length;
    };
    for (const auto& [node_class, part] :
         {std::pair{NodeClass::gpu, &Breakdown::compute},
          std::pair{NodeClass::communication, &Breakdown::exposed_communication},
          std::pair{NodeClass::memory, &Breakdown::exposed_memory},
          std::pair{NodeClass::cpu, &Breakdown::exposed_host}}) {
        add(intervals_of(model, outcome, rank, node_class, From::moving), part);
    }
    // What is left of posted messages once all that moves is counted.
    add(intervals_of(model, outcome, rank, NodeClass::communication), &Breakdown::waiting);
    parts.communication = union_length(
        intervals_of(model, outcome, rank, NodeClass::communication, From::moving));
    const u64 finish = outcome.finish[rank];
    parts.idle = finish == never ? 0 : finish - so_far;
    return parts;
}

}  // namespace yantra
