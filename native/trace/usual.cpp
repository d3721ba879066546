#include "trace/usual.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/interner.hpp"
#include "base/utf8.hpp"
#include "base/wire.hpp"
#include "trace/coding.hpp"
#include "trace/cycle.hpp"
#include "trace/decode.hpp"
#include "trace/graph_parts.hpp"
#include "trace/id_index.hpp"
#include "trace/name_order.hpp"
#include "trace/roles.hpp"
#include "trace/schema.hpp"

namespace yantra {

namespace {

// How many nodes a file has in all, and a few more, if they are as large as those in its first `read` bytes.
std::size_t about_all(std::size_t nodes, std::size_t read, std::size_t bytes) {
    const double all = 1.01 * static_cast<double>(nodes) * static_cast<double>(bytes) / static_cast<double>(read);
    return std::min(static_cast<std::size_t>(all) + 1, max_count);
}

bool is_text(std::string_view bytes) { return first_bad_utf8(bytes) == bytes.size(); }

// Each function that returns bool tells whether what it read is as usual.
class UsualReader {
public:
    // `nodes`: about how many there are.
    UsualReader(std::size_t nodes, bool kernels) : names_(graph_, nodes), nodes_(nodes), kernels_(kernels) {
        graph_.pg_name.assign(nodes, Graph::group_absent);
        make_room(nodes);
    }

    bool read(WireReader in) {
        const std::size_t bytes = in.left();
        while (!in.at_end()) {
            if (graph_.size() == nodes_) [[unlikely]] {
                if (nodes_ == max_count) {
                    return false;
                }
                make_room(about_all(nodes_, bytes - in.left(), bytes));
            }
            in.fetch(fetched_ahead);
            if (!node(in.record())) {
                return false;
            }
        }
        make_room(graph_.size());
        return sort() && resolve();
    }

    Graph take() {
        add_children(graph_);
        graph_.pg_names = in_order(graph_.pg_name, std::move(groups_).take());
        graph_.peer_names = in_order(graph_.comm_peer, std::move(peers_).take());
        graph_.op_classes = in_order(graph_.op_class, std::move(op_classes_).take());
        graph_.dtypes = in_order(graph_.dtype, std::move(dtypes_).take());
        graph_.phases = in_order(graph_.phase, std::move(phases_).take());
        return std::move(graph_);
    }

private:
    bool node(WireReader in) {
        std::uint64_t id = 0;
        std::uint64_t type = 0;
        std::uint64_t duration_micros = 0;
        std::string_view name;
        controls_.clear();
        while (!in.at_end()) {
            const WireTag tag = in.tag();
            const bool is_block = tag.type == WireType::block;
            if (tag.field == field::node_attribute && is_block) [[likely]] {
                if (!attribute(in.message())) {
                    return false;
                }
            } else if (tag.field == field::node_id && tag.type == WireType::varint) {
                id = in.varint();
            } else if (tag.field == field::node_type && tag.type == WireType::varint) {
                type = in.varint();
            } else if (tag.field == field::node_name && is_block) {
                name = in.block();
            } else if (tag.field == field::node_data_deps && is_block) {
                ids(in.message(), deps_);
            } else if (tag.field == field::node_ctrl_deps && is_block) {
                ids(in.message(), controls_);
            } else if (tag.field == field::node_duration_micros && tag.type == WireType::varint) {
                duration_micros = in.varint();
            } else if (tag.field == field::node_start_micros && tag.type == WireType::varint) {
                in.varint();
            } else {
                return false;
            }
        }
        if (!is_text(name)) {
            return false;
        }
        deps_.insert(deps_.end(), controls_.begin(), controls_.end());
        dep_end_.push_back(deps_.size());
        graph_.id.push_back(id);
        graph_.type.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(type)));
        graph_.duration_micros.push_back(duration_micros);
        names_.add(name);
        return true;
    }

    static void ids(WireReader packed, std::vector<std::uint64_t>& out) {
        while (!packed.at_end()) {
            out.push_back(packed.varint());
        }
    }

    // The attributes of the node after those that are complete.
    bool attribute(WireReader in) {
        const WireTag first = in.tag();
        if (first.field != field::attribute_name || first.type != WireType::block) {
            return false;
        }
        const std::uint32_t number = order_.number(in.block(), [this](std::string_view name) {
            const std::uint32_t known = known_.intern(name);
            if (known == roles_.size()) {
                roles_.push_back(role_of(name, graph_, kernels_));
                are_names_text_ &= is_text(name);
            }
            return known;
        });
        const AttributeRole role = roles_[number];
        if (role.role == Role::none || role.role == Role::inputs || role.role == Role::outputs) {
            return are_names_text_;
        }
        if (in.at_end()) {
            return false;
        }
        const WireTag tag = in.tag();
        const bool is_value = tag.field >= field::attribute_first_value &&
                              tag.field <= field::attribute_last_value;
        return is_value && value(in, tag, role) && in.at_end();
    }

