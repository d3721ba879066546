// Trace: one rank's Chakra trace as columns, one row per node record, in file order (MLCommons
// Chakra schema 0.0.4, trace/schema.hpp). Trade-off: it keeps everything and resolves nothing;
// `Graph` is the form to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/interner.hpp"
#include "trace/schema.hpp"

namespace yantra {

// A place in the text pool.
struct Text {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
};

// 64 bits; float and double as their own; text as its begin in the text pool; a list as its begin
// in `numbers` or `texts`.
struct Attribute {
    std::uint64_t value = 0;
    std::uint32_t count = 0;  // bytes of a text, elements of a list
    std::uint32_t name = 0;   // index into attribute_names
    AttributeKind kind = AttributeKind::none;
};

struct AttributeDoc {
    std::uint64_t attribute = 0;  // index into attributes
    Text text;
};

enum class IoSide : std::uint8_t { inputs = 0, outputs = 1 };

// Usually Python lists as text.
struct IoInfo {
    std::uint64_t record = 0;
    IoSide side = IoSide::inputs;
    Text values, shapes, types;
};

// Nodes and their IOInfo by record, attributes and their lists by place in `attributes`; metadata
// is 0.
enum class MessageKind : std::uint8_t { metadata, node, inputs, outputs, attribute, list };

struct ForeignFields {
    MessageKind of = MessageKind::metadata;
    std::uint64_t number = 0;
    Text bytes;
};

struct UnknownField {
    std::uint64_t byte_offset = 0;
    std::uint32_t field = 0;  // 0: the trace has none
};

struct NodeRow {
    std::uint64_t id = 0;
    std::string_view name;
    std::int32_t type = 0;
    std::uint64_t start_micros = 0;
    std::uint64_t duration_micros = 0;
    std::uint64_t byte_offset = 0;
};

struct Trace {
    // One value per node record.
    std::vector<std::uint64_t> id;
    std::vector<std::int32_t> type;
    std::vector<std::uint64_t> start_micros;
    std::vector<std::uint64_t> duration_micros;
    std::vector<std::uint64_t> byte_offset;  // of the record's length prefix; 0 when built by hand

    // Row r owns [begin[r], begin[r + 1]).
    std::vector<std::uint64_t> name_begin{0};
    std::string name_bytes;
    std::vector<std::uint64_t> data_dep_begin{0};
    std::vector<std::uint64_t> data_dep;  // ids
    std::vector<std::uint64_t> ctrl_dep_begin{0};
    std::vector<std::uint64_t> ctrl_dep;            // ids
    std::vector<std::uint64_t> attribute_begin{
        0};  // attributes before the first row are the metadata's
    std::vector<Attribute> attributes;

    // Ascending by record or attribute.
    std::vector<IoInfo> io;
    std::vector<AttributeDoc> docs;
    std::vector<ForeignFields> foreign;  // sorted, see sort_foreign()

    Interner attribute_names;
    std::string text;
    std::vector<std::uint64_t> numbers;
    std::vector<Text> texts;

    std::string version;  // GlobalMetadata.version
    Layout layout = Layout::today;  // of the file it came from
    UnknownField unknown;

    std::size_t size() const { return id.size(); }

    std::string_view name(std::size_t record) const {
        return std::string_view(name_bytes).substr(name_begin[record],
                                                   name_begin[record + 1] - name_begin[record]);
    }
    std::span<const std::uint64_t> data_deps(std::size_t record) const {
        return row(data_dep, data_dep_begin, record);
    }
    std::span<const std::uint64_t> ctrl_deps(std::size_t record) const {
        return row(ctrl_dep, ctrl_dep_begin, record);
    }
    std::span<const Attribute> attributes_of(std::size_t record) const {
        return row(attributes, attribute_begin, record);
    }
    std::span<const Attribute> metadata_attributes() const {
        return std::span(attributes).first(attribute_begin.front());
    }
    const IoInfo* io_of(std::size_t record, IoSide side) const;  // nullptr: the node has none

    const std::string& attribute_name(const Attribute& attribute) const {
        return attribute_names.names().at(attribute.name);
    }
    std::string_view doc_of(const Attribute& attribute) const;  // an element of `attributes`

    std::string_view view(const Text& piece) const {
        return std::string_view(text).substr(piece.begin, piece.size);
    }
    std::string_view text_of(const Attribute& attribute) const {  // of a string or bytes
        return view({attribute.value, attribute.count});
    }
    std::span<const Text> texts_of(const Attribute& attribute) const {  // of a list of them
        return std::span(texts).subspan(attribute.value, attribute.count);
    }
    std::span<const std::uint64_t> numbers_of(const Attribute& attribute) const {  // of other lists
        return std::span(numbers).subspan(attribute.value, attribute.count);
    }

    Text add_text(std::string_view piece) {
        const Text added{text.size(), piece.size()};
        text.append(piece);
        return added;
    }
    Attribute& add_attribute() { return attributes.emplace_back(); }
    void set_doc(std::string_view doc);  // of the attribute added last

    // Fields in pieces, in file order.
    std::span<const ForeignFields> foreign_of(MessageKind of, std::uint64_t number) const;
    // Call sort_foreign() before any look-up.
    void add_foreign(MessageKind of, std::uint64_t number, std::string_view field) {
        foreign.push_back({of, number, add_text(field)});
    }
    void drop_foreign(MessageKind of, std::uint64_t number);  // of the message added last
    void sort_foreign();
    void drop_attribute();               // the one added last

    void add_node(const NodeRow& row) {
        id.push_back(row.id);
        type.push_back(row.type);
        start_micros.push_back(row.start_micros);
        duration_micros.push_back(row.duration_micros);
        byte_offset.push_back(row.byte_offset);
        name_bytes.append(row.name);
        name_begin.push_back(name_bytes.size());
        data_dep_begin.push_back(data_dep.size());
        ctrl_dep_begin.push_back(ctrl_dep.size());
        attribute_begin.push_back(attributes.size());
    }
    void add_metadata() { attribute_begin.front() = attributes.size(); }

private:
    template <typename Value>
    static std::span<const Value> row(const std::vector<Value>& values,
                                      const std::vector<std::uint64_t>& begin, std::size_t record) {
        return std::span(values).subspan(begin[record], begin[record + 1] - begin[record]);
    }
};

}  // namespace yantra
