#include "fabric/routing/region.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

#include "base/unsupported.hpp"

namespace yantra {

namespace {

constexpr double no_way = std::numeric_limits<double>::infinity();

// Sums of the same weights in another order differ in their last digits.
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

// A rank all of whose links lead to one device, and come from it, which has other neighbours.
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
    fields_ = FieldCache<Field>(relays_.size());
}

u32 Region::number(u32 device) const {
    if (!number_.empty()) {
        return number_[device];
    }
    const auto found = std::lower_bound(relays_.begin(), relays_.end(), device);
    return found == relays_.end() || *found != device ? none : static_cast<u32>(found - relays_.begin());
}

const Region::Field& Region::field(u32 number) {
    return fields_.get(number, [this](u32 to) {
        return graph_.has_one_weight() ? in_breadth(to) : by_weight(to);
    });
}

Region::Field Region::in_breadth(u32 to) {
    Field field;
    field.hops.assign(relays_.size(), far);
    field.hops[to] = 0;
    frontier_.assign(1, to);
    for (u16 hops = 1; !frontier_.empty(); ++hops) {
        if (hops == far) {
            throw Unsupported("the fabric: a route of more than 65,534 hops; give its links weights that differ");
        }
        found_.clear();
        for (u32 at : frontier_) {
            for (const Hop& hop : in(at)) {
                if (field.hops[hop.device] == far) {
                    field.hops[hop.device] = hops;
                    found_.push_back(hop.device);
                }
            }
        }
        frontier_.swap(found_);
    }
    return field;
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

double Region::distance(u32 from, u32 to) {
    const Field& of = field(to);
    if (!of.weight.empty()) {
        return of.weight[from];
    }
    return of.hops[from] == far ? no_way : of.hops[from] * graph_.weight(0);
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

bool Region::is_next(const Field& field, u32 at, const Hop& hop) const {
    if (field.weight.empty()) {
        return field.hops[hop.device] + 1 == field.hops[at];
    }
    const double left = field.weight[hop.device];
    return left < field.weight[at] && is_same(left + graph_.weight(hop.link), field.weight[at]);
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
    const Field& of = field(number(target));
    if (of.weight.empty() ? of.hops[at] == far : of.weight[at] == no_way) {
        return links_;
    }
    for (const Hop& hop : out(at)) {
        if (is_next(of, at, hop)) {
            links_.push_back(hop.link);
        }
    }
    return links_;
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