    bool value(WireReader& in, WireTag tag, AttributeRole role) {
        const auto kind = static_cast<AttributeKind>(tag.field);
        switch (role.role) {
            case Role::integer: return integer(in, tag, kind, *role.column);
            case Role::involved: return involved(in, tag, kind);
            case Role::group: return label(in, kind, tag, graph_.pg_name, groups_);
            case Role::peer: return label(in, kind, tag, graph_.comm_peer, peers_);
            case Role::op_class: return label(in, kind, tag, graph_.op_class, op_classes_);
            case Role::dtype: return label(in, kind, tag, graph_.dtype, dtypes_);
            case Role::phase: return label(in, kind, tag, graph_.phase, phases_);
            default: return false;
        }
    }

    bool integer(WireReader& in, WireTag tag, AttributeKind kind, IntColumn& column) {
        const std::uint32_t node = graph_.size();
        const Coding& coding = coding_of(kind);
        if (!is_integer(kind) || tag.type != coding.wire) {
            return false;
        }
        if (column.empty()) [[unlikely]] {
            column.value.assign(nodes_, 0);
            column.kind.assign(nodes_, IntColumn::absent);
        }
        if (column.kind[node] != IntColumn::absent) {
            return false;
        }
        column.kind[node] = IntColumn::integer;
        column.value[node] = read_number(in, coding);
        return true;
    }

    bool label(WireReader& in, AttributeKind kind, WireTag tag, std::vector<std::int32_t>& column,
               Interner& labels) {
        if (kind != AttributeKind::string || tag.type != WireType::block) {
            return false;
        }
        if (column.empty()) {
            column.assign(nodes_, Graph::group_absent);
        }
        std::int32_t& at = column[graph_.size()];
        const std::string_view text = in.block();
        if (at != Graph::group_absent || !is_text(text)) {
            return false;
        }
        at = static_cast<std::int32_t>(labels.intern(text));
        return true;
    }

    bool involved(WireReader& in, WireTag tag, AttributeKind kind) {
        if (kind != AttributeKind::boolean_list || tag.type != WireType::block) {
            return false;
        }
        if (graph_.involved_len.empty()) {
            graph_.involved_len.assign(nodes_, 0);
            graph_.involved_mask.assign(nodes_, 0);
        }
        const std::uint32_t node = graph_.size();
        WireReader list = in.message();
        const WireTag inner = list.at_end() ? WireTag{0, WireType::varint} : list.tag();
        if (graph_.involved_len[node] != 0 || inner.field != field::list_values ||
            inner.type != WireType::block) {
            return false;
        }
        std::uint8_t count = 0;
        for (WireReader packed = list.message(); !packed.at_end(); ++count) {
            if (count == 64) {
                return false;
            }
            graph_.involved_mask[node] |= std::uint64_t{packed.varint() != 0} << count;
        }
        graph_.involved_len[node] = count;
        return count > 0 && list.at_end();
    }

    // Brings what was read in the order of the file into that of ids, which are distinct.
    bool sort() {
        graph_.file_order.resize(nodes_);
        std::iota(graph_.file_order.begin(), graph_.file_order.end(), 0U);
        record_ = graph_.file_order;
        const std::vector<std::uint64_t>& id = graph_.id;
        const auto by_id = [&id](std::uint32_t a, std::uint32_t b) { return id[a] < id[b]; };
        is_sorted_ = std::is_sorted(id.begin(), id.end());
        if (!is_sorted_) {
            std::sort(record_.begin(), record_.end(), by_id);
            for (std::uint32_t node = 0; node < nodes_; ++node) {
                graph_.file_order[record_[node]] = node;
            }
            move_columns();
        }
        return std::adjacent_find(id.begin(), id.end()) == id.end();
    }

    void move_columns() {
        move(graph_.id);
        move(graph_.type);
        move(graph_.duration_micros);
        move(graph_.name_at);
        for_each_attribute([this](auto& column, auto) { move(column); });
    }

    // Those of attributes have as many places as there may be nodes, the others room for them.
    void make_room(std::size_t nodes) {
        nodes_ = nodes;
        graph_.id.reserve(nodes);
        graph_.type.reserve(nodes);
        graph_.duration_micros.reserve(nodes);
        graph_.name_at.reserve(nodes);
        dep_end_.reserve(nodes);
        for_each_attribute([nodes](auto& column, auto absent) {
            if (!column.empty()) {
                column.resize(nodes, absent);
            }
        });
    }

