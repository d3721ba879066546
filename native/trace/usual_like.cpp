// usual_graph_like() of trace/usual.hpp.
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "trace/usual.hpp"
#include "trace/usual_reader.hpp"
#include "trace/usual_record.hpp"

namespace yantra {

namespace {

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

bool are_of_one_name(QuickReader before, QuickReader now) {
    std::uint64_t key_before = 0;
    std::uint64_t key = 0;
    std::string_view name_before;
    std::string_view name;
    return before.varint(key_before) && now.varint(key) && key == key_before &&
           key == key_of(field::attribute_name, WireType::block) && before.block(name_before) && now.block(name) &&
           name == name_before;
}

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

std::size_t offset(std::string_view whole, const char* at) { return static_cast<std::size_t>(at - whole.data()); }

// Places that differed mostly differ again, so they are kept.
class Comparison {
public:
    Comparison(const KnownFile& before, std::string_view now, UsualRoom& room)
        : before_(before), now_(now), room_(room) {}

    bool compare(QuickReader before, QuickReader now) {
        forget();
        if (differ_at_places()) {
            return true;
        }
        forget();
        known_ = room_.places;
        const bool are_alike = compare_records(before, now);
        if (!are_alike) {
            room_.new_places.clear();   // they are places in a file that will not precede the next one
        }
        std::swap(room_.places, room_.new_places);
        return are_alike;
    }

private:
    void forget() {
        room_.differing.clear();
        room_.changed.clear();
        room_.new_places.clear();
    }

    bool differ_at_places() {
        const std::string_view before = before_.bytes;
        if (room_.places.empty() || before.size() != now_.size()) {
            return false;
        }
        std::size_t compared = 0;
        const auto are_equal_to = [&](std::size_t end) {
            return before.substr(compared, end - compared) == now_.substr(compared, end - compared);
        };
        for (const ValuePlace& place : room_.places) {
            const std::size_t value = place.at + place.value;
            const std::size_t end = place.at + place.end;
            if (!are_equal_to(value)) {
                return false;
            }
            compared = value;
            if (!are_equal_to(end)) {
                room_.changed.emplace_back(place.node, now_.substr(place.at + place.begin, place.end - place.begin));
            }
            compared = end;
        }
        return are_equal_to(now_.size());
    }

    bool compare_records(QuickReader before, QuickReader now) {
        for (; !before.at_end() && !now.at_end(); ++record_) {
            QuickReader was;
            QuickReader is;
            if (!before.record(was) || !now.record(is)) {
                return false;
            }
            const ValuePlace* const place = known_place();
            if (was.rest() == is.rest()) {
                keep(place, is.rest());
                continue;
            }
            const std::uint32_t node = before_.graph.file_order[record_];
            if (differs_there(place, was.rest(), is.rest()) || differs_in_values(was, is, node)) {
                continue;
            }
            if (!is_of_node(is, before_.graph, node, room_)) {
                return false;
            }
            room_.differing.emplace_back(node, is.rest());
        }
        return before.at_end() && now.at_end();
    }

    const ValuePlace* known_place() {
        if (known_.empty() || known_.front().record != record_) {
            return nullptr;
        }
        const ValuePlace* const place = known_.data();
        known_ = known_.subspan(1);
        return place;
    }
    void keep(const ValuePlace* place, std::string_view record) {
        if (place != nullptr) {
            room_.new_places.push_back(*place);
            room_.new_places.back().at = offset(now_, record.data());
        }
    }

    bool differs_there(const ValuePlace* place, std::string_view was, std::string_view is) {
        if (place == nullptr || was.size() != is.size() || was.substr(0, place->value) != is.substr(0, place->value) ||
            was.substr(place->end) != is.substr(place->end)) {
            return false;
        }
        room_.changed.emplace_back(place->node, is.substr(place->begin, place->end - place->begin));
        keep(place, is);
        return true;
    }

    bool differs_in_values(QuickReader was, QuickReader is, std::uint32_t node) {
        const std::size_t found = room_.changed.size();
        if (!differ_in_values(was, is, node, room_)) {
            return false;
        }
        if (room_.changed.size() == found + 1) {
            remember_place(is.rest(), node, room_.changed.back().second);
        }
        return true;
    }
    void remember_place(std::string_view record, std::uint32_t node, std::string_view attribute) {
        QuickReader in(attribute);
        std::uint64_t key = 0;
        std::string_view name;
        if (in.varint(key) && in.block(name)) {
            const auto in_record = [record](const char* at) { return static_cast<std::uint32_t>(offset(record, at)); };
            room_.new_places.push_back({record_, node, offset(now_, record.data()), in_record(attribute.data()),
                                        in_record(name.data() + name.size()),
                                        in_record(attribute.data() + attribute.size())});
        }
    }

    const KnownFile& before_;
    std::string_view now_;
    UsualRoom& room_;
    std::span<const ValuePlace> known_;
    std::uint32_t record_ = 0;
};

}  // namespace

std::shared_ptr<Graph> usual_graph_like(std::string_view bytes, const KnownFile& before, bool kernels,
                                        UsualRoom& room) {
    QuickReader was(before.bytes);
    QuickReader is(bytes);
    QuickReader metadata_before;
    QuickReader metadata;
    if (!was.record(metadata_before) || !is.record(metadata) || metadata.rest() != metadata_before.rest() ||
        !Comparison(before, bytes, room).compare(was, is)) {
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
