#include "trace/replay/assemble.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "base/interruption.hpp"

namespace yantra::replay {

namespace {

constexpr std::int64_t long_ns = 20'000;  // longer than launching and stream hand-over take

}  // namespace

Assembly::Assembly(const Recorded& recorded, bool hands_over)
    : of(recorded), lanes(recorded), drafts(lanes.drafts), device_(recorded.ops.size(), none) {
    lanes.cut();
    Handover handover(lanes);
    if (hands_over) {
        handover.run();
    }
    handovers = handover.edges();
    connect(handover);
}

void Assembly::connect(const Handover& handover) {
    add_device_ops(handover);
    for (std::uint32_t wait = 0; wait < of.waits.size(); ++wait) {
        if (lanes.wait_drafts[wait] != none) {
            for (const std::uint32_t op : of.waits.awaited(wait)) {
                drafts.depend(lanes.wait_drafts[wait], device_[op]);
            }
        }
    }
    for (const Lanes::Crossing& crossing : lanes.crossings) {
        const std::uint32_t waiting = crossing.op != none ? device_[crossing.op] : lanes.first[crossing.operation];
        if (crossing.after != none && waiting != none) {
            depend(waiting, handover.tail(crossing.after));
        }
    }
    for (std::uint32_t flow = 0; flow < of.flows.size(); ++flow) {
        follow(of.flows.source[flow], of.flows.target[flow], handover);
    }
    add_timeless();
    set_ctrl();
}

void Assembly::add_device_ops(const Handover& handover) {
    const DeviceOps& ops = of.ops;
    std::vector<std::uint32_t> order(ops.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](std::uint32_t op) { return std::tuple(ops.start[op], ops.end(op), ops.id[op]); });
    for (const std::uint32_t op : order) {
        device_[op] = drafts.add({Kind::device, op, ops.name[op], lanes.places.of(ops.device[op], ops.stream[op]),
                                  ops.start[op], ops.end(op)});
    }
    for (const std::uint32_t op : order) {
        for (const std::uint32_t other : ops.awaited(op)) {
            drafts.depend(device_[op], device_[other]);
        }
        if (lanes.launched[op] != none) {
            drafts.depend(device_[op], handover.tail(lanes.launched[op]));
        }
    }
}

void Assembly::depend(std::uint32_t at, std::uint32_t on) {
    if (on != at && drafts[on].start <= drafts[at].start && !drafts.depends(at, on)) {
        drafts.depend(at, on);
    }
}

void Assembly::follow(std::uint32_t source, std::uint32_t target, const Handover& handover) {
    const std::uint32_t first = lanes.first[target];
    if (lanes.last[source] == none || first == none) {
        return;
    }
    const std::uint32_t last = handover.tail(lanes.last[source]);
    if (drafts[last].end <= drafts[first].start) {
        depend(first, last);
    }
}

// Device ops that start long after all they wait for also wait for the device's last op: an untraced
// wait or a full device held them, and this beats a fixed delay.
std::uint32_t Assembly::anchor() {
    std::unordered_map<std::int64_t, std::vector<std::pair<std::int64_t, std::uint32_t>>> by_end;
    for (const std::uint32_t at : device_) {
        by_end[lanes.places.device(drafts[at].place)].emplace_back(drafts[at].end, at);
    }
    for (auto& [device, ends] : by_end) {
        std::ranges::sort(ends);
    }
    std::uint32_t changed = 0;
    for (const std::uint32_t at : device_) {
        std::int64_t ready = 0;
        bool waits = false;
        drafts.each(at, [&](std::uint32_t on) {
            ready = waits ? std::max(ready, drafts[on].end) : drafts[on].end;
            waits = true;
        });
        if (drafts[at].start - ready <= long_ns) {
            continue;
        }
        const auto& ends = by_end[lanes.places.device(drafts[at].place)];
        const auto past = std::ranges::lower_bound(ends, drafts[at].start, {},
                                                   &std::pair<std::int64_t, std::uint32_t>::first);
        if (past != ends.begin() && (past - 1)->first > ready) {
            drafts.depend(at, (past - 1)->second);
            ++changed;
        }
    }
    return changed;
}

