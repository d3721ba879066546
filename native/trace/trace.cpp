// The sparse parts of a Trace.
#include "trace/trace.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace yantra {

const IoInfo* Trace::io_of(std::size_t record, IoSide side) const {
    const auto before = [](const IoInfo& row, std::pair<std::uint64_t, IoSide> key) {
        return std::tie(row.record, row.side) < std::tie(key.first, key.second);
    };
    const auto found =
        std::lower_bound(io.begin(), io.end(), std::pair(std::uint64_t{record}, side), before);
    return found != io.end() && found->record == record && found->side == side ? &*found : nullptr;
}

std::string_view Trace::doc_of(const Attribute& attribute) const {
    const auto index = static_cast<std::uint64_t>(&attribute - attributes.data());
    const auto before = [](const AttributeDoc& doc, std::uint64_t key) { return doc.attribute < key; };
    const auto found = std::lower_bound(docs.begin(), docs.end(), index, before);
    return found != docs.end() && found->attribute == index ? view(found->text) : std::string_view();
}

std::span<const ForeignFields> Trace::foreign_of(MessageKind of, std::uint64_t number) const {
    if (foreign.empty()) {
        return {};
    }
    const auto key = [](const ForeignFields& one) { return std::pair(one.of, one.number); };
    const auto found = std::ranges::equal_range(foreign, std::pair(of, number), {}, key);
    return {found.begin(), found.end()};
}

void Trace::drop_foreign(MessageKind of, std::uint64_t number) {
    while (!foreign.empty() && foreign.back().of == of && foreign.back().number == number) {
        foreign.pop_back();
    }
}

void Trace::sort_foreign() {
    std::ranges::stable_sort(foreign, {}, [](const ForeignFields& one) {
        return std::pair(one.of, one.number);
    });
}

void Trace::drop_attribute() {
    attributes.pop_back();
    while (!docs.empty() && docs.back().attribute >= attributes.size()) {
        docs.pop_back();
    }
}

void Trace::set_doc(std::string_view doc) {
    const std::uint64_t attribute = attributes.size() - 1;
    if (!docs.empty() && docs.back().attribute == attribute) {
        docs.pop_back();
    }
    if (!doc.empty()) {
        docs.push_back({attribute, add_text(doc)});
    }
}

}  // namespace yantra
