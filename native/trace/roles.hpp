// Attribute names of MLCommons Chakra's converters, and the columns that they fill.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/graph.hpp"
#include "trace/kernel_sizes.hpp"

namespace yantra {

enum class Role : std::uint8_t {
    none, integer, mark, group, peer, involved, inputs, outputs, op_class, dtype, phase,
    recorded, part, communication   // of a survey
};

// A writable integer column.
struct OwnColumn {
    explicit OwnColumn(IntColumn& column) : value(&column.value.own()), kind(&column.kind.own()) {}

    bool empty() const { return kind->empty(); }
    void make(std::size_t nodes) {
        value->assign(nodes, 0);
        kind->assign(nodes, IntColumn::absent);
    }

    void mark(std::size_t node, std::size_t nodes) {
        if (empty()) {
            make(nodes);
        }
        (*kind)[node] = IntColumn::integer;
        (*value)[node] = 1;
    }

    std::vector<std::uint64_t>* value;
    std::vector<std::uint8_t>* kind;
};

struct AttributeRole {
    Role role = Role::none;
    std::optional<OwnColumn> column;   // of an integer or a mark
};

struct IntegerAttribute {
    std::string_view name;
    IntColumn Graph::* column;
};

inline constexpr std::array<IntegerAttribute, 13> integer_attributes{
    {{"is_cpu_op", &Graph::is_cpu_op},
     {"comm_type", &Graph::comm_type},
     {"comm_size", &Graph::comm_size},
     {"comm_priority", &Graph::comm_priority},
     {"comm_src", &Graph::comm_src},
     {"comm_dst", &Graph::comm_dst},
     {"comm_tag", &Graph::comm_tag},
     {"num_ops", &Graph::num_ops},
     {"tensor_size", &Graph::tensor_size},
     {"duration_ns", &Graph::duration_ns},
     {"msg_chunk_cnt", &Graph::msg_chunk_cnt},
     {"total_chunk_cnt", &Graph::total_chunk_cnt},
     {"communication", &Graph::communication}}};

// `kernels`: include what distinguishes kernels.
inline AttributeRole role_of(std::string_view name, Graph& graph, bool kernels) {
    for (const IntegerAttribute& known : integer_attributes) {
        if (name == known.name) {
            const bool is_mark = known.column == &Graph::communication;   // a text: its presence counts
            return {is_mark ? Role::mark : Role::integer, OwnColumn(graph.*known.column)};
        }
    }
    if (kernels) {
        const auto size = std::find(kernel_sizes.begin(), kernel_sizes.end(), name);
        if (size != kernel_sizes.end()) {
            return {Role::integer,
                    OwnColumn(graph.kernel_size[static_cast<std::size_t>(size - kernel_sizes.begin())])};
        }
    }
    const Role role = name == "pg_name"                  ? Role::group
                      : name == "comm_peer"              ? Role::peer
                      : name == "involved_dim"           ? Role::involved
                      : name == "inputs"                 ? Role::inputs
                      : name == "outputs"                ? Role::outputs
                      : kernels && name == "op_class"    ? Role::op_class
                      : kernels && name == "dtype"       ? Role::dtype
                      : kernels && name == "phase"       ? Role::phase
                                                         : Role::none;
    return {role, std::nullopt};
}

}  // namespace yantra
