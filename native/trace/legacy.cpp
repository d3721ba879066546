#include "trace/legacy.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/wire.hpp"
#include "trace/coding.hpp"
#include "trace/fields.hpp"

namespace yantra {

namespace {

using u64 = std::uint64_t;
using Numbers = std::vector<u64>;
using enum AttributeKind;

constexpr u64 largest_int32 = 0x7fffffff;
constexpr u64 largest_uint32 = 0xffffffff;
constexpr u64 largest_int64 = 0x7fffffffffffffff;
constexpr u64 coll_before_0_0_3 = 6;

// ALL_REDUCE, ALL_TO_ALL, ALL_GATHER, REDUCE_SCATTER, BROADCAST.
constexpr std::array<u64, 5> collectives{0, 6, 2, 7, 5};

std::optional<u64> collective_of(Layout layout, u64 old) {
    const u64 first = layout == Layout::v0_0_1 ? 1 : 0;  // 0 was "invalid"
    const u64 count = layout >= Layout::v0_0_3a ? 5 : 4;
    if (old < first || old - first >= count) {
        return std::nullopt;
    }
    return collectives[old - first];
}

struct Known {
    std::string_view name;
    AttributeKind kind;
};
constexpr std::array<Known, 10> known_integers{{{"is_cpu_op", boolean},
                                                {"comm_type", int64},
                                                {"comm_size", int64},
                                                {"num_ops", int64},
                                                {"tensor_size", uint64},
                                                {"tensor_loc", uint32},
                                                {"comm_src", int32},
                                                {"comm_dst", int32},
                                                {"comm_tag", int32},
                                                {"comm_priority", int32}}};

bool holds(AttributeKind kind, u64 bits, bool is_signed) {
    const bool negative = is_signed && bits > largest_int64;
    switch (kind) {
        case boolean: return bits <= 1;
        case int32: return negative ? ~bits <= largest_int32 : bits <= largest_int32;
        case uint32: return bits <= largest_uint32;
        case int64: return negative || bits <= largest_int64;
        default: return !negative;
    }
}

AttributeKind usual_kind(std::string_view name, u64 bits, AttributeKind written) {
    for (const Known& known : known_integers) {
        if (known.name == name && holds(known.kind, bits, written == int64)) {
            return known.kind;
        }
    }
    return written;
}

// Its value in today's kind.
struct OldAttribute {
    std::string_view name;
    std::string_view doc;
    u64 offset = 0;
    AttributeKind kind = none;
    u64 number = 0;
    std::string_view text;
    Numbers numbers;
    std::vector<std::string_view> texts;
};

class OlderDecoder {
public:
    explicit OlderDecoder(Layout layout) : layout_(layout) { trace_.layout = layout; }

    void run(std::string_view bytes) {
        WireReader file(bytes);
        if (layout_ >= Layout::v0_0_3a && begins_with_metadata(file)) {
            try {
                metadata(file.record());
            } catch (const TraceFault& fault) {
                fail_in_record(fault, 0, 0);
            }
            ++records_;
        }
        trace_.add_metadata();
        while (!file.at_end()) {
            NodeRow row;
            row.byte_offset = file.offset();
            try {
                node(file.record(), row);
            } catch (const TraceFault& fault) {
                fail_in_record(fault, records_ + (has_metadata() ? 0 : 1), row.id);
            }
            trace_.add_node(row);
            ++records_;
        }
    }

    std::size_t records() const { return records_; }
    Trace take() { return std::move(trace_); }

private:
    bool has_metadata() const { return records_ > trace_.size(); }

    static bool begins_with_metadata(WireReader file) {
        WireReader first = file.record();
        if (first.at_end()) {
            return true;
        }
        const WireTag tag = first.tag();
        return tag.field == 1 && tag.type == WireType::block;
    }

    void metadata(WireReader in) {
        while (!in.at_end()) {
            const u64 at = in.offset();
            const WireTag tag = in.tag();
            if (tag.field != 1) {
                no_such_field(tag, at);
            }
            expect(tag, WireType::block, at, "attribute");
            put(attribute(in.message()));
        }
    }

