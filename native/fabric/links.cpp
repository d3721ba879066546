#include "fabric/links.hpp"

#include <algorithm>

#include "base/ensure.hpp"

namespace yantra {

namespace {

u32 links_per_rank(const Dimension& dimension) {
    return dimension.block == Block::fully_connected ? dimension.size : 2;
}

}  // namespace

Links::Links(const Grid& grid) : grid_(grid) {
    u64 total = 0;
    u64 devices = grid.ranks();
    for (u32 d = 0; d < grid.dimensions(); ++d) {
        first_link_.push_back(static_cast<u32>(total));
        first_switch_.push_back(static_cast<u32>(devices));
        total += u64{grid.groups(d)} * links_per_group(d);
        if (const BlockTable* table = grid.table(d); table != nullptr) {
            devices += u64{grid.groups(d)} * table->switches();
            ensure(table->ranks() + table->switches() < none >> dimension_bits, "too many switches");
        }
        ensure(total < none && devices < none, "more links than a 32-bit index holds");
    }
    first_link_.push_back(static_cast<u32>(total));
}

u32 Links::links_per_group(u32 d) const {
    const Dimension& dimension = grid_.dimension(d);
    const BlockTable* table = grid_.table(d);
    return table != nullptr ? table->links() : dimension.size * links_per_rank(dimension);
}

u32 Links::dimension_of(u32 link) const {
    const auto after = std::upper_bound(first_link_.begin(), first_link_.end(), link);
    return static_cast<u32>(after - first_link_.begin()) - 1;
}

u32 Links::next_in_table(Stop& stop, u32 dst, u32 d) const {
    const BlockTable& table = *grid_.table(d);
    const u32 here = grid_.coordinate(stop.at, d);
    const u32 device = stop.in_switch_of == none ? here : stop.in_switch_of >> dimension_bits;
    const u32 taken = table.next_link(device, grid_.coordinate(dst, d));
    const u32 link = first_link_[d] + grid_.group(stop.at, d) * table.links() + taken;
    const u32 next = table.to(taken);
    if (next < table.ranks()) {
        stop.at += (next - here) * grid_.stride(d);
        stop.in_switch_of = none;
    } else {
        stop.in_switch_of = next << dimension_bits | d;
    }
    return link;
}

u32 Links::name_of(u32 device, u32 group, u32 d) const {
    const BlockTable& table = *grid_.table(d);
    if (device < table.ranks()) {
        return grid_.member(group, device, d);
    }
    const u32 in_group = device - table.ranks();
    return table.switches() == 1 ? none : first_switch_[d] + group * table.switches() + in_group;
}

Links::Ends Links::ends_of(u32 link) const {
    const u32 d = dimension_of(link);
    const Dimension& dimension = grid_.dimension(d);
    const u32 at = link - first_link_[d];
    if (const BlockTable* table = grid_.table(d); table != nullptr) {
        const u32 group = at / table->links();
        const u32 of_group = at % table->links();
        return {name_of(table->from(of_group), group, d), name_of(table->to(of_group), group, d)};
    }
    const u32 per_rank = links_per_rank(dimension);
    const u32 rank = at / per_rank;
    const u32 port = at % per_rank;
    const u32 here = grid_.coordinate(rank, d);
    u32 there = port;
    if (dimension.block == Block::switched) {
        return port == 0 ? Ends{rank, none} : Ends{none, rank};
    }
    if (dimension.block == Block::ring) {
        there = (here + (port == 0 ? 1 : dimension.size - 1)) % dimension.size;
    }
    return {rank, rank + (there - here) * grid_.stride(d)};
}

std::string Links::name(u32 link) const {
    auto told = [this](u32 device) {
        return device == none ? "the switch" : (device < grid_.ranks() ? "rank " : "switch ") + std::to_string(device);
    };
    const auto [from, to] = ends_of(link);
    return "from " + told(from) + " to " + told(to) + " (dimension " +
           std::to_string(dimension_of(link)) + ")";
}

}  // namespace yantra
