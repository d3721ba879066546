// UsualReader: reads the records of a usual file (trace/usual.hpp) into a graph's columns.
// Functions return false for what is unusual.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/interner.hpp"
#include "base/interruption.hpp"
#include "base/quick_wire.hpp"
#include "trace/coding.hpp"
#include "trace/graph_parts.hpp"
#include "trace/id_index.hpp"
#include "trace/name_order.hpp"
#include "trace/roles.hpp"
#include "trace/schema.hpp"
#include "trace/survey.hpp"
#include "trace/usual.hpp"
#include "trace/usual_order.hpp"
#include "trace/usual_record.hpp"

namespace yantra {

class UsualReader {
public:
    // `nodes`: an estimate. With a survey, which has the graph, inputs and outputs are usual, other
    // columns are filled too, and ids ascend.
    UsualReader(Graph& graph, UsualRoom& room, std::size_t nodes, bool kernels, Survey* survey = nullptr)
        : graph_(graph), room_(room), survey_(survey), kernels_(kernels) {
        room_.deps.clear();
        room_.dep_end.clear();
        graph_.pg_name.own().assign(nodes, Graph::group_absent);
        names_.emplace(graph, nodes);
        bodies_.emplace(graph);
        make_room(nodes);
    }

    UsualReader(Graph& copy, UsualRoom& room, bool kernels)
        : graph_(copy), room_(room), nodes_(copy.size()), kernels_(kernels), is_sorted_(false) {
        const auto learn = [](Interner& labels, const std::vector<std::string>& names) {
            for (const std::string& name : names) {
                labels.intern(name);
            }
        };
        learn(groups_, copy.pg_names);
        learn(peers_, copy.peer_names);
        learn(op_classes_, copy.op_classes);
        learn(dtypes_, copy.dtypes);
        learn(phases_, copy.phases);
        for_each_integer([this](IntColumn& column) {
            if (!column.empty()) {
                present_.push_back(&column);
            }
        });
    }

    bool read(QuickReader in) {
        const std::size_t bytes = in.left();
        while (!in.at_end()) {
            if (at_ == nodes_) [[unlikely]] {
                if (nodes_ == max_count) {
                    return false;
                }
                make_room(about_all(nodes_, bytes - in.left(), bytes));
            }
            in.fetch(fetched_ahead);
            look_up();
            QuickReader record;
            if (!in.record(record) || !node(record)) {
                return false;
            }
            ++at_;
        }
        return end();
    }

    // The records that are whole; `before` of about `all` bytes were read.
    bool read_whole(QuickReader& in, std::size_t before, std::size_t all) {
        const std::size_t bytes = in.left();
        order_ = {};   // it looks back into the bytes before
        while (!in.at_end()) {
            QuickReader ahead = in;
            QuickReader record;
            if (!ahead.record(record)) {
                return true;
            }
            if (at_ == nodes_) {
                const std::size_t read = before + bytes - in.left();
                make_room(about_all(nodes_, read, std::max(all, read)));
            }
            look_up();
            if (at_ == max_count || !node(record)) {
                return false;
            }
            ++at_;
            in = ahead;
        }
        return true;
    }

    bool end() {
        make_room(at_);
        return sort() && resolve();
    }

    bool read_anew(std::uint32_t node, QuickReader record) {
        at_ = node;
        for (IntColumn* column : present_) {
            column->value.own()[node] = 0;
            column->kind.own()[node] = IntColumn::absent;
        }
        for_each_other([node](auto& column, auto absent) {
            if (!column.empty()) {
                column.own()[node] = absent;
            }
        });
        RecordFields read;
        if (!fields(record, read)) {
            return false;
        }
        NodeBodies(graph_).put(node, read);
        return true;
    }

    bool read_value_anew(std::uint32_t node, QuickReader item) {
        at_ = node;
        return attribute<Before::forgotten>(item);
    }

    void drop_unused() {
        const auto drop = [](auto& column, auto& beside, auto absent) {
            if (std::ranges::all_of(column, [absent](auto value) { return value == absent; })) {
                column.clear();
                beside.clear();
            }
        };
        for (IntColumn* column : present_) {
            drop(column->kind, column->value, IntColumn::absent);
        }
        drop(graph_.involved_len, graph_.involved_mask, 0);
        for (auto* labels : {&graph_.comm_peer, &graph_.op_class, &graph_.dtype, &graph_.phase}) {
            drop(*labels, *labels, Graph::group_absent);
        }
    }

