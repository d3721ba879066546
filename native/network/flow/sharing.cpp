#include "network/flow/sharing.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/ensure.hpp"

namespace yantra {

namespace {

constexpr double at_once_ns = 1e-6;   // ends this close are one
constexpr u64 crowd = 100'000;
constexpr u64 most_looks = 300'000'000;
constexpr double together_of_a_crowd = 5e-4;   // of the time since the first flow began

struct Later {
    template <class Entry>
    bool operator()(const Entry& a, const Entry& b) const {
        return a.due > b.due;
    }
};

}  // namespace

FlowSharing::FlowSharing(std::vector<double> bytes_per_ns)
    : rates_(std::move(bytes_per_ns)), owners_(rates_.links()), ends_(rates_.links()) {}

u32 FlowSharing::add_class(std::span<const u32> links, double weight, std::span<const double> shares) {
    first_flow_.push_back(none);
    owner_of_.push_back(none);
    return rates_.add_class(links, weight, shares);
}

void FlowSharing::note_in(LinkSeries* series) {
    series_ = series;
    if (series != nullptr) {
        rates_.keep_touched();
    }
}

u32 FlowSharing::start(u32 of_class, double bytes, double now_ns) {
    ensure(bytes > 0.0 && now_ns >= now_ns_, "a flow of no bytes, or in the past");
    if (now_ns > now_ns_) {
        settle();
        now_ns_ = now_ns;
    }
    const u32 number = flows_.take_as_left();
    OneFlow& flow = flows_[number];
    flow.due = bytes / rates_.weight(of_class);
    flow.order = started_++;
    flow.of_class = of_class;
    flow.before = none;
    flow.next = first_flow_[of_class];
    flow.is_fresh = true;
    ++flow.stamp;
    if (flow.next != none) {
        flows_[flow.next].before = number;
    }
    first_flow_[of_class] = number;
    fresh_.push_back(number);
    rates_.add_flows(of_class, 1);
    is_settled_ = false;
    if (under_way_++ == 0) {
        busy_since_ns_ = now_ns;
        looks_before_ = rates_.looks();
        is_crowd_ = false;
    }
    return number;
}

void FlowSharing::set_capacity(u32 link, double bytes_per_ns, double now_ns) {
    settle();
    now_ns_ = now_ns;
    rates_.set_capacity(link, bytes_per_ns);
    is_settled_ = false;
}

double FlowSharing::stop(u32 number, double now_ns) {
    const double left = bytes_left(number, now_ns);
    rates_.add_flows(flows_[number].of_class, -1);
    unlink(number);
    is_settled_ = false;
    return left;
}

double FlowSharing::bytes_left(u32 number, double now_ns) {
    settle();
    now_ns_ = now_ns;
    const OneFlow& flow = flows_[number];
    const u32 link = owner_of_[flow.of_class];
    count_on(link);
    return std::max(flow.due - owners_[link].count, 0.0) * rates_.weight(flow.of_class);
}

std::vector<u32> FlowSharing::flows_of(u32 of_class) const {
    std::vector<u32> found;
    for (u32 flow = first_flow_[of_class]; flow != none; flow = flows_[flow].next) {
        found.push_back(flow);
    }
    std::sort(found.begin(), found.end(),
              [this](u32 a, u32 b) { return flows_[a].order < flows_[b].order; });
    return found;
}

double FlowSharing::next_end_ns() {
    settle();
    if (ends_.empty()) {
        return std::numeric_limits<double>::infinity();
    }
    const double first_ns = ends_.key(ends_.top());
    return is_crowd_ ? first_ns + (first_ns - busy_since_ns_) * together_of_a_crowd : first_ns;
}

double FlowSharing::end_ns(u32 number) {
    settle();
    const OneFlow& flow = flows_[number];
    const Owner& owner = owners_[owner_of_[flow.of_class]];
    return owner.counted_ns + (flow.due - owner.count) / owner.level;
}

void FlowSharing::end_next(std::vector<u32>& ended) {
    now_ns_ = std::max(next_end_ns(), now_ns_);
    const std::size_t before = ended.size();
    const double together_ns = std::max(at_once_ns, now_ns_ * 4.0 * std::numeric_limits<double>::epsilon());
    const double last_ns = now_ns_ + together_ns;
    while (!ends_.empty() && ends_.key(ends_.top()) <= last_ns) {
        const u32 link = ends_.top();
        count_on(link);
        Owner& owner = owners_[link];
        const double through = owner.count + owner.level * together_ns;
        while (!owner.due.empty() && (is_stale(owner.due.front()) || owner.due.front().due <= through)) {
            end_front(owner, ended);
        }
        schedule(link);
        if (!ends_.empty() && ends_.top() == link && ends_.key(link) <= last_ns) {
            end_front(owner, ended);   // clock or count are too coarse to come nearer
            schedule(link);
        }
    }
    std::sort(ended.begin() + static_cast<std::ptrdiff_t>(before), ended.end(),
              [this](u32 a, u32 b) { return flows_[a].order < flows_[b].order; });
    for (std::size_t at = before; at < ended.size(); ++at) {
        rates_.add_flows(flows_[ended[at]].of_class, -1);
        unlink(ended[at]);
    }
    is_settled_ = false;
}

void FlowSharing::end_front(Owner& owner, std::vector<u32>& ended) {
    const Entry entry = owner.due.front();
    std::pop_heap(owner.due.begin(), owner.due.end(), Later());
    owner.due.pop_back();
    if (!is_stale(entry)) {
        ended.push_back(entry.flow);
        ++flows_[entry.flow].stamp;
    }
}

void FlowSharing::settle() {
    if (is_settled_) {
        return;
    }
    rates_.solve();
    is_settled_ = true;
    is_crowd_ |= under_way_ > crowd && rates_.looks() - looks_before_ > most_looks;
    if (series_ != nullptr) [[unlikely]] {
        for (u32 link : rates_.touched_links()) {
            series_->set(link, now_ns_, rates_.carried(link));
        }
    }
    concerned_.assign(rates_.changed_links().begin(), rates_.changed_links().end());
    for (u32 of_class : rates_.changed_classes()) {
        for (u32 link : {owner_of_[of_class], rates_.owner(of_class)}) {
            if (link != none) {
                concerned_.push_back(link);
            }
        }
    }
    std::sort(concerned_.begin(), concerned_.end());
    concerned_.erase(std::unique(concerned_.begin(), concerned_.end()), concerned_.end());
    for (u32 link : concerned_) {
        count_on(link);
        owners_[link].level = rates_.level(link);
    }
    for (u32 of_class : rates_.changed_classes()) {
        const u32 owner = rates_.owner(of_class);
        if (owner != owner_of_[of_class]) {
            for (u32 flow = first_flow_[of_class]; flow != none; flow = flows_[flow].next) {
                take_owner(flow, owner);
            }
            owner_of_[of_class] = owner;
        }
    }
    for (u32 flow : fresh_) {
        if (flows_[flow].is_fresh) {
            take_owner(flow, owner_of_[flows_[flow].of_class]);
        }
    }
    fresh_.clear();
    for (u32 link : concerned_) {
        schedule(link);
    }
}

void FlowSharing::count_on(u32 link) {
    Owner& owner = owners_[link];
    if (owner.due.empty()) {
        owner.count = 0.0;   // small numbers stay exact for longer
    } else {
        owner.count += owner.level * (now_ns_ - owner.counted_ns);
    }
    owner.counted_ns = now_ns_;
}

void FlowSharing::take_owner(u32 number, u32 link) {
    OneFlow& flow = flows_[number];
    const double left = flow.is_fresh ? flow.due : flow.due - owners_[owner_of_[flow.of_class]].count;
    flow.is_fresh = false;
    flow.due = owners_[link].count + left;
    ++flow.stamp;
    owners_[link].due.push_back({flow.due, number, flow.stamp});
    std::push_heap(owners_[link].due.begin(), owners_[link].due.end(), Later());
}

void FlowSharing::schedule(u32 link) {
    Owner& owner = owners_[link];
    while (!owner.due.empty() && is_stale(owner.due.front())) {
        std::pop_heap(owner.due.begin(), owner.due.end(), Later());
        owner.due.pop_back();
    }
    if (owner.due.empty() || !(owner.level > 0.0)) {
        ends_.remove(link);
        return;
    }
    ends_.set(link, owner.counted_ns + std::max(owner.due.front().due - owner.count, 0.0) / owner.level);
}

void FlowSharing::unlink(u32 number) {
    --under_way_;
    OneFlow& flow = flows_[number];
    if (flow.before == none) {
        first_flow_[flow.of_class] = flow.next;
    } else {
        flows_[flow.before].next = flow.next;
    }
    if (flow.next != none) {
        flows_[flow.next].before = flow.before;
    }
    if (first_flow_[flow.of_class] == none) {
        owner_of_[flow.of_class] = none;
    }
    ++flow.stamp;
    flows_.give_back(number);
}

}  // namespace yantra
