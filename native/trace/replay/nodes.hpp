// Nodes: the replay graph in columns; each node follows what it waits for.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "trace/replay/drafts.hpp"

namespace yantra::replay {

// In us of a grid from the trace's origin, and in ns as measured.
struct Times {
    std::int64_t start_us, dur_us, start_ns, dur_ns;
};

struct Nodes {
    std::vector<Kind> kind;
    std::vector<std::uint32_t> source, name, ctrl, dep;
    std::vector<std::uint32_t> place;                        // of its lane, below
    std::vector<std::int64_t> place_device, place_lane;
    std::vector<std::int64_t> start_us, dur_us, start_ns, dur_ns;
    std::vector<std::uint64_t> end{0};                       // of a node's dependencies in `dep`, behind those before
    std::map<std::uint32_t, std::vector<std::uint32_t>> more;  // added later
    std::vector<std::uint32_t> operator_node, device_node;   // by place
    std::uint32_t handovers = 0;                             // inferred edges between threads
    std::uint32_t anchored = 0;                              // device ops given a dependency for a late start
    std::uint32_t shifted = 0;                               // nodes later than measured

    std::uint32_t size() const { return static_cast<std::uint32_t>(kind.size()); }

    std::int64_t device(std::uint32_t node) const { return place_device[place[node]]; }
    std::int64_t lane(std::uint32_t node) const { return place_lane[place[node]]; }

    void reserve(std::size_t nodes) {
        kind.reserve(nodes);
        for (auto* column : {&source, &name, &ctrl, &place}) {
            column->reserve(nodes);
        }
        for (auto* column : {&start_us, &dur_us, &start_ns, &dur_ns}) {
            column->reserve(nodes);
        }
        end.reserve(nodes + 1);
        dep.reserve(2 * nodes);
    }

    // Its dependencies are those pushed to `dep` since the node before.
    std::uint32_t add(Kind of, std::uint32_t from, const Draft& at, std::uint32_t called, const Times& times,
                      std::uint32_t within) {
        kind.push_back(of);
        source.push_back(from);
        name.push_back(called);
        place.push_back(at.place);
        start_us.push_back(times.start_us);
        dur_us.push_back(times.dur_us);
        start_ns.push_back(times.start_ns);
        dur_ns.push_back(times.dur_ns);
        ctrl.push_back(within);
        end.push_back(dep.size());
        return size() - 1;
    }

    template <class Visit>
    void each_dep(std::uint32_t node, Visit visit) const {
        for (std::uint64_t at = end[node]; at < end[node + 1]; ++at) {
            visit(dep[at]);
        }
        if (!more.empty()) {
            if (const auto found = more.find(node); found != more.end()) {
                for (const std::uint32_t one : found->second) {
                    visit(one);
                }
            }
        }
    }
};

struct Options {
    bool gaps = true;
    bool handover = true;
    bool anchors = true;
    std::uint32_t delay = 0;  // the name of delays
};

// Throws std::overflow_error if times add up to more than 63 bits of ns.
Nodes build(const Recorded& of, const Options& options);

}  // namespace yantra::replay