    void add_children_of_nodes() { add_children(graph_, room_.next); }

    void name_labels() {
        graph_.pg_names = in_order(graph_.pg_name, std::move(groups_).take(), is_sorted_);
        graph_.peer_names = in_order(graph_.comm_peer, std::move(peers_).take(), is_sorted_);
        graph_.op_classes = in_order(graph_.op_class, std::move(op_classes_).take(), is_sorted_);
        graph_.dtypes = in_order(graph_.dtype, std::move(dtypes_).take(), is_sorted_);
        graph_.phases = in_order(graph_.phase, std::move(phases_).take(), is_sorted_);
    }

private:
    bool node(QuickReader in) {
        RecordFields read;
        if (!fields(in, read)) {
            return false;
        }
        room_.dep_end.push_back(room_.deps.size());
        if (survey_ != nullptr) {
            survey_->start_micros.own()[at_] = read.start_micros;
            survey_->data_end.push_back(static_cast<std::uint32_t>(room_.deps.size() - room_.controls.size()));
            survey_->dep_end.push_back(static_cast<std::uint32_t>(room_.deps.size()));
            survey_->take_io(at_, read.type);
        }
        bodies_->id[at_] = read.id;
        bodies_->put(at_, read);
        names_->add(read.name);
        return true;
    }

    bool fields(QuickReader in, RecordFields& read) {
        return read_fields(
            in, read, room_, [this](QuickReader item) { return attribute(item); },
            [this](std::uint64_t key, QuickReader io) { return survey_ != nullptr && survey_->read_io(key, io); });
    }

    enum class Before { nothing, forgotten };

    // The attributes after those already complete.
    template <Before before = Before::nothing>
    bool attribute(QuickReader in) {
        std::uint64_t key = 0;
        std::string_view called;
        if (!in.varint(key) || key != key_of(field::attribute_name, WireType::block) || !in.block(called)) {
            return false;
        }
        const std::uint32_t number = order_.number(called, [this](std::string_view name) {
            const std::uint32_t known = known_.intern(name);
            if (known == roles_.size()) {
                roles_.push_back(survey_ != nullptr ? survey_->role(name) : role_of(name, graph_, kernels_));
                are_names_text_ &= is_valid_text(name);
            }
            return known;
        });
        const AttributeRole& role = roles_[number];
        if (role.role == Role::none || role.role == Role::inputs || role.role == Role::outputs) {
            return are_names_text_ && (survey_ == nullptr || (role.role == Role::none && is_sound_value(in)));
        }
        if constexpr (before == Before::forgotten) {
            forget(role);
        }
        return in.varint(key) && value(in, key, role) && in.at_end();
    }

    void forget(const AttributeRole& role) {
        const auto put = [this](auto& column, auto absent) {
            if (!column.empty()) {
                column.own()[at_] = absent;
            }
        };
        switch (role.role) {
            case Role::integer:
            case Role::mark:
                if (!role.column->empty()) {
                    (*role.column->value)[at_] = 0;
                    (*role.column->kind)[at_] = IntColumn::absent;
                }
                return;
            case Role::involved:
                put(graph_.involved_mask, std::uint64_t{0});
                put(graph_.involved_len, std::uint8_t{0});
                return;
            case Role::group: put(graph_.pg_name, Graph::group_absent); return;
            case Role::peer: put(graph_.comm_peer, Graph::group_absent); return;
            case Role::op_class: put(graph_.op_class, Graph::group_absent); return;
            case Role::dtype: put(graph_.dtype, Graph::group_absent); return;
            case Role::phase: put(graph_.phase, Graph::group_absent); return;
            default: return;
        }
    }