    void node(WireReader in, NodeRow& row) {
        const u64 begin = in.offset();
        seen_ = 0;
        attributes_.clear();
        std::array<std::string_view, 11> strings{};
        std::array<u64, 21> numbers{};
        Numbers involved;
        while (!in.at_end()) {
            const u64 at = in.offset();
            const WireTag tag = in.tag();
            note(tag, at);
            switch (tag.field) {
                case 1:
                    row.id = varint(in, tag, at, "id");
                    break;
                case 2:
                    row.name = text(in, tag, at, "name");
                    break;
                case 3:
                    row.type = node_type(varint(in, tag, at, "type"), at);
                    break;
                case 4:
                    trace_.data_dep.push_back(varint(in, tag, at, "parent"));
                    break;
                default:
                    if (layout_ != Layout::v0_0_1) {
                        property(in, tag, at, strings);
                    } else if (tag.field == 14) {
                        involved.push_back(varint(in, tag, at, "involved_dim") != 0 ? 1 : 0);
                    } else {
                        numbers[tag.field] = property(in, tag, at);
                    }
            }
        }
        require(1, "id", begin);
        require(2, "name", begin);
        if (layout_ == Layout::v0_0_1) {
            put_properties(row, numbers, involved, begin);
        } else {
            require(3, "type", begin);
            put_io(strings);
            put_attributes(row);
        }
    }

    void note(WireTag tag, u64 at) {
        const std::uint32_t list = layout_ == Layout::v0_0_1 ? 14 : 11;
        if (tag.field > 20) {
            no_such_field(tag, at);
        }
        if (saw(tag.field) && tag.field != 4 && tag.field != list) {
            throw TraceFault(at, "field " + std::to_string(tag.field) + " is given twice");
        }
        seen_ |= u64{1} << tag.field;
    }

    bool saw(std::uint32_t field) const { return (seen_ >> field & 1U) != 0; }

    void require(std::uint32_t field, const char* name, u64 at) const {
        if (!saw(field)) {
            throw TraceFault(at, "a node without field " + std::to_string(field) + " (" + name +
                                     "), which layout " + layout_name(layout_) + " always writes");
        }
    }

    static u64 varint(WireReader& in, WireTag tag, u64 at, const char* what) {
        expect(tag, WireType::varint, at, what);
        return in.varint();
    }

    [[noreturn]] void no_such_field(WireTag tag, u64 at) const {
        throw TraceFault(at, "field " + std::to_string(tag.field) + " is not in layout " +
                                 layout_name(layout_));
    }

    std::int32_t node_type(u64 old, u64 at) const {
        const bool shifted = layout_ < Layout::v0_0_3a;  // metadata nodes were inserted later
        if (old > coll_before_0_0_3 + (shifted ? 0 : 1)) {
            throw TraceFault(at, "node type " + std::to_string(old) + " is not in layout " +
                                     layout_name(layout_));
        }
        return static_cast<std::int32_t>(shifted && old > 0 ? old + 1 : old);
    }

    // 0.0.1: a field for every property.
    static constexpr std::array<const char*, 21> properties{
        "",          "id",       "name",     "type",     "parent",   "tensor_loc", "tensor_size",
        "simulated_run_time", "input_tensor_loc", "input_tensor_size", "output_tensor_loc",
        "output_tensor_size", "num_ops", "comm_type", "involved_dim", "communicator_id",
        "comm_src",  "comm_dst", "comm_size", "comm_tag", "comm_priority"};

    static constexpr std::array<AttributeKind, 21> property_kinds{
        none,   none,   none,  none,   none, uint32, uint64, uint64, uint32, uint64, uint32,
        uint64, uint64, int64, none, uint32, uint32, uint32, uint64, uint32, uint32};

    static u64 property(WireReader& in, WireTag tag, u64 at) {
        const u64 value = varint(in, tag, at, properties[tag.field]);
        if (!holds(property_kinds[tag.field], value, false)) {
            throw TraceFault(at, std::string(properties[tag.field]) + " is " + std::to_string(value) +
                                     ", more than its field holds");
        }
        return value;
    }

