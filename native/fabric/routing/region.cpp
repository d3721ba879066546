#include "fabric/routing/region.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include "base/unsupported.hpp"

namespace yantra {

namespace {

constexpr double no_way = std::numeric_limits<double>::infinity();

bool is_same(double a, double b) { return a <= b + 1e-9 * b; }

}  // namespace

Region::Region(const FabricGraph& graph) : graph_(graph) {
    find_what_hangs();
    number_.assign(graph.devices(), none);
    for (u32 device = 0; device < graph.devices(); ++device) {
        if (hangs_on_[device] == none) {
            number_[device] = static_cast<u32>(relays_.size());
            relays_.push_back(device);
        }
    }
    join();
}

Region::Region(const FabricGraph& graph, std::vector<u32> devices) : graph_(graph), relays_(std::move(devices)) {
    join();
}

void Region::find_what_hangs() {
    std::vector<u32> neighbour(graph_.devices(), none);
    std::vector<bool> has_one(graph_.devices());
    for (u32 device = 0; device < graph_.devices(); ++device) {
        bool is_one = !graph_.out(device).empty() && !graph_.in(device).empty();
        u32& only = neighbour[device];
        for (u32 link : graph_.out(device)) {
            is_one = is_one && (only == none || only == graph_.to(link));
            only = graph_.to(link);
        }
        for (u32 link : graph_.in(device)) {
            is_one = is_one && only == graph_.from(link);
        }
        has_one[device] = is_one;
    }
    hangs_on_.assign(graph_.devices(), none);
    for (u32 rank = 0; rank < graph_.ranks(); ++rank) {
        if (has_one[rank] && !has_one[neighbour[rank]]) {
            hangs_on_[rank] = neighbour[rank];
        }
    }
}

void Region::join() {
    out_begin_.assign(relays_.size() + 1, 0);
    in_begin_.assign(relays_.size() + 1, 0);
    for (u32 at = 0; at < relays(); ++at) {
        for (u32 link : graph_.out(relays_[at])) {
            if (const u32 head = number(graph_.to(link)); head != none) {
                out_.push_back({head, link});
            }
        }
        for (u32 link : graph_.in(relays_[at])) {
            if (const u32 tail = number(graph_.from(link)); tail != none) {
                in_.push_back({tail, link});
            }
        }
        out_begin_[at + 1] = static_cast<u32>(out_.size());
        in_begin_[at + 1] = static_cast<u32>(in_.size());
    }
    const auto is_switch = [this](const Hop& hop) { return graph_.kind(relays_[hop.device]) != DeviceKind::rank; };
    for (u32 at = 0; at < relays(); ++at) {
        const std::span<const Hop> before = in(at);
        follows_.push_back(graph_.kind(relays_[at]) == DeviceKind::rank && before.size() <= most_before &&
                           std::all_of(before.begin(), before.end(), is_switch));
    }
    fields_ = FieldCache<Field>(relays_.size());
}

u32 Region::number(u32 device) const {
    if (!number_.empty()) {
        return number_[device];
    }
    const auto found = std::lower_bound(relays_.begin(), relays_.end(), device);
    return found == relays_.end() || *found != device ? none : static_cast<u32>(found - relays_.begin());
}

Region::Field& Region::field(u32 number) {
    return fields_.get(number, [this](u32 to) {
        if (!graph_.has_one_weight()) {
            return by_weight(to);
        }
        Field field;
        field.hops.assign(relays_.size(), far);
        field.hops[to] = 0;
        field.frontier.assign(1, to);
        return field;
    });
}

void Region::grow(Field& field) {
    if (++field.grown == far) {
        throw Unsupported("the fabric: a route of more than 65,534 hops; give its links weights that differ");
    }
    found_.clear();
    for (u32 at : field.frontier) {
        for (const Hop& hop : in(at)) {
            if (field.hops[hop.device] == far) {
                field.hops[hop.device] = field.grown;
                found_.push_back(hop.device);
            }
        }
    }
    field.frontier.assign(found_.begin(), found_.end());
}

Region::Field Region::by_weight(u32 to) const {
    using Reached = std::pair<double, u32>;
    Field field;
    field.weight.assign(relays_.size(), no_way);
    std::priority_queue<Reached, std::vector<Reached>, std::greater<>> next;
    field.weight[to] = 0.0;
    next.push({0.0, to});
    while (!next.empty()) {
        const auto [weight, at] = next.top();
        next.pop();
        if (weight > field.weight[at]) {
            continue;
        }
        for (const Hop& hop : in(at)) {
            const double further = weight + graph_.weight(hop.link);
            if (further < field.weight[hop.device]) {
                field.weight[hop.device] = further;
                next.push({further, hop.device});
            }
        }
    }
    return field;
}

double Region::to_field(u32 from, u32 to, double most) {
    Field& of = field(to);
    if (!of.weight.empty()) {
        return of.weight[from];
    }
    const double each = graph_.weight(0);
    while (of.hops[from] == far && !of.frontier.empty() && (of.grown + 1) * each <= most) {
        grow(of);
    }
    return of.hops[from] == far ? no_way : of.hops[from] * each;
}

double Region::distance(u32 from, u32 to) {
    if (from == to) {
        return 0.0;
    }
    if (!follows_[to]) {
        return to_field(from, to, no_way);
    }
    double least = no_way;
    for (const Hop& hop : in(to)) {
        const double weight = graph_.weight(hop.link);
        least = std::min(least, weight + to_field(from, hop.device, least - weight));
    }
    return least;
}

double Region::cost(u32 from, u32 to) {
    double sum = 0.0;
    if (from == to) {
        return sum;
    }
    if (hangs_on(from) != none) {
        sum += graph_.weight(up_links(from)[0]);
        from = hangs_on(from);
    }
    if (hangs_on(to) != none) {
        sum += graph_.weight(down_links(to)[0]);
        to = hangs_on(to);
    }
    return from == to ? sum : sum + distance(number(from), number(to));
}

std::span<const u32> Region::next(u32 from, u32 to) {
    if (hangs_on(from) != none) {
        return up_links(from);
    }
    u32 target = to;
    if (hangs_on(to) != none) {
        if (hangs_on(to) == from) {
            return down_links(to);
        }
        target = hangs_on(to);
    }
    links_.clear();
    const u32 at = number(from);
    const u32 end = number(target);
    const double whole = distance(at, end);
    if (whole == no_way) {
        return links_;
    }
    for (const Hop& hop : out(at)) {
        const double left = distance(hop.device, end);
        if (left < whole && is_same(left + graph_.weight(hop.link), whole)) {
            links_.push_back(hop.link);
        }
    }
    return links_;
}

u32 Region::last(u32 from, u32 to) {
    if (hangs_on(to) != none) {
        const std::span<const u32> links = down_links(to);
        return links.size() == 1 ? links[0] : none;
    }
    const u32 end = number(to);
    if (!follows_[end]) {
        return none;
    }
    const u32 at = number(hangs_on(from) != none ? hangs_on(from) : from);
    double least = no_way;
    u32 found = none;
    for (const Hop& hop : in(end)) {
        const double cost = graph_.weight(hop.link) + to_field(at, hop.device, least);
        const bool ties = cost < no_way && least < no_way && is_same(cost, least) && is_same(least, cost);
        found = ties ? none : cost < least ? hop.link : found;
        least = std::min(least, cost);
    }
    return found;
}

std::span<const u32> Region::cheapest(std::span<const u32> links) {
    links_.clear();
    double least = no_way;
    for (u32 link : links) {
        least = std::min(least, graph_.weight(link));
    }
    std::copy_if(links.begin(), links.end(), std::back_inserter(links_),
                 [&](u32 link) { return graph_.weight(link) == least; });
    return links_;
}

}  // namespace yantra
