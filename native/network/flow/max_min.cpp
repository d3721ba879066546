#include "network/flow/max_min.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "base/interruption.hpp"

namespace yantra {

namespace {

// Smaller differences are rounding.
constexpr double grain = 1e-12;
constexpr double above = 1.0 + grain;
constexpr u64 least_looks = 10'000;   // before filling from nothing
constexpr u32 fills_in_a_row = 7;     // after that was quicker once
constexpr i64 members_ahead = 16;     // to prefetch

}  // namespace

MaxMin::MaxMin(std::vector<double> capacity)
    : links_(capacity.size()), heap_(static_cast<u32>(capacity.size())) {
    for (std::size_t link = 0; link < capacity.size(); ++link) {
        ensure(capacity[link] >= 0.0, "a link of less than no capacity");
        links_[link].capacity = capacity[link];
    }
}

u32 MaxMin::add_class(std::span<const u32> links, double weight, std::span<const double> shares) {
    ensure(!links.empty() && weight > 0.0, "a class of flows needs a link and a weight");
    add_shares(links.size(), shares);
    Class& of = classes_.emplace_back();
    weight_of_.push_back(weight);
    flows_of_.push_back(0);
    of.first = static_cast<u32>(link_of_.size());
    of.hops = static_cast<u32>(links.size());
    link_of_.insert(link_of_.end(), links.begin(), links.end());
    place_of_.insert(place_of_.end(), links.size(), none);
    return static_cast<u32>(classes_.size() - 1);
}

// Call before the hops are added.
void MaxMin::add_shares(std::size_t hops, std::span<const double> shares) {
    const auto is_one = [](double share) { return share == 1.0; };
    if (share_of_.empty() && std::all_of(shares.begin(), shares.end(), is_one)) {
        return;
    }
    share_of_.resize(link_of_.size(), 1.0);
    ensure(shares.empty() || shares.size() == hops, "a class of flows with other shares than links");
    ensure(std::all_of(shares.begin(), shares.end(), [](double share) { return share > 0.0; }),
           "a flow that takes nothing of a link");
    share_of_.insert(share_of_.end(), shares.begin(), shares.end());
    share_of_.resize(link_of_.size() + hops, 1.0);
}

inline void MaxMin::touch(u32 number) {
    Link& link = links_[number];
    link.exact = not_known;
    if (!link.is_dirty) {
        link.is_dirty = true;
        dirty_.push_back(number);
    }
}

void MaxMin::begin_changes() {
    if (std::exchange(is_solved_, false)) {
        changed_.classes.clear();
        changed_.links.clear();
    }
}

inline void MaxMin::note(u32 number) {
    if (!classes_[number].is_changed) {
        classes_[number].is_changed = true;
        changed_.classes.push_back(number);
    }
}

inline void MaxMin::open(u32 number, double load) {
    links_[number].open += load;
    links_[number].least = 0.0;
    touch(number);
}

inline void MaxMin::note_link(u32 number) {
    if (!links_[number].is_changed) {
        links_[number].is_changed = true;
        changed_.links.push_back(number);
    }
}

void MaxMin::enter(u32 number) {
    const Class& of = classes_[number];
    members_ += of.hops;
    for (u32 hop = of.first; hop < of.first + of.hops; ++hop) {
        std::vector<Member>& members = links_[link_of_[hop]].members;
        place_of_[hop] = static_cast<u32>(members.size());
        members.push_back({hop, number});
    }
}

void MaxMin::leave(u32 number) {
    const Class& of = classes_[number];
    members_ -= of.hops;
    for (u32 hop = of.first; hop < of.first + of.hops; ++hop) {
        std::vector<Member>& members = links_[link_of_[hop]].members;
        const Member last = members.back();
        members[place_of_[hop]] = last;
        place_of_[last.hop] = place_of_[hop];
        members.pop_back();
        if (members.empty()) {   // and so are rounding errors
            Link& link = links_[link_of_[hop]];
            link.fixed = link.own = link.open = link.most = 0.0;
        }
    }
}

void MaxMin::take_out(const Class& of) {
    for (u32 hop = of.first; hop < of.first + of.hops; ++hop) {
        Link& link = links_[link_of_[hop]];
        const double load = of.load * share(hop);
        if (of.owner == none) {
            link.open -= load;
        } else if (of.owner == link_of_[hop]) {
            link.own -= load;
        } else {
            link.fixed -= load * of.level;
        }
        touch(link_of_[hop]);
    }
}

void MaxMin::put_open(Class& of) {
    of.owner = none;
    for (u32 hop = of.first; hop < of.first + of.hops; ++hop) {
        open(link_of_[hop], of.load * share(hop));
    }
}

void MaxMin::add_flows(u32 number, i64 count) {
    Class& of = classes_[number];
    u32& flows_now = flows_of_[number];
    const i64 flows = static_cast<i64>(flows_now) + count;
    ensure(flows >= 0 && flows < static_cast<i64>(none), "a class of fewer than no flows");
    if (count == 0) {
        return;
    }
    begin_changes();
    note(number);
    if (flows_now > 0) {
        take_out(of);
    } else {
        enter(number);
    }
    flows_now = static_cast<u32>(flows);
    of.load = weight_of_[number] * static_cast<double>(flows);
    for (u32 hop = of.first; hop < of.first + of.hops; ++hop) {
        Link& link = links_[link_of_[hop]];
        link.flows = static_cast<u32>(static_cast<i64>(link.flows) + count);
    }
    if (flows == 0) {
        of.owner = none;
        of.level = 0.0;
        of.load = 0.0;
        leave(number);
    } else {
        put_open(of);
    }
}

void MaxMin::set_capacity(u32 link, double capacity) {
    ensure(capacity >= 0.0, "a link of less than no capacity");
    links_[link].capacity = capacity;
    links_[link].least = 0.0;
    touch(link);
}

inline double MaxMin::key_of(const Link& link) const {
    const double held = link.own > 0.0 ? link.level : unlimited;
    if (link.exact != not_known) {
        return std::min(link.exact, held);
    }
    const double weights = link.own + link.open;
    if (weights <= 0.0) {
        return link.fixed > link.capacity * above ? now_ : unlimited;
    }
    const double level = std::max({(link.capacity - link.fixed) / weights, link.least, now_});
    if (link.open <= 0.0 && level <= held * above && level * above >= held && link.most <= held * above) {
        return unlimited;
    }
    return std::min(level, held);
}

void MaxMin::flush() {
    for (u32 number : dirty_) {
        links_[number].is_dirty = false;
        const double key = key_of(links_[number]);
        if (key != unlimited && (!heap_.has(number) || key < heap_.key(number))) {
            heap_.set(number, key);
        }
    }
    if (changed_.keeps_touched) {
        changed_.touched.insert(changed_.touched.end(), dirty_.begin(), dirty_.end());
    }
    dirty_.clear();
}

void MaxMin::solve() {
    ++solves_;
    begin_changes();
    changed_.touched.clear();
    if (fills_left_ > 0) {
        --fills_left_;
        fill();
    } else if (!run(least_looks + members_)) {
        fill();
        fills_left_ = fills_in_a_row;
    }
    for (u32 number : changed_.classes) {
        classes_[number].is_changed = false;
    }
    for (u32 number : changed_.links) {
        links_[number].is_changed = false;
    }
    is_solved_ = true;
}

bool MaxMin::run(u64 most_looks) {
    const u64 enough = looks_ + most_looks;
    now_ = 0.0;
    flush();
    while (!heap_.empty()) {
        const u32 number = heap_.top();
        const double before = heap_.key(number);
        const double key = key_of(links_[number]);
        if (key == unlimited) {
            heap_.remove(number);
            continue;
        }
        if (key > before * above) {
            heap_.set(number, key);
            continue;
        }
        looks_ += 1 + links_[number].members.size();
        if (looks_ > enough) {
            return false;
        }
        look_up();
        heap_.remove(number);
        now_ = std::max(now_, before);
        process(number);
        flush();
    }
    return true;
}

void MaxMin::process(u32 number) {
    Link& link = links_[number];
    double level = link.exact;
    if (level == not_known) {
        const double weights = link.own + link.open;
        const double share = weights > 0.0 ? (link.capacity - link.fixed) / weights : 0.0;
        const bool is_exact = weights > 0.0 && link.most <= share * above;
        level = is_exact ? std::max(share, now_) : evaluate(number, std::max({share, link.least, now_}));
    }
    if (level == unlimited) {
        return;
    }
    link.exact = link.least = level;
    const double held = link.own > 0.0 ? link.level : unlimited;
    if (std::min(level, held) > now_ * above) {
        heap_.set(number, std::min(level, held));
    } else {
        settle(number, level);
    }
}

// Newton's method from below; the sum of rates is concave in the level, so it stays below.
double MaxMin::evaluate(u32 number, double from) {
    Link& link = links_[number];
    for (double level = from;;) {
        double fixed = 0.0;   // in registers: in memory each addition would wait for a store
        double weights = 0.0;
        double most = 0.0;
        for (const auto& [hop, of_class] : link.members) {
            const Class& of = classes_[of_class];
            const bool is_held_here = of.owner == none || of.owner == number;
            most = is_held_here ? most : std::max(most, of.level);
            const double load = of.load * share(hop);
            if (!is_held_here && of.level <= level * above) {
                fixed += load * of.level;
            } else {
                weights += load;
            }
        }
        link.most = most;
        if (weights <= 0.0) {
            return unlimited;
        }
        const double next = (link.capacity - fixed) / weights;
        if (!(next > level * above)) {
            return std::max(next, level);
        }
        level = next;
    }
}

// Sums are made anew, so rounding errors do not accumulate.
void MaxMin::settle(u32 number, double level) {
    Link& link = links_[number];
    note_link(number);
    const double highest = level * above;
    const auto is_fixed = [&](const Class& of) {
        return of.owner != none && of.owner != number && of.level <= highest;
    };
    double fixed = 0.0;
    double own = 0.0;
    double most = 0.0;
    held_.clear();
    for (const auto& [hop, of_class] : link.members) {
        const Class& of = classes_[of_class];
        const double load = of.load * share(hop);
        if (is_fixed(of)) {
            fixed += load * of.level;
            most = std::max(most, of.level);
        } else {
            own += load;
            held_.push_back(of_class);
        }
    }
    link.fixed = fixed;
    link.own = own;
    link.most = most;
    link.open = 0.0;
    link.exact = not_known;
    if (link.own <= 0.0) {
        link.level = unlimited;
        return;
    }
    link.level = std::max((link.capacity - link.fixed) / link.own, 0.0);
    for (u32 of_class : held_) {
        Class& of = classes_[of_class];
        if (of.owner != number) {
            note(of_class);
        }
        hold(number, of, link.level);
    }
}

inline void MaxMin::hold(u32 number, Class& of, double level) {
    for (u32 hop = of.first; hop < of.first + of.hops; ++hop) {
        const u32 at = link_of_[hop];
        if (at == number) {
            continue;
        }
        Link& other = links_[at];
        const double load = of.load * share(hop);
        const double rate = load * level;
        const double before = load * of.level;
        if (of.owner == none) {
            other.open -= load;
            other.fixed += rate;
        } else if (of.owner == at) {
            other.own -= load;
            other.fixed += rate;
        } else {
            other.fixed += rate - before;
            other.least = rate > before ? 0.0 : other.least;   // less is left, as when one opens
        }
        other.most = std::max(other.most, level);
        touch(at);
    }
    of.owner = number;
    of.level = level;
}

void MaxMin::fill() {
    looks_ += members_;
    filling_.assign(links(), {});
    is_fixed_.assign(classes_.size(), 0);
    for (const Class& of : classes_) {
        for (u32 hop = of.first; of.load > 0.0 && hop < of.first + of.hops; ++hop) {
            filling_[link_of_[hop]].open += of.load * share(hop);
        }
    }
    for (u32 number = 0; number < links(); ++number) {
        Filling& of = filling_[number];
        of.left = links_[number].capacity;
        of.waiting = static_cast<u32>(links_[number].members.size());
        heap_.remove(number);
        if (of.waiting > 0) {
            heap_.set(number, of.left / of.open);
        }
    }
    now_ = 0.0;
    while (!heap_.empty()) {
        look_up();
        const u32 number = heap_.top();
        const Filling& of = filling_[number];
        const double key = of.waiting > 0 ? std::max(of.left / of.open, now_) : unlimited;
        if (key != unlimited && key > heap_.key(number) * above) {   // keys only rise
            heap_.set(number, key);
            continue;
        }
        heap_.remove(number);
        now_ = key == unlimited ? now_ : key;
        fix(number, key);
    }
    for (u32 number : dirty_) {
        links_[number].is_dirty = false;
    }
    dirty_.clear();
    for (u32 number = 0; changed_.keeps_touched && number < links(); ++number) {
        changed_.touched.push_back(number);
    }
}

void MaxMin::fix(u32 number, double level) {
    Link& link = links_[number];
    double own = 0.0;
    const auto end = link.members.cend();
    for (auto at = link.members.cbegin(); filling_[number].waiting > 0; ++at) {
        if (end - at > members_ahead) {
            const auto [hop, of_class] = at[members_ahead];
            __builtin_prefetch(&is_fixed_[of_class], 1);
            __builtin_prefetch(&classes_[of_class], 1);
            __builtin_prefetch(&link_of_[hop]);
        }
        const auto [own_hop, of_class] = *at;
        if (is_fixed_[of_class] != 0) {
            continue;
        }
        is_fixed_[of_class] = 1;
        Class& of = classes_[of_class];
        own += of.load * share(own_hop);
        if (of.owner != number) {
            note(of_class);
        }
        of.owner = number;
        of.level = level;
        for (u32 hop = of.first; hop < of.first + of.hops; ++hop) {
            Filling& other = filling_[link_of_[hop]];
            const double load = of.load * share(hop);
            other.open -= load;
            --other.waiting;
            if (link_of_[hop] != number) {
                other.left -= load * level;
                other.most = level;
            }
        }
    }
    if (link.level != level) {
        note_link(number);
    }
    link.fixed = link.capacity - filling_[number].left;
    link.own = own;
    link.open = 0.0;
    link.level = level;
    link.most = filling_[number].most;
    link.exact = not_known;
    link.least = 0.0;
}

}  // namespace yantra
