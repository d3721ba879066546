// Stamps: a long trace as copies of short blocks: two numbers and dependencies each; bytes only on
// request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "trace/graph.hpp"
#include "trace/trace.hpp"

namespace yantra {

struct StampEdge {
    std::uint64_t place = 0;    // in the block
    std::uint64_t earlier = 0;  // id
    bool is_ctrl = false;
};

struct Stamps {
    struct Copy {
        std::shared_ptr<const Trace> block;
        std::uint64_t first = 0;        // id of its first node
        std::size_t first_edge = 0;     // its edges end where those of the next copy begin
        std::optional<std::int64_t> microbatch;
        std::int64_t tag_base = 0;
    };
    std::vector<Copy> copies;
    std::vector<StampEdge> edges;       // those of a copy by ascending place
    std::uint64_t size = 0;             // nodes

    std::size_t end_of_edges(std::size_t copy) const {
        return copy + 1 < copies.size() ? copies[copy + 1].first_edge : edges.size();
    }
};

// Nothing if a block needs judgement or has findings, tensors or dimensions.
std::optional<Graph> stamped_graph(const Stamps& stamps, bool kernels);

}  // namespace yantra
