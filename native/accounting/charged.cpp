#include "accounting/charged.hpp"

#include <array>
#include <map>

namespace yantra {

std::vector<u32> rows_of_charged(const Outcome& outcome, const Charges& charges) {
    std::map<std::array<u32, 3>, u32> rows;   // by dimension or label, and ends
    for (const LinkRecord& link : outcome.links_on_demand ? outcome.links_on_demand() : outcome.links) {
        rows.emplace(std::array{link.dimension, link.from, link.to}, static_cast<u32>(rows.size()));
    }
    std::vector<u32> row_of;
    const std::vector<LinkUse> each(charges.links().size(), LinkUse{0, 1, 0});
    for (const LinkRecord& link : charges.ways().records(each)) {
        const auto at = rows.find({link.dimension, link.from, link.to});
        row_of.push_back(at == rows.end() ? none : at->second);
    }
    return row_of;
}

}  // namespace yantra