    bool value(QuickReader& in, std::uint64_t key, const AttributeRole& role) {
        const std::uint64_t number = key >> 3U;
        if (number < field::attribute_first_value || number > field::attribute_last_value) {
            return false;
        }
        const auto kind = static_cast<AttributeKind>(number);
        const auto type = static_cast<WireType>(key & 7U);
        switch (role.role) {
            case Role::integer: return integer(in, type, kind, *role.column);
            case Role::mark: return mark(in, type, kind, *role.column);
            case Role::involved: return involved(in, type, kind);
            case Role::group: return label(in, kind, type, graph_.pg_name, groups_);
            case Role::peer: return label(in, kind, type, graph_.comm_peer, peers_);
            case Role::op_class: return label(in, kind, type, graph_.op_class, op_classes_);
            case Role::dtype: return label(in, kind, type, graph_.dtype, dtypes_);
            case Role::phase: return label(in, kind, type, graph_.phase, phases_);
            case Role::recorded:
                return kind != AttributeKind::boolean && integer(in, type, kind, *role.column) &&
                       ((*role.column->value)[at_] >> 63U == 0 || is_signed(kind));
            case Role::part: return label(in, kind, type, survey_->part, survey_->parts);
            case Role::communication:
                OwnColumn(graph_.communication).mark(at_, nodes_);
                return label(in, kind, type, survey_->communication, survey_->communications);
            default: return false;
        }
    }

    bool integer(QuickReader& in, WireType type, AttributeKind kind, OwnColumn column) {
        const Coding& coding = coding_of(kind);
        std::uint64_t bits = 0;
        if (!is_integer(kind) || type != coding.wire || !in.number(type, bits)) {
            return false;
        }
        if (column.empty()) [[unlikely]] {
            column.make(nodes_);
        }
        std::uint8_t& known = (*column.kind)[at_];
        if (known != IntColumn::absent) {
            return false;
        }
        known = IntColumn::integer;
        (*column.value)[at_] = number_of(bits, coding);
        return true;
    }

    bool mark(QuickReader& in, WireType type, AttributeKind kind, OwnColumn column) {
        std::string_view text;
        column.mark(at_, nodes_);
        return kind == AttributeKind::string && type == WireType::block && in.block(text) && is_valid_text(text);
    }

    bool label(QuickReader& in, AttributeKind kind, WireType type, SharedVector<std::int32_t>& labelled,
               Interner& labels) {
        std::string_view text;
        if (kind != AttributeKind::string || type != WireType::block || !in.block(text)) {
            return false;
        }
        std::vector<std::int32_t>& column = labelled.own();
        if (column.empty()) {
            column.assign(nodes_, Graph::group_absent);
        }
        std::int32_t& at = column[at_];
        if (at != Graph::group_absent || !is_valid_text(text)) {
            return false;
        }
        at = static_cast<std::int32_t>(labels.intern(text));
        return true;
    }

    bool involved(QuickReader& in, WireType type, AttributeKind kind) {
        QuickReader list;
        QuickReader packed;
        std::uint64_t key = 0;
        if (kind != AttributeKind::boolean_list || type != WireType::block || !in.message(list) ||
            !list.varint(key) || key != key_of(field::list_values, WireType::block) || !list.message(packed)) {
            return false;
        }
        std::vector<std::uint8_t>& length = graph_.involved_len.own();
        std::vector<std::uint64_t>& mask = graph_.involved_mask.own();
        if (length.empty()) {
            length.assign(nodes_, 0);
            mask.assign(nodes_, 0);
        }
        if (length[at_] != 0) {
            return false;
        }
        std::uint8_t count = 0;
        for (std::uint64_t flag = 0; !packed.at_end(); ++count) {
            if (count == 64 || !packed.varint(flag)) {
                return false;
            }
            mask[at_] |= std::uint64_t{flag != 0} << count;
        }
        length[at_] = count;
        return count > 0 && list.at_end();
    }

