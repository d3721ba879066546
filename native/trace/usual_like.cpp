// A graph read as a copy of that of the file before: see trace/usual.hpp, usual_graph_like().
#include <cstddef>
#include <span>

#include "trace/usual.hpp"
#include "trace/usual_reader.hpp"

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

// Whether the files have the same nodes in the same order; finds the records that differ.
bool compare(QuickReader before, QuickReader now, const Graph& graph, UsualRoom& room) {
    room.differing.clear();
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
    reader.drop_unused();
    reader.name_labels();
    return graph;
}

}  // namespace yantra
