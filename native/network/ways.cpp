#include "network/ways.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "base/unsupported.hpp"

namespace yantra {

Ways::Ways(const NetworkParameters& parameters, const Grid& grid)
    : parameters_(parameters), grid_(grid), grid_links_(grid), fabric_(parameters.fabric.get()) {
    if (fabric_ != nullptr) {
        kind_ = find_routing(parameters.routing.name);
        routing_ = make_routing(*fabric_, parameters.routing);
    }
}

u32 Ways::groups() const {
    return fabric_ == nullptr ? grid_.dimensions() : static_cast<u32>(fabric_->labels().size());
}

void Ways::route(u32 from, u32 to, u32 packet, const LinkLoads* loads, std::vector<u32>& path) {
    ensure(from != to, "a message to its own sender");
    if (fabric_ == nullptr) {
        path.clear();
        for (Links::Stop stop{from, none}; !stop.is(to);) {
            path.push_back(grid_links_.next(stop, to));
        }
        return;
    }
    const Flow flow{from, to, 0, packet};
    if (!goes_round(flow, loads, path)) {
        routing_->route(flow, loads, path);
    }
}

bool Ways::goes_round(const Flow& flow, const LinkLoads* loads, std::vector<u32>& path) {
    if (of_reduced_ == nullptr) {
        return false;
    }
    struct Loads final : LinkLoads {
        double load(u32 link) const override { return of->load((*number)[link]); }
        const LinkLoads* of = nullptr;
        const std::vector<u32>* number = nullptr;
    } of_reduced;
    of_reduced.of = loads;
    of_reduced.number = &link_of_reduced_;
    try {
        of_reduced_->route(flow, loads == nullptr ? nullptr : &of_reduced, path);
    } catch (const Unsupported&) {
        return false;
    }
    for (u32& link : path) {
        link = link_of_reduced_[link];
    }
    return true;
}

void Ways::next(u32 from, u32 to, u32 device, std::vector<u32>& links) {
    const Flow flow{from, to, 0, 0};
    links.clear();
    if (of_reduced_ != nullptr) {
        of_reduced_->next(flow, device, links);
        for (u32& link : links) {
            link = link_of_reduced_[link];
        }
    }
    if (links.empty()) {
        routing_->next(flow, device, links);
    }
}

void Ways::find(u32 from, u32 to, u32 packet, const LinkLoads* loads, Way& way) {
    way.parts.clear();
    if (!divides()) {
        route(from, to, packet, loads, way.links);
    } else {
        divide({from, to, 0, 0});
        way.links = division_.links;
        for (double part : division_.parts) {
            way.parts.push_back({part, part, 1});
        }
    }
    way.latency_ns = latency_of(way);
}

void Ways::divide(const Flow& flow) {
    if (of_reduced_ != nullptr) {
        try {
            of_reduced_->divide(flow, division_);
            for (u32& link : division_.links) {
                link = link_of_reduced_[link];
            }
            return;
        } catch (const Unsupported&) {
        }
    }
    routing_->divide(flow, division_);
}

double Ways::latency_of(const Way& way) {
    double sum = 0.0;
    if (way.parts.empty()) {
        for (u32 link : way.links) {
            sum += latency_ns(link);
        }
        return sum;
    }
    reached_ns_.resize(fabric_->devices(), 0.0);
    for (u32 link : way.links) {
        double& reached = reached_ns_[fabric_->to(link)];
        reached = std::max(reached, reached_ns_[fabric_->from(link)] + latency_ns(link));
        sum = std::max(sum, reached);
    }
    for (u32 link : way.links) {
        reached_ns_[fabric_->to(link)] = 0.0;
    }
    return sum;
}

void Ways::avoid(const std::vector<bool>& is_down) {
    ensure(fabric_ != nullptr, "links of dimensions do not fail");
    of_reduced_.reset();
    reduced_.reset();
    link_of_reduced_.clear();
    if (std::find(is_down.begin(), is_down.end(), true) == is_down.end()) {
        return;
    }
    reduced_ = std::make_unique<const FabricGraph>(fabric_->without(is_down));
    for (u32 link = 0; link < fabric_->links(); ++link) {
        if (!is_down[link]) {
            link_of_reduced_.push_back(link);
        }
    }
    of_reduced_ = make_routing(*reduced_, parameters_.routing);
}

std::vector<LinkUse> Ways::uses(const std::vector<LinkUse>& of_links) const {
    std::vector<LinkUse> sums(groups());
    for (u32 link = 0; link < of_links.size(); ++link) {
        LinkUse& sum = sums[group(link)];
        sum.bytes += of_links[link].bytes;
        sum.messages += of_links[link].messages;
        sum.busy_ticks += of_links[link].busy_ticks;
    }
    return sums;
}

std::vector<u64> Ways::busiest(const std::vector<LinkUse>& of_links) const {
    std::vector<u64> most(groups());
    for (u32 link = 0; link < of_links.size(); ++link) {
        most[group(link)] = std::max(most[group(link)], of_links[link].busy_ticks);
    }
    return most;
}

std::vector<LinkRecord> Ways::records(const std::vector<LinkUse>& of_links) const {
    std::vector<LinkRecord> records;
    for (u32 link = 0; link < of_links.size(); ++link) {
        if (of_links[link].messages == 0) {
            continue;
        }
        const Links::Ends ends = fabric_ == nullptr ? grid_links_.ends_of(link)
                                                    : Links::Ends{fabric_->from(link), fabric_->to(link)};
        const double rate = fabric_ == nullptr ? 0.0 : fabric_->bytes_per_ns(link);
        records.push_back({group_of(link), ends.from, ends.to, of_links[link], rate});
    }
    return records;
}

}  // namespace yantra