void Assembly::add_timeless() {
    const Operators& all = of.operators;
    std::unordered_map<std::int64_t, std::uint32_t> before;
    for (std::uint32_t one = 0; one < all.size(); ++one) {
        const bool is_root = all.is(one, Operators::root);
        if (lanes.first[one] == none) {
            Draft draft{Kind::operation, one, all.name[one], lanes.places.of(-1, all.tid[one]), 0, 0};
            const auto found = before.find(all.tid[one]);
            std::uint32_t previous = found == before.end() ? none : found->second;
            if (previous == none && all.parent[one] < missing) {
                previous = lanes.first[all.parent[one]];
            }
            if (is_root) {
                previous = none;
            }
            if (previous != none) {
                draft.start = draft.end = drafts[previous].end;
            }
            lanes.first[one] = drafts.add(draft);
            if (previous != none) {
                drafts.depend(lanes.first[one], previous);
            }
        }
        if (!is_root) {
            before[all.tid[one]] = lanes.first[one];
        }
    }
    for (std::uint32_t op = 0; op < of.ops.size(); ++op) {
        const std::uint32_t parent = of.ops.parent[op];
        if (of.ops.is(op, DeviceOps::communicates) && parent < missing && !all.is(parent, Operators::timed)) {
            depend(device_[op], lanes.first[parent]);
        }
    }
}

void Assembly::set_ctrl() {
    for (std::uint32_t at = 0; at < drafts.size(); ++at) {
        const std::uint32_t around = operator_around(drafts[at]);
        if (around < missing) {
            drafts[at].ctrl = lanes.first[around];
        }
    }
}

std::uint32_t Assembly::operator_around(const Draft& draft) const {
    switch (draft.kind) {
        case Kind::operation: return of.operators.parent[draft.source];
        case Kind::wait: return of.waits.op[draft.source];
        case Kind::device: return of.ops.parent[draft.source];
        default: return draft.source;
    }
}

std::vector<std::uint32_t> Assembly::order() {
    std::vector<std::uint32_t> order = by_time();
    return is_after_all(order) ? order : sorted(order);
}

std::vector<std::uint32_t> Assembly::by_time() const {
    std::vector<std::uint32_t> order(drafts.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](std::uint32_t at) { return std::tuple(drafts[at].start, drafts[at].end, at); });
    return order;
}

bool Assembly::is_after_all(const std::vector<std::uint32_t>& order) const {
    std::vector<bool> placed(drafts.size());
    for (const std::uint32_t at : order) {
        bool is_ready = true;
        drafts.each_of_all(at, [&](std::uint32_t on) { is_ready &= placed[on]; });
        if (!is_ready) {
            return false;
        }
        placed[at] = true;
    }
    return true;
}

// Only zero-length nodes at one instant can form a cycle; the first by time and place is freed of
// what it still waits for.
std::vector<std::uint32_t> Assembly::sorted(const std::vector<std::uint32_t>& by_time) {
    std::vector<std::vector<std::uint32_t>> children(drafts.size());
    std::vector<std::int64_t> open(drafts.size());
    for (std::uint32_t at = 0; at < drafts.size(); ++at) {
        drafts.each_of_all(at, [&](std::uint32_t on) {
            children[on].push_back(at);
            ++open[at];
        });
    }
    const auto comes_later = [&](std::uint32_t a, std::uint32_t b) {
        return std::tuple(drafts[a].start, drafts[a].end, a) > std::tuple(drafts[b].start, drafts[b].end, b);
    };
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, decltype(comes_later)> ready(comes_later);
    for (std::uint32_t at = 0; at < drafts.size(); ++at) {
        if (open[at] == 0) {
            ready.push(at);
        }
    }
    std::vector<std::uint32_t> done;
    std::vector<bool> placed(drafts.size());
    auto stuck = by_time.begin();
    while (done.size() < drafts.size()) {
        if (ready.empty()) {
            look_up();
            while (placed[*stuck]) {
                ++stuck;
            }
            const std::uint32_t freed = *stuck++;
            drafts.keep(freed, [&](std::uint32_t on) { return placed[on]; });
            if (drafts[freed].ctrl != none && !placed[drafts[freed].ctrl]) {
                drafts[freed].ctrl = none;
            }
            open[freed] = 0;
            ready.push(freed);
        }
        const std::uint32_t at = ready.top();
        ready.pop();
        placed[at] = true;
        done.push_back(at);
        for (const std::uint32_t child : children[at]) {
            if (--open[child] == 0 && !placed[child]) {
                ready.push(child);
            }
        }
    }
    return done;
}

}  // namespace yantra::replay
