// One record of a usual file (trace/usual.hpp). Functions return false for what is unusual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/quick_wire.hpp"
#include "base/utf8.hpp"
#include "trace/schema.hpp"
#include "trace/usual.hpp"

namespace yantra {

inline bool is_valid_text(std::string_view bytes) { return first_bad_utf8(bytes) == bytes.size(); }

// All fields except attributes and dependencies.
struct RecordFields {
    std::uint64_t id = 0;
    std::uint64_t type = 0;
    std::uint64_t duration_micros = 0;
    std::uint64_t start_micros = 0;
    std::string_view name;
};

struct NoIo {
    bool operator()(std::uint64_t, QuickReader) const { return false; }
};

// Columns that can be written.
struct NodeBodies {
    explicit NodeBodies(Graph& graph)
        : id(graph.id.own()), type(graph.type.own()), duration_micros(graph.duration_micros.own()) {}

    void put(std::size_t node, const RecordFields& read) {
        type[node] = static_cast<std::int32_t>(static_cast<std::uint32_t>(read.type));
        duration_micros[node] = read.duration_micros;
    }

    std::vector<std::uint64_t>& id;
    std::vector<std::int32_t>& type;
    std::vector<std::uint64_t>& duration_micros;
};

inline bool read_ids(QuickReader packed, std::vector<std::uint64_t>& out) {
    while (!packed.at_end()) {
        std::uint64_t id = 0;
        if (!packed.varint(id)) {
            return false;
        }
        out.push_back(id);
    }
    return true;
}

// `on_attribute` and `on_io` return whether it is usual.
template <typename OnAttribute, typename OnIo = NoIo>
[[gnu::always_inline]] inline bool read_fields(QuickReader in, RecordFields& out, UsualRoom& room,
                                               const OnAttribute& on_attribute, const OnIo& on_io = {}) {
    using enum WireType;
    room.controls.clear();
    while (!in.at_end()) {
        std::uint64_t key = 0;
        QuickReader inner;
        bool is_usual = in.varint(key);
        switch (key) {
            case key_of(field::node_attribute, block):
                is_usual = in.message(inner) && on_attribute(inner);
                break;
            case key_of(field::node_id, varint): is_usual = in.varint(out.id); break;
            case key_of(field::node_type, varint): is_usual = in.varint(out.type); break;
            case key_of(field::node_name, block): is_usual = in.block(out.name); break;
            case key_of(field::node_data_deps, block):
                is_usual = in.message(inner) && read_ids(inner, room.deps);
                break;
            case key_of(field::node_ctrl_deps, block):
                is_usual = in.message(inner) && read_ids(inner, room.controls);
                break;
            case key_of(field::node_duration_micros, varint): is_usual = in.varint(out.duration_micros); break;
            case key_of(field::node_start_micros, varint): is_usual = in.varint(out.start_micros); break;
            case key_of(field::node_inputs, block):
            case key_of(field::node_outputs, block): is_usual = in.message(inner) && on_io(key, inner); break;
            default: return false;
        }
        if (!is_usual) [[unlikely]] {
            return false;
        }
    }
    room.deps.insert(room.deps.end(), room.controls.begin(), room.controls.end());
    return is_valid_text(out.name);
}

}  // namespace yantra