    void put_properties(NodeRow& row, const std::array<u64, 21>& numbers, const Numbers& involved, u64 at) {
        row.duration_micros = numbers[7];
        for (std::uint32_t field = 5; field <= 20; ++field) {
            if (field == 14 && !involved.empty()) {
                put_numbers("involved_dim", boolean_list, involved);
            } else if (field == 15 && saw(field)) {
                put_text("pg_name", string, std::to_string(numbers[field]));
            } else if (field == 13 && saw(field)) {
                put_comm_type(numbers[field], at);
            } else if (field != 7 && field != 14 && saw(field)) {
                const char* const name = properties[field];
                put_number(name, usual_kind(name, numbers[field], property_kinds[field]), numbers[field]);
            }
        }
    }

    void put_comm_type(u64 old, u64 at) {
        if (old != 0) {
            put_number("comm_type", int64, renumbered(old, at));
        }
    }

    u64 renumbered(u64 old, u64 at) const {
        const std::optional<u64> today = collective_of(layout_, old);
        if (!today) {
            throw TraceFault(at, "collective " + std::to_string(old) + " is not in layout " +
                                     layout_name(layout_));
        }
        return *today;
    }

    // 0.0.2 and 0.0.3: six texts, and attributes.
    void property(WireReader& in, WireTag tag, u64 at, std::array<std::string_view, 11>& strings) {
        constexpr std::array<const char*, 6> names{"inputs",  "input_shapes",  "input_types",
                                                   "outputs", "output_shapes", "output_types"};
        if (tag.field == 11) {
            expect(tag, WireType::block, at, "attribute");
            attributes_.push_back(attribute(in.message()));
        } else if (tag.field <= 10) {
            strings[tag.field] = text(in, tag, at, names[tag.field - 5]);
        } else {
            no_such_field(tag, at);
        }
    }

    void put_io(const std::array<std::string_view, 11>& strings) {
        for (const std::uint32_t first : {5U, 8U}) {
            if (saw(first) || saw(first + 1) || saw(first + 2)) {
                const IoSide side = first == 5 ? IoSide::inputs : IoSide::outputs;
                trace_.io.push_back({trace_.size(), side, trace_.add_text(strings[first]),
                                     trace_.add_text(strings[first + 1]),
                                     trace_.add_text(strings[first + 2])});
            }
        }
    }

    std::span<const AttributeKind> members() const {
        static constexpr std::array<AttributeKind, 6> v2{float_,      int64,      string,
                                                         float_list,  int64_list, string_list};
        static constexpr std::array<AttributeKind, 8> v3a{boolean,      float_,     int64,
                                                          string,       boolean_list, float_list,
                                                          int64_list,   string_list};
        static constexpr std::array<AttributeKind, 10> v3{
            boolean,      float_,     uint64,      int64,      string,
            boolean_list, float_list, uint64_list, int64_list, string_list};
        if (layout_ == Layout::v0_0_2) {
            return v2;
        }
        return layout_ == Layout::v0_0_3a ? std::span<const AttributeKind>(v3a)
                                          : std::span<const AttributeKind>(v3);
    }

    OldAttribute attribute(WireReader in) {
        OldAttribute out;
        out.offset = in.offset();
        bool has_name = false;
        std::optional<u64> type;
        while (!in.at_end()) {
            const u64 at = in.offset();
            const WireTag tag = in.tag();
            if (tag.field == 1) {
                out.name = text(in, tag, at, "name");
                has_name = true;
            } else if (tag.field == 2) {
                type = varint(in, tag, at, "type");
            } else if (tag.field == 3) {
                out.doc = text(in, tag, at, "doc_string");
            } else if (tag.field - 4 < members().size()) {
                value(in, tag, at, members()[tag.field - 4], out);
            } else {
                no_such_field(tag, at);
            }
        }
        if (!has_name || !type || *type >= members().size()) {
            throw TraceFault(out.offset, std::string("an attribute without a name and a type, which layout ") +
                                             layout_name(layout_) + " always writes");
        }
        const AttributeKind told = members()[*type];
        if (out.kind == none && is_list(told)) {
            out.kind = told;  // an empty list leaves no field
        }
        return out;
    }

