// Stamps: a long trace as copies of short ones, the blocks, before anything is written of it.
//
// Trade-off: a copy is its block, two numbers and what ties it to those before, so a step of many
// micro-batches costs what its distinct passes cost; a graph for a run is put together from the graphs of
// the blocks, and the bytes of the file are made only for who asks for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/vector.hpp"
#include "trace/graph.hpp"
#include "trace/trace.hpp"

namespace yantra {

// A dependency of a node of a copy on a node that was there before.
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
    Vector<Copy> copies;
    Vector<StampEdge> edges;       // those of a copy by ascending place
    std::uint64_t size = 0;             // nodes

    std::size_t end_of_edges(std::size_t copy) const {
        return copy + 1 < copies.size() ? copies[copy + 1].first_edge : edges.size();
    }
};

// What build_graph() gives of the whole trace, or nothing where a block has what needs judgement or is
// not looked at here (findings, tensors, dimensions).
std::optional<Graph> stamped_graph(const Stamps& stamps, bool kernels);

}  // namespace yantra
