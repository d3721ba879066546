#include "network/port_table.hpp"

#include <algorithm>
#include <numeric>

#include "base/ensure.hpp"

namespace yantra::inline YANTRA_RUN {

namespace {

constexpr u32 few_links = u32{1} << 22U;

}  // namespace

PortTable::PortTable(const Grid& grid, TimeScale scale, const PortClasses& classes)
    : grid_(grid),
      scale_(scale),
      links_(grid),
      first_link_(links_.first_of_dimensions()),
      times_(grid.dimensions()),
      classes_(classes),
      are_classes_(classes.are_given()) {
    for (u32 d = 0; d < grid.dimensions(); ++d) {
        latency_.push_back(scale.ticks(grid.dimension(d).latency_ns));
    }
    if (classes.of_links != nullptr) {
        ports_.resize(classes.of_links->dimension.size());
        for (u32 port = 0; port < ports_.size(); ++port) {
            ports_[port].dimension = classes.of_links->dimension[port];
        }
    } else if (classes.of_ranks != nullptr) {
        ports_.resize(grid.dimensions() * 2 * classes.ranks->size());
        for (u32 port = 0; port < ports_.size(); ++port) {
            ports_[port].dimension = static_cast<u32>(port / (2 * classes.ranks->size()));
        }
    } else if (links_.count() <= few_links) {
        number_.assign(links_.count(), none);
    }
}

u32 PortTable::of_class(u32 link) const {
    const u32 port = class_of(link);
    ensure(port != none, "a message on a link that none was to pass");
    return port;
}

u32 PortTable::class_of(u32 link) const {
    const u32 d = links_.dimension_of(link);
    return classes_.of(link, d, link - first_link_[d], grid_.dimension(d).block);
}

[[gnu::noinline]] u32 PortTable::numbered(u32 link) {
    const auto fresh = static_cast<u32>(ports_.size());
    u32& number = number_.empty() ? numbers_.try_emplace(link, fresh).first->second : number_[link];
    if (number == none) {
        number = fresh;
    }
    if (number == fresh) {
        Port port;
        port.dimension = links_.dimension_of(link);
        port.link = link;
        ports_.push_back(port);
    }
    return number;
}

bool PortTable::is_at_rank(u32 link) const {
    const auto [from, to] = links_.ends_of(link);
    return std::min(from, to) < grid_.ranks();
}

PortTable::Hops PortTable::hops(u32 src, u32 dst) {
    Links::Stop stop{src, none};
    const u32 out = links_.next(stop, dst);
    const u32 d = grid_.lowest_difference(src, dst);
    if (stop.is(dst)) {
        return {d, of(out), none};
    }
    if (grid_.dimension(d).block != Block::switched) {
        return {};
    }
    const u32 in = links_.next(stop, dst);
    return stop.is(dst) ? Hops{d, of(out), of(in)} : Hops{};
}

std::vector<LinkRecord> PortTable::records() const {
    std::vector<u32> by_link(ports_.size());
    std::iota(by_link.begin(), by_link.end(), 0u);
    std::sort(by_link.begin(), by_link.end(),
              [this](u32 a, u32 b) { return ports_[a].link < ports_[b].link; });
    std::vector<LinkRecord> found;
    for (const u32 at : by_link) {
        const Port& port = ports_[at];
        if (port.use.messages > 0) {
            const auto [from, to] = links_.ends_of(port.link);
            found.push_back({port.dimension, from, to, port.use});
        }
    }
    return found;
}

std::vector<LinkRecord> PortTable::records_of(const Grid& grid, const PortClasses& classes,
                                              const std::vector<LinkUse>& uses) {
    const Links links(grid);
    const std::vector<u32> first = links.first_of_dimensions();
    std::vector<LinkRecord> found;
    for (u32 link = 0; link < links.count(); ++link) {
        const u32 d = links.dimension_of(link);
        const u32 port = classes.of(link, d, link - first[d], grid.dimension(d).block);
        if (port != none && uses[port].messages > 0) {
            const auto [from, to] = links.ends_of(link);
            found.push_back({d, from, to, uses[port]});
        }
    }
    return found;
}

}  // namespace yantra
