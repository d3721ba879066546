// Facts: what a rank's nodes say beyond their times, by operator and by device op.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/interner.hpp"
#include "trace/graph.hpp"
#include "trace/replay/nodes.hpp"
#include "trace/schema.hpp"
#include "trace/trace.hpp"

namespace yantra::replay {

inline constexpr std::array<std::string_view, 6> host_numbers{"rf_id", "fw_parent", "seq_id",
                                                              "scope", "tid",       "fw_tid"};

struct OfOperator {
    std::array<std::int64_t, host_numbers.size()> number{};
    std::int64_t num_ops = 0;
    std::uint32_t schema = none;   // place in `texts`
    std::uint32_t inputs = none;   // as below
    std::uint32_t outputs = none;
    std::uint8_t known = 0;        // bits of `number`
    bool is_timed = false;
    bool counts = false;           // has num_ops
    bool is_metadata = false;
};

struct OfDeviceOp {
    std::int64_t device = 0;
    std::int64_t stream = 0;
    std::int64_t correlation = 0;
    std::uint32_t parent = none;
    std::int64_t flops = 0;      // 0: none
    std::uint64_t bytes = 0;
    std::uint32_t form = none;
    std::int32_t type = 0;
    std::uint32_t parts = 1;     // nodes that it becomes
    bool has_bytes = false;
    bool is_special = false;     // is written by somebody else
};

// What models of compute read: equal for kernels alike.
struct Form {
    struct Item {
        std::string name;
        AttributeKind kind;
        std::uint64_t value = 0;
        std::string text;
    };
    std::vector<Item> items;
};

struct Facts {
    std::vector<std::string> names;
    std::vector<OfOperator> operators;
    std::vector<OfDeviceOp> ops;
    std::vector<Form> forms;
    Interner texts;
    Interner tensors;                  // values, shapes and types, with a zero byte between
    std::vector<std::uint64_t> first;  // by node: its first id, if any has several

    // Takes what is needed later, so that `of` may go.
    void begin(const Recorded& of);
    // Once all is there.
    void number(const Nodes& nodes);
    std::uint32_t parts(const Nodes& nodes, std::uint32_t node) const {
        return nodes.kind[node] == Kind::device ? ops[nodes.source[node]].parts : 1;
    }
    std::uint64_t id(std::uint32_t node) const { return first.empty() ? node : first[node]; }

    template <class Visit>
    void each_dep(const Nodes& nodes, std::uint32_t node, Visit visit) const {
        nodes.each_dep(node, [&](std::uint32_t on) {
            const std::uint32_t all = first.empty() ? 1 : parts(nodes, on);
            for (std::uint32_t part = 0; part < all; ++part) {
                visit(id(on) + part);
            }
        });
    }
};

// Adds nodes from `begin` until `end` or the first special one, and returns where it stopped.
std::uint32_t emit(const Facts& facts, const Nodes& nodes, std::uint32_t begin, std::uint32_t end, Trace& trace);

// The graph of durations alone: for how long a replay takes.
Graph timeline(const Facts& facts, const Nodes& nodes);

}  // namespace yantra::replay