    // Calls visit(column, what it says of a node without the attribute).
    template <typename Visit>
    void for_each_attribute(Visit&& visit) {
        const auto integers = [&visit](IntColumn& column) {
            visit(column.value, std::uint64_t{0});
            visit(column.kind, std::uint8_t{IntColumn::absent});
        };
        for (const IntegerAttribute& known : integer_attributes) {
            integers(graph_.*known.column);
        }
        for (IntColumn& size : graph_.kernel_size) {
            integers(size);
        }
        visit(graph_.involved_mask, std::uint64_t{0});
        visit(graph_.involved_len, std::uint8_t{0});
        for (auto* labels : {&graph_.pg_name, &graph_.comm_peer, &graph_.op_class, &graph_.dtype,
                             &graph_.phase}) {
            visit(*labels, Graph::group_absent);
        }
    }

    template <typename Value>
    void move(std::vector<Value>& column) {
        if (column.empty()) {
            return;
        }
        std::vector<Value> moved(nodes_);
        for (std::uint32_t node = 0; node < nodes_; ++node) {
            moved[node] = column[record_[node]];
        }
        column = std::move(moved);
    }

    // Labels were numbered as the file has them; nodes number them.
    std::vector<std::string> in_order(std::vector<std::int32_t>& column, std::vector<std::string> labels) const {
        if (is_sorted_ || labels.size() < 2) {
            return labels;
        }
        std::vector<std::int32_t> number(labels.size(), Graph::group_absent);
        std::vector<std::string> ordered;
        for (std::int32_t& at : column) {
            if (at >= 0) {
                std::int32_t& known = number[static_cast<std::size_t>(at)];
                if (known < 0) {
                    known = static_cast<std::int32_t>(ordered.size());
                    ordered.push_back(std::move(labels[static_cast<std::size_t>(at)]));
                }
                at = known;
            }
        }
        return ordered;
    }

    // Ids of parents to their numbers, each parent once.
    bool resolve() {
        if (deps_.size() > max_count) {
            return false;
        }
        const IdIndex index(graph_.id);
        std::vector<std::uint32_t> seen(nodes_, 0);  // node + 1 that last took this parent
        graph_.parent.reserve(deps_.size());
        graph_.parent_count.resize(nodes_);
        graph_.parent_begin.resize(nodes_ + 1);
        for (std::uint32_t node = 0; node < nodes_; ++node) {
            const std::uint32_t record = record_[node];
            for (std::size_t at = record == 0 ? 0 : dep_end_[record - 1]; at < dep_end_[record]; ++at) {
                const std::uint32_t parent = index.find(deps_[at]);
                if (parent == IdIndex::absent) {
                    return false;
                }
                if (seen[parent] != node + 1) {
                    seen[parent] = node + 1;
                    graph_.parent.push_back(parent);
                }
            }
            graph_.parent_begin[node + 1] = static_cast<std::uint32_t>(graph_.parent.size());
            graph_.parent_count[node] = graph_.parent_begin[node + 1] - graph_.parent_begin[node];
        }
        return true;
    }

    static constexpr std::size_t fetched_ahead = 1024;   // bytes: a few records

    Graph graph_;
    NamePool names_;
    std::size_t nodes_;   // that the columns have room for; in the end those that there are
    bool kernels_;
    std::vector<std::uint64_t> deps_;        // ids, of each record those of its data first
    std::vector<std::uint64_t> dep_end_;     // of a record
    std::vector<std::uint64_t> controls_;    // of the record being read
    std::vector<std::uint32_t> record_;      // of a node
    bool is_sorted_ = true;
    NameOrder order_;
    Interner known_;
    std::vector<AttributeRole> roles_;  // by the number of a name
    bool are_names_text_ = true;
    Interner groups_, peers_, op_classes_, dtypes_, phases_;
};

// About how many nodes a file has: to count them would be to fetch it twice.
std::size_t about_nodes(WireReader in) {
    constexpr std::size_t sampled = 256;
    const std::size_t bytes = in.left();
    std::size_t nodes = 0;
    for (; !in.at_end() && nodes < sampled; ++nodes) {
        in.record();
    }
    return in.at_end() ? nodes : about_all(nodes, bytes - in.left(), bytes);
}

std::optional<Graph> read_usual(std::string_view bytes, bool kernels) {
    WireReader in(bytes);
    in.record();
    const std::string_view metadata = bytes.substr(0, in.offset());
    const Trace head = decode(metadata, Reading::execution, Layout::today);
    if (head.unknown.field != 0) {
        return std::nullopt;
    }
    UsualReader reader(about_nodes(in), kernels);
    if (!reader.read(in)) {
        return std::nullopt;
    }
    Graph graph = reader.take();
    if (!find_cycle(graph).cycle.empty()) {
        return std::nullopt;
    }
    graph.complete_order = says_complete_order(head);
    return graph;
}

}  // namespace

std::optional<Graph> usual_graph(std::string_view bytes, bool kernels) {
    try {
        return read_usual(bytes, kernels);
    } catch (const TraceFault&) {
        return std::nullopt;
    }
}

}  // namespace yantra
