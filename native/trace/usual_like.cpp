// A graph read as a copy of that of the file before: see trace/usual.hpp, usual_graph_like().
#include <cstddef>
#include <span>

#include "trace/usual.hpp"
#include "trace/usual_reader.hpp"
#include "trace/usual_record.hpp"

namespace yantra {

namespace {

// Whether a record is of the same node, by id, name and dependencies.
bool is_of_node(QuickReader record, const Graph& graph, std::uint32_t node, UsualRoom& room) {
    RecordFields fields;
    room.deps.clear();
    if (!read_fields(record, fields, room, [](QuickReader) { return true; })) {
        return false;
    }
    const std::span parents = std::span(graph.parent)
                                  .subspan(graph.parent_begin[node], graph.parent_count[node]);
    return fields.id == graph.id[node] && fields.name == graph.name(node) &&
           std::ranges::equal(parents, room.deps,
                              [&graph](std::uint32_t parent, std::uint64_t id) { return graph.id[parent] == id; });
}

// Whether two attributes are of one name; they differ in their values.
bool are_of_one_name(QuickReader before, QuickReader now) {
    std::uint64_t key_before = 0;
    std::uint64_t key = 0;
    std::string_view name_before;
    std::string_view name;
    return before.varint(key_before) && now.varint(key) && key == key_before &&
           key == key_of(field::attribute_name, WireType::block) && before.block(name_before) && now.block(name) &&
           name == name_before;
}

// Whether records differ in values of attributes alone; finds these attributes of the record now.
bool differ_in_values(QuickReader before, QuickReader now, std::uint32_t node, UsualRoom& room) {
    const std::size_t found = room.changed.size();
    while (!before.at_end() && !now.at_end()) {
        std::uint64_t key_before = 0;
        std::uint64_t key = 0;
        std::uint64_t number_before = 0;
        std::uint64_t number = 0;
        std::string_view field_before;
        std::string_view field;
        const auto is_block = [&key] { return static_cast<WireType>(key & 7U) == WireType::block; };
        bool is_known = before.varint(key_before) && now.varint(key) && key == key_before &&
                        (is_block() ? before.block(field_before) && now.block(field)
                                    : static_cast<WireType>(key & 7U) == WireType::varint &&
                                          before.varint(number_before) && now.varint(number));
        is_known = is_known && number == number_before;
        if (is_known && field != field_before) [[unlikely]] {
            is_known = key == key_of(field::node_attribute, WireType::block) &&
                       are_of_one_name(QuickReader(field_before), QuickReader(field));
            room.changed.emplace_back(node, field);
        }
        if (!is_known) {
            room.changed.resize(found);
            return false;
        }
    }
    return before.at_end() && now.at_end();
}

// Whether the files have the same nodes in the same order; finds the records that differ.
bool compare(QuickReader before, QuickReader now, const Graph& graph, UsualRoom& room) {
    room.differing.clear();
    room.changed.clear();
    for (std::uint32_t record = 0; !before.at_end() && !now.at_end(); ++record) {
        QuickReader was;
        QuickReader is;
        if (!before.record(was) || !now.record(is)) {
            return false;
        }
        if (was.rest() == is.rest()) {
            continue;
        }
        const std::uint32_t node = graph.file_order[record];
        if (differ_in_values(was, is, node, room)) {
            continue;
        }
        if (!is_of_node(is, graph, node, room)) {
            return false;
        }
        room.differing.emplace_back(node, is.rest());
    }
    return before.at_end() && now.at_end();
}

}  // namespace

std::shared_ptr<Graph> usual_graph_like(std::string_view bytes, const KnownFile& before, bool kernels,
                                        UsualRoom& room) {
    QuickReader was(before.bytes);
    QuickReader is(bytes);
    QuickReader metadata_before;
    QuickReader metadata;
    if (!was.record(metadata_before) || !is.record(metadata) || metadata.rest() != metadata_before.rest() ||
        !compare(was, is, before.graph, room)) {
        return nullptr;
    }
    auto graph = std::make_shared<Graph>(before.graph);
    UsualReader reader(*graph, room, kernels);
    for (const auto& [node, record] : room.differing) {
        if (!reader.read_anew(node, QuickReader(record))) {
            return nullptr;
        }
    }
    for (const auto& [node, attribute] : room.changed) {
        if (!reader.read_value_anew(node, QuickReader(attribute))) {
            return nullptr;
        }
    }
    reader.drop_unused();
    reader.name_labels();
    return graph;
}

}  // namespace yantra