    void value(WireReader& in, WireTag tag, u64 at, AttributeKind kind, OldAttribute& out) {
        const Coding& coding = coding_of(kind);
        expect(tag, coding.wire, at, kind_name(kind));
        if (out.kind != kind) {
            out.numbers.clear();
            out.texts.clear();
        }
        out.kind = kind;
        if (!is_text(kind)) {
            out.number = element_kind(kind) == boolean ? truth(in) : read_number(in, coding);
            out.numbers.push_back(out.number);
        } else {
            const bool may_be_bytes = kind == string_list;  // they were bytes at first
            out.text = may_be_bytes ? in.block() : utf8(in, kind_name(kind));
            out.texts.push_back(out.text);
        }
    }

    static u64 truth(WireReader& in) {
        const u64 at = in.offset();
        const u64 bits = in.varint();
        if (bits > 1) {
            throw TraceFault(at, "a bool of " + std::to_string(bits));
        }
        return bits;
    }

    void put_attributes(NodeRow& row) {
        bool timed = false;
        for (OldAttribute& item : attributes_) {
            const bool whole = item.kind == int64 || item.kind == uint64;
            const bool negative = item.kind == int64 && item.number > largest_int64;
            if (item.name == "runtime" && whole && !negative && !timed) {
                row.duration_micros = item.number;
                timed = true;
                continue;
            }
            if (item.name == "comm_type" && whole && row.type == static_cast<int>(NodeType::comm_coll)) {
                item.number = renumbered(item.number, item.offset);
            }
            if (is_integer(item.kind)) {
                item.kind = usual_kind(item.name, item.number, item.kind);
            } else if (item.name == "involved_dim" && is_list(item.kind) &&
                       is_integer(element_kind(item.kind)) &&
                       std::ranges::all_of(item.numbers, [](u64 flag) { return flag <= 1; })) {
                item.kind = boolean_list;
            }
            put(item);
        }
    }

    void put(const OldAttribute& item) {
        if (item.kind == none) {
            start(item.name, none);
        } else if (!is_list(item.kind)) {
            is_text(item.kind) ? put_text(item.name, item.kind, item.text)
                               : put_number(item.name, item.kind, item.number);
        } else if (!is_text(item.kind)) {
            put_numbers(item.name, item.kind, item.numbers);
        } else {
            const bool plain = std::ranges::all_of(
                item.texts, [](std::string_view text) { return first_bad_utf8(text) == text.size(); });
            Attribute& out = start(item.name, plain ? string_list : bytes_list);
            out.value = trace_.texts.size();
            out.count = static_cast<std::uint32_t>(item.texts.size());
            for (const std::string_view text : item.texts) {
                trace_.texts.push_back(trace_.add_text(text));
            }
        }
        trace_.set_doc(item.doc);
    }

    Attribute& start(std::string_view name, AttributeKind kind) {
        Attribute& out = trace_.add_attribute();
        out.name = trace_.attribute_names.intern(name);
        out.kind = kind;
        return out;
    }

    void put_number(std::string_view name, AttributeKind kind, u64 bits) {
        start(name, kind).value = bits;
    }

    void put_text(std::string_view name, AttributeKind kind, std::string_view value) {
        const Text added = trace_.add_text(value);
        Attribute& out = start(name, kind);
        out.value = added.begin;
        out.count = static_cast<std::uint32_t>(added.size);
    }

    void put_numbers(std::string_view name, AttributeKind kind, const Numbers& values) {
        Attribute& out = start(name, kind);
        out.value = trace_.numbers.size();
        out.count = static_cast<std::uint32_t>(values.size());
        trace_.numbers.insert(trace_.numbers.end(), values.begin(), values.end());
    }

    Layout layout_;
    std::size_t records_ = 0;
    u64 seen_ = 0;  // fields of the node being read
    std::vector<OldAttribute> attributes_;
    Trace trace_;
};

}  // namespace

Attempt attempt_older(std::string_view bytes, Layout layout) {
    OlderDecoder decoder(layout);
    try {
        decoder.run(bytes);
    } catch (const TraceFault& fault) {
        return {layout, decoder.records(), std::nullopt, fault};
    }
    const std::size_t records = decoder.records();
    return {layout, records, decoder.take(), std::nullopt};
}

}  // namespace yantra
