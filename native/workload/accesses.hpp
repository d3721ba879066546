// Accesses: a job's distinct accesses to remote memory as columns, for memory models in Python.
#pragma once

#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/ensure.hpp"
#include "trace/graph.hpp"
#include "trace/schema.hpp"

namespace yantra {

class AccessTable {
public:
    void add(const Graph& graph, u64 ranks) {
        for (u32 node = 0; node < graph.size(); ++node) {
            const auto type = static_cast<NodeType>(graph.type[node]);
            const bool is_access = type == NodeType::mem_load || type == NodeType::mem_store;
            if (!is_access || graph.tensor_size.kind_of(node) != IntColumn::integer) {
                continue;
            }
            const Key key{graph.tensor_size.value[node], type == NodeType::mem_store};
            const auto [at, is_new] = rows_.try_emplace(key, static_cast<u32>(count.size()));
            if (is_new) {
                bytes.push_back(key.first);
                is_store.push_back(key.second ? 1 : 0);
                count.push_back(0);
            }
            count[at->second] += ranks;
        }
    }

    void set_ns(std::span<const double> ns, TimeScale scale) {
        ensure(ns.size() == count.size(), "accesses: one duration for each row");
        ticks_.clear();
        for (double one : ns) {
            ticks_.push_back(scale.ticks(one));
        }
    }

    void set_ns_of(const Graph& graph, std::span<const double> ns, TimeScale scale) {
        ensure(ns.size() == graph.size(), "accesses: one duration for each node");
        std::vector<u64>& ticks = in_order_[&graph];
        ticks.clear();
        for (double one : ns) {
            ticks.push_back(scale.ticks(one));
        }
    }

    u64 ticks(const Graph& graph, u32 node, u64 of_bytes, bool stores) const {
        if (const auto found = in_order_.find(&graph); found != in_order_.end()) {
            return found->second[node];
        }
        const auto at = rows_.find({of_bytes, stores});
        return at == rows_.end() ? 0 : ticks_[at->second];
    }

    std::vector<u64> bytes, count;
    std::vector<u32> is_store;

private:
    using Key = std::pair<u64, bool>;

    std::map<Key, u32> rows_;
    std::vector<u64> ticks_;
    std::unordered_map<const Graph*, std::vector<u64>> in_order_;   // by node
};

}  // namespace yantra
