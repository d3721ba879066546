// Labels are numbered by first appearance, as in the file.
#include "trace/stamps.hpp"

#include <array>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/interner.hpp"
#include "trace/graph_parts.hpp"
#include "trace/roles.hpp"

namespace yantra {

namespace {

struct LabelColumn {
    SharedVector<std::int32_t> Graph::* column;
    std::vector<std::string> Graph::* names;
};

constexpr std::array<LabelColumn, 5> label_columns{{{&Graph::pg_name, &Graph::pg_names},
                                                    {&Graph::comm_peer, &Graph::peer_names},
                                                    {&Graph::op_class, &Graph::op_classes},
                                                    {&Graph::dtype, &Graph::dtypes},
                                                    {&Graph::phase, &Graph::phases}}};

struct BlockGraph {
    Graph graph;
    std::array<std::vector<std::int32_t>, label_columns.size()> label;
    std::uint32_t names_begin = 0;
};

bool is_plain(const Graph& graph) {
    return graph.diagnostics.empty() && graph.inputs.kind.empty() && graph.outputs.kind.empty() &&
           graph.involved_len.empty();
}

class StampedGraph {
public:
    StampedGraph(const Stamps& stamps, bool kernels) : stamps_(stamps), kernels_(kernels) {}

    std::optional<Graph> run() {
        if (stamps_.size > max_count) {
            return std::nullopt;
        }
        const auto nodes = static_cast<std::size_t>(stamps_.size);
        const auto number = [nodes](auto& column) {
            column.own().resize(nodes);
            std::iota(column.own().begin(), column.own().end(), 0U);
        };
        number(graph_.id);
        number(graph_.file_order);
        const auto reserve = [nodes](auto&... column) { (column.own().reserve(nodes), ...); };
        reserve(graph_.parent_count, graph_.name_at, graph_.type, graph_.duration_micros);
        begin_.reserve(nodes + 1);
        begin_.push_back(0);
        graph_.pg_name.own().assign(nodes, Graph::group_absent);
        for (std::size_t copy = 0; copy < stamps_.copies.size(); ++copy) {
            if (!append(copy)) {
                return std::nullopt;
            }
        }
        add_children(graph_);
        for (std::size_t at = 0; at < label_columns.size(); ++at) {
            graph_.*label_columns[at].names = std::move(labels_[at]).take();
        }
        return std::move(graph_);
    }

private:
    bool append(std::size_t copy) {
        const Stamps::Copy& stamp = stamps_.copies[copy];
        const BlockGraph* block = block_of(stamp);
        if (block == nullptr) {
            return false;
        }
        const Graph& own = block->graph;
        const auto extend = [](auto& to, const auto& from) {
            to.own().insert(to.own().end(), from.begin(), from.end());
        };
        extend(graph_.type, own.type);
        extend(graph_.duration_micros, own.duration_micros);
        for (const std::uint32_t at : own.name_at) {
            name_at_.push_back(at + block->names_begin);
        }
        const auto first = static_cast<std::uint32_t>(stamp.first);
        for (const IntegerAttribute& known : integer_attributes) {
            const bool is_tag = known.column == &Graph::comm_tag;
            integers(own.*known.column, graph_.*known.column, first,
                     is_tag ? static_cast<std::uint64_t>(stamp.tag_base) : 0);
        }
        for (std::size_t size = 0; size < own.kernel_size.size(); ++size) {
            integers(own.kernel_size[size], graph_.kernel_size[size], first, 0);
        }
        for (std::size_t at = 0; at < label_columns.size(); ++at) {
            labels(own.*label_columns[at].column, block->label[at], graph_.*label_columns[at].column, first);
        }
        return parents(copy, own);
    }

    void integers(const IntColumn& from, IntColumn& to, std::uint32_t first, std::uint64_t more) const {
        if (from.empty()) {
            return;
        }
        OwnColumn own(to);
        if (own.empty()) {
            own.make(stamps_.size);
        }
        for (std::size_t node = 0; node < from.kind.size(); ++node) {
            if (from.kind[node] == IntColumn::integer) {
                (*own.kind)[first + node] = IntColumn::integer;
                (*own.value)[first + node] = from.value[node] + more;
            }
        }
    }

