// Accessors of Trace: rows as views into its columns and pools.
#include "trace/trace.hpp"

#include <algorithm>
#include <tuple>

#include "base/ensure.hpp"

namespace yantra {

namespace {

template <typename Value>
std::span<const Value> row(const std::vector<Value>& values, const std::vector<std::uint64_t>& begin,
                           std::size_t record) {
    ensure(record + 1 < begin.size(), "trace: no such record");
    return std::span(values).subspan(begin[record], begin[record + 1] - begin[record]);
}

}  // namespace

std::string_view Trace::name(std::size_t record) const {
    ensure(record + 1 < name_begin.size(), "trace: no such record");
    const std::size_t begin = name_begin[record];
    return std::string_view(name_bytes).substr(begin, name_begin[record + 1] - begin);
}

std::span<const std::uint64_t> Trace::data_deps(std::size_t record) const {
    return row(data_dep, data_dep_begin, record);
}

std::span<const std::uint64_t> Trace::ctrl_deps(std::size_t record) const {
    return row(ctrl_dep, ctrl_dep_begin, record);
}

std::span<const Attribute> Trace::attributes_of(std::size_t record) const {
    return row(attributes, attribute_begin, record);
}

std::span<const Attribute> Trace::metadata_attributes() const {
    return std::span(attributes).first(attribute_begin.front());
}

const IoInfo* Trace::io_of(std::size_t record, IoSide side) const {
    const auto before = [](const IoInfo& row, std::pair<std::uint64_t, IoSide> key) {
        return std::tie(row.record, row.side) < std::tie(key.first, key.second);
    };
    const auto found =
        std::lower_bound(io.begin(), io.end(), std::pair(std::uint64_t{record}, side), before);
    return found != io.end() && found->record == record && found->side == side ? &*found : nullptr;
}

const std::string& Trace::attribute_name(const Attribute& attribute) const {
    return attribute_names.names().at(attribute.name);
}

std::string_view Trace::doc_of(const Attribute& attribute) const {
    const auto index = static_cast<std::uint64_t>(&attribute - attributes.data());
    const auto before = [](const AttributeDoc& doc, std::uint64_t key) { return doc.attribute < key; };
    const auto found = std::lower_bound(docs.begin(), docs.end(), index, before);
    return found != docs.end() && found->attribute == index ? view(found->text) : std::string_view();
}

std::string_view Trace::view(const Text& piece) const {
    return std::string_view(text).substr(piece.begin, piece.size);
}

std::string_view Trace::text_of(const Attribute& attribute) const {
    return view({attribute.value, attribute.count});
}

std::span<const std::uint64_t> Trace::numbers_of(const Attribute& attribute) const {
    return std::span(numbers).subspan(attribute.value, attribute.count);
}

std::span<const Text> Trace::texts_of(const Attribute& attribute) const {
    return std::span(texts).subspan(attribute.value, attribute.count);
}

Text Trace::add_text(std::string_view piece) {
    const Text added{text.size(), piece.size()};
    text.append(piece);
    return added;
}

}  // namespace yantra
