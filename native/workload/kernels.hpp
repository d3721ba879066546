// Kernels: a job's distinct computations as columns, for compute models in Python. Trade-off: each
// node of a distinct graph is hashed once.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/interner.hpp"
#include "trace/graph.hpp"
#include "trace/kernel_sizes.hpp"
#include "workload/job.hpp"

namespace yantra {

class KernelTable {
public:
    struct Needs {
        bool flops = true;
        bool bytes = true;
        bool missing_is_cpu_op_means_cpu = false;
        bool whole_microseconds = false;
        bool may_communicate = false;   // if so, those of a recording that do, or lack work, have no row
    };

    explicit KernelTable(Needs needs) : needs_(needs) {}

    std::vector<Problem> add(const std::shared_ptr<const Graph>& graph, u64 ranks);

    // Sets times by row, in nanoseconds.
    void set_ns(std::span<const double> ns, TimeScale scale);

    // None where it is no kernel; null for a graph that was not added.
    const std::vector<u32>* rows_of(const Graph& graph) const;
    u64 ticks(u32 row) const { return ticks_[row]; }

    // Codes count from 1 in the lists of names; 0 and shapes of 0 are unknown.
    std::vector<u32> op_class, dtype, phase;
    std::vector<u64> flops, bytes, recorded_ns, count;
    std::array<std::vector<u64>, kernel_sizes.size()> sizes;

    std::vector<std::string> op_classes() const { return op_classes_.names(); }
    std::vector<std::string> dtypes() const { return dtypes_.names(); }
    std::vector<std::string> phases() const { return phases_.names(); }

private:
    struct Row {
        u32 op_class = 0;
        u32 dtype = 0;
        u32 phase = 0;
        u64 flops = 0;
        u64 bytes = 0;
        u64 recorded_ns = 0;
        std::array<u64, kernel_sizes.size()> sizes{};

        bool operator==(const Row&) const = default;
    };
    struct HashRow {
        std::size_t operator()(const Row& row) const;
    };
    struct OfGraph {
        std::shared_ptr<const Graph> graph;   // held, so that no other graph takes its address
        std::vector<u32> rows;
    };

    bool is_kernel(const Graph& graph, u32 node) const;
    u32 row_of(const Row& row);
    u64 needed(const IntColumn& column, u32 node, const char* name, bool is_needed,
               std::vector<Problem>& problems) const;

    Needs needs_;
    Interner op_classes_;
    Interner dtypes_;
    Interner phases_;
    std::unordered_map<Row, u32, HashRow> known_;
    std::unordered_map<const Graph*, OfGraph> graphs_;
    std::vector<u64> ticks_;
};

}  // namespace yantra
