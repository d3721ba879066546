#include "trace/usual.hpp"

#include <cstddef>
#include <optional>

#include "trace/cycle.hpp"
#include "trace/decode.hpp"
#include "trace/usual_reader.hpp"

namespace yantra {

namespace {

// None if it is broken early.
std::optional<std::size_t> about_nodes(QuickReader in) {
    constexpr std::size_t sampled = 256;
    const std::size_t bytes = in.left();
    std::size_t nodes = 0;
    for (; !in.at_end() && nodes < sampled; ++nodes) {
        QuickReader record;
        if (!in.record(record)) {
            return std::nullopt;
        }
    }
    return in.at_end() ? nodes : about_all(nodes, bytes - in.left(), bytes);
}

std::shared_ptr<Graph> read_usual(std::string_view bytes, bool kernels, UsualRoom& room) {
    QuickReader in(bytes);
    QuickReader metadata;
    if (!in.record(metadata)) {
        return nullptr;
    }
    const Trace head = decode(bytes.substr(0, bytes.size() - in.left()), Reading::execution, Layout::today);
    if (head.unknown.field != 0 || !is_of_today(head.version)) {
        return nullptr;
    }
    const std::optional<std::size_t> nodes = about_nodes(in);
    if (!nodes) {
        return nullptr;
    }
    auto graph = std::make_shared<Graph>();
    UsualReader reader(*graph, room, *nodes, kernels);
    if (!reader.read(in)) {
        return nullptr;
    }
    reader.add_children_of_nodes();
    reader.name_labels();
    if (!find_cycle(*graph).cycle.empty()) {
        return nullptr;
    }
    graph->complete_order = says_complete_order(head);
    return graph;
}

}  // namespace

std::shared_ptr<Graph> usual_graph(std::string_view bytes, bool kernels, UsualRoom& room) {
    try {
        return read_usual(bytes, kernels, room);
    } catch (const TraceFault&) {
        return nullptr;
    }
}

}  // namespace yantra