    bool sort() {
        const std::vector<std::uint64_t>& id = bodies_->id;
        std::vector<std::uint32_t>& file_order = graph_.file_order.own();
        file_order.resize(nodes_);
        std::iota(file_order.begin(), file_order.end(), 0U);
        is_sorted_ = std::is_sorted(id.begin(), id.end());
        if (survey_ != nullptr && !is_sorted_) {
            return false;
        }
        if (is_sorted_) {
            room_.record = file_order;
        } else {
            if (!order_records(id, file_order, room_)) {
                return false;
            }
            for (std::uint32_t node = 0; node < nodes_; ++node) {
                file_order[room_.record[node]] = node;
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

    void make_room(std::size_t nodes) {
        nodes_ = nodes;
        const auto widen = [nodes](auto& shared, auto absent) {
            auto& column = shared.own();
            column.reserve(nodes);   // exactly, as growing would take more
            column.resize(nodes, absent);
        };
        widen(graph_.id, std::uint64_t{0});
        widen(graph_.type, std::int32_t{0});
        widen(graph_.duration_micros, std::uint64_t{0});
        if (survey_ != nullptr) {
            widen(survey_->start_micros, std::uint64_t{0});
        }
        graph_.name_at.own().reserve(nodes);
        for_each_attribute([&widen](auto& column, auto absent) {
            if (!column.empty()) {
                widen(column, absent);
            }
        });
    }

    template <typename Visit>
    void for_each_integer(const Visit& visit) {
        for (const IntegerAttribute& known : integer_attributes) {
            visit(graph_.*known.column);
        }
        std::ranges::for_each(graph_.kernel_size, visit);
        if (survey_ != nullptr) {
            survey_->for_each_integer(visit);
        }
    }

    template <typename Visit>
    void for_each_other(const Visit& visit) {
        visit(graph_.involved_mask, std::uint64_t{0});
        visit(graph_.involved_len, std::uint8_t{0});
        for (auto* labels : {&graph_.pg_name, &graph_.comm_peer, &graph_.op_class, &graph_.dtype,
                             &graph_.phase}) {
            visit(*labels, Graph::group_absent);
        }
        if (survey_ != nullptr) {
            visit(survey_->part, Graph::group_absent);
            visit(survey_->communication, Graph::group_absent);
        }
    }

    template <typename Visit>
    void for_each_attribute(const Visit& visit) {
        for_each_integer([&visit](IntColumn& column) {
            visit(column.value, std::uint64_t{0});
            visit(column.kind, std::uint8_t{IntColumn::absent});
        });
        for_each_other(visit);
    }

    template <typename Value>
    void move(SharedVector<Value>& shared) {
        if (shared.empty()) {
            return;
        }
        std::vector<Value>& column = shared.own();
        auto& by_record = std::get<std::vector<Value>>(room_.moved);
        by_record.assign(column.begin(), column.end());
        const Value* const from = by_record.data();
        Value* to = column.data();
        for (const std::uint32_t record : std::span(room_.record)) {
            *to++ = from[record];
        }
    }

    // Each parent once.
    bool resolve() {
        if (room_.deps.size() > max_count) {
            return false;
        }
        const IdIndex index(graph_.id, room_.table);
        room_.seen.assign(nodes_, 0);  // node + 1 that last took this parent
        std::vector<std::uint32_t>& parents = graph_.parent.own();
        std::vector<std::uint32_t>& count = graph_.parent_count.own();
        std::vector<std::uint32_t>& begin = graph_.parent_begin.own();
        parents.reserve(room_.deps.size());
        count.resize(nodes_);
        begin.resize(nodes_ + 1);
        for (std::uint32_t node = 0; node < nodes_; ++node) {
            const std::uint32_t record = room_.record[node];
            const std::size_t end = room_.dep_end[record];
            for (std::size_t at = record == 0 ? 0 : room_.dep_end[record - 1]; at < end; ++at) {
                const std::uint32_t parent = index.find(room_.deps[at]);
                if (parent == IdIndex::absent) {
                    return false;
                }
                if (survey_ != nullptr) {
                    survey_->dep.push_back(parent);
                }
                if (room_.seen[parent] != node + 1) {
                    room_.seen[parent] = node + 1;
                    parents.push_back(parent);
                }
            }
            begin[node + 1] = static_cast<std::uint32_t>(parents.size());
            count[node] = begin[node + 1] - begin[node];
        }
        return true;
    }

    static constexpr std::size_t fetched_ahead = 1024;   // bytes: a few records

    Graph& graph_;
    UsualRoom& room_;
    Survey* const survey_ = nullptr;
    std::optional<NamePool> names_;     // these two where nodes are read, not known
    std::optional<NodeBodies> bodies_;
    std::size_t nodes_ = 0;   // that the columns have room for; in the end the actual count
    std::size_t at_ = 0;      // column index of the current node
    bool kernels_;
    bool is_sorted_ = true;
    NameOrder order_;
    Interner known_;
    std::vector<AttributeRole> roles_;  // by the number of a name
    std::vector<IntColumn*> present_;   // those of a copy that some node has
    bool are_names_text_ = true;
    Interner groups_, peers_, op_classes_, dtypes_, phases_;
};

}  // namespace yantra