    void labels(const SharedVector<std::int32_t>& from, const std::vector<std::int32_t>& number,
                SharedVector<std::int32_t>& shared, std::uint32_t first) const {
        if (from.empty()) {
            return;
        }
        std::vector<std::int32_t>& to = shared.own();
        if (to.empty()) {
            to.assign(stamps_.size, Graph::group_absent);
        }
        for (std::size_t node = 0; node < from.size(); ++node) {
            if (from[node] >= 0) {
                to[first + node] = number[static_cast<std::size_t>(from[node])];
            }
        }
    }

    // Data then control, the block's own first.
    bool parents(std::size_t copy, const Graph& own) {
        const Stamps::Copy& stamp = stamps_.copies[copy];
        const auto first = static_cast<std::uint32_t>(stamp.first);
        std::size_t edge = stamp.first_edge;
        const std::size_t end = stamps_.end_of_edges(copy);
        for (std::uint32_t node = 0; node < own.size(); ++node) {
            const std::size_t begin = parents_.size();
            if (edge == end || stamps_.edges[edge].place != node) {
                for (std::uint32_t at = own.parent_begin[node]; at < own.parent_begin[node + 1]; ++at) {
                    parents_.push_back(own.parent[at] + first);
                }
            } else {
                const std::size_t from = edge;
                while (edge < end && stamps_.edges[edge].place == node) {
                    ++edge;
                }
                tied(stamp, node, from, edge);
            }
            if (parents_.size() > max_count) {
                return false;
            }
            count_.push_back(static_cast<std::uint32_t>(parents_.size() - begin));
            begin_.push_back(static_cast<std::uint32_t>(parents_.size()));
        }
        return true;
    }

    void tied(const Stamps::Copy& stamp, std::uint32_t node, std::size_t from, std::size_t to) {
        const std::size_t begin = parents_.size();
        const auto take = [&](std::uint64_t parent) {
            for (std::size_t at = begin; at < parents_.size(); ++at) {
                if (parents_[at] == parent) {
                    return;
                }
            }
            parents_.push_back(static_cast<std::uint32_t>(parent));
        };
        for (const bool is_ctrl : {false, true}) {
            for (const std::uint64_t id : is_ctrl ? stamp.block->ctrl_deps(node) : stamp.block->data_deps(node)) {
                take(id + stamp.first);
            }
            for (std::size_t edge = from; edge < to; ++edge) {
                if (stamps_.edges[edge].is_ctrl == is_ctrl) {
                    take(stamps_.edges[edge].earlier);
                }
            }
        }
    }

    // Labels are numbered at the first copy.
    const BlockGraph* block_of(const Stamps::Copy& stamp) {
        const auto [entry, fresh] = blocks_.try_emplace(stamp.block.get());
        BlockGraph& block = entry->second;
        if (!fresh) {
            return &block;
        }
        block.graph = build_graph(*stamp.block, false, kernels_);
        if (!is_plain(block.graph) ||
            graph_.name_bytes.size() + block.graph.name_bytes.size() > max_count) {
            return nullptr;
        }
        block.names_begin = static_cast<std::uint32_t>(graph_.name_bytes.size());
        graph_.name_bytes.own().append(block.graph.name_bytes.begin(), block.graph.name_bytes.end());
        for (std::size_t at = 0; at < label_columns.size(); ++at) {
            for (const std::string& name : block.graph.*label_columns[at].names) {
                block.label[at].push_back(static_cast<std::int32_t>(labels_[at].intern(name)));
            }
        }
        return &block;
    }

    const Stamps& stamps_;
    bool kernels_;
    Graph graph_;
    std::vector<std::uint32_t>& parents_ = graph_.parent.own();
    std::vector<std::uint32_t>& count_ = graph_.parent_count.own();
    std::vector<std::uint32_t>& begin_ = graph_.parent_begin.own();
    std::vector<std::uint32_t>& name_at_ = graph_.name_at.own();
    std::unordered_map<const Trace*, BlockGraph> blocks_;
    std::array<Interner, label_columns.size()> labels_;
};

}  // namespace

std::optional<Graph> stamped_graph(const Stamps& stamps, bool kernels) {
    return StampedGraph(stamps, kernels).run();
}

}  // namespace yantra
