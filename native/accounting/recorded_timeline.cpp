#include "accounting/recorded_timeline.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "execution/ready_set.hpp"
#include "trace/communicates.hpp"
#include "trace/schema.hpp"

namespace yantra {

namespace {

enum LaneKind : u32 { on_cpu_lane, on_compute_lane, lane_kinds };

constexpr u32 on_no_lane = lane_kinds;  // a ReadySet's last kind waits for nothing
u32 lane_kind_of(const Graph& graph, u32 node) {
    if (static_cast<NodeType>(graph.type[node]) != NodeType::comp) {
        return on_no_lane;
    }
    const bool told = graph.is_cpu_op.kind_of(node) == IntColumn::integer;
    return told && graph.is_cpu_op.value[node] != 0 ? on_cpu_lane : on_compute_lane;
}

// Calls `ended(node, start, end)` in order of ends.
template <class Ended>
u64 play_recorded(const Graph& graph, const std::array<u32, lane_kinds>& slots, Ended&& ended) {
    using End = std::pair<u64, u32>;  // when, of which node
    std::priority_queue<End, std::vector<End>, std::greater<>> ends;
    std::vector<u32> waiting(graph.parent_count.begin(), graph.parent_count.end());
    std::array<u32, lane_kinds> taken{};
    ReadySet ready(lane_kinds);
    const auto is_open = [&](u32 kind) {
        return kind == on_no_lane || slots[kind] == 0 || taken[kind] < slots[kind];
    };
    u64 now = 0;
    const auto issue = [&] {
        for (u32 node = ready.take_first(is_open); node != none; node = ready.take_first(is_open)) {
            if (const u32 kind = lane_kind_of(graph, node); kind != on_no_lane) {
                ++taken[kind];
            }
            ends.emplace(now + graph.duration_micros[node], node);
        }
    };
    for (u32 node = 0; node < graph.size(); ++node) {
        if (waiting[node] == 0) {
            ready.insert(lane_kind_of(graph, node), node);
        }
    }
    issue();
    while (!ends.empty()) {
        const auto [at, node] = ends.top();
        ends.pop();
        now = at;
        ended(node, at - graph.duration_micros[node], at);
        if (const u32 kind = lane_kind_of(graph, node); kind != on_no_lane) {
            --taken[kind];
        }
        for (u32 place = graph.child_begin[node]; place < graph.child_begin[node + 1]; ++place) {
            if (const u32 child = graph.child[place]; --waiting[child] == 0) {
                ready.insert(lane_kind_of(graph, child), child);
            }
        }
        issue();
    }
    return now;
}

Overlap overlap_of(std::vector<u64>& starts, std::vector<u64>& ends) {
    std::sort(starts.begin(), starts.end());
    std::sort(ends.begin(), ends.end());
    Overlap found;
    u32 running = 0;
    u64 since = 0;
    for (std::size_t begun = 0, over = 0; over < ends.size();) {
        const bool begins = begun < starts.size() && starts[begun] < ends[over];
        const u64 at = begins ? starts[begun++] : ends[over++];
        found.us += running > 1 ? at - since : 0;
        running = begins ? running + 1 : running - 1;
        found.most = std::max(found.most, running);
        since = at;
    }
    return found;
}

// Back to what ended last; on ties, to a node that is no delay.
u64 delays_before(const Graph& graph, u32 node, const std::vector<u64>& end) {
    u64 sum = 0;
    while (node != none) {
        sum += names_a_delay(graph.name(node)) ? graph.duration_micros[node] : 0;
        const u32 at = std::exchange(node, none);
        for (u32 place = graph.parent_begin[at]; place < graph.parent_begin[at + 1]; ++place) {
            const u32 parent = graph.parent[place];
            if (node == none || end[parent] > end[node] ||
                (end[parent] == end[node] && names_a_delay(graph.name(node)))) {
                node = parent;
            }
        }
    }
    return sum;
}

}  // namespace

std::vector<u64> recorded_ends(const Graph& graph) {
    std::vector<u64> ends(graph.size());
    play_recorded(graph, {}, [&](u32 node, u64, u64 end) { ends[node] = end; });
    return ends;
}

RecordedTimeline recorded_timeline(const Graph& graph, const SlotCounts& slots) {
    RecordedTimeline found;
    std::vector<u64> end(graph.size());
    std::array<std::vector<u64>, lane_kinds> starts, ends;
    u32 last = none;
    found.length_us = play_recorded(graph, {}, [&](u32 node, u64 from, u64 until) {
        end[node] = until;
        last = node;
        if (const u32 kind = lane_kind_of(graph, node); kind != on_no_lane && until > from) {
            starts[kind].push_back(from);
            ends[kind].push_back(until);
        }
    });
    found.delay_us = delays_before(graph, last, end);
    found.cpu = overlap_of(starts[on_cpu_lane], ends[on_cpu_lane]);
    found.compute = overlap_of(starts[on_compute_lane], ends[on_compute_lane]);
    const std::array<u32, lane_kinds> counts{slots.cpu, slots.compute};
    found.in_slots_us = play_recorded(graph, counts, [](u32, u64, u64) {});
    return found;
}

}  // namespace yantra
