#include "network/packet/episodes.hpp"

#include <algorithm>

#include "network/packet/apart.hpp"
#include "network/packet/partition.hpp"

namespace yantra::packet {

std::string Episodes::refusal(const Settings& settings) {
    const std::string refused = Apart::refusal(settings);
    if (refused == queues_in_one_order && settings.look != Look::nothing) {
        return refused + "; take look: nothing";
    }
    return refused.empty() && settings.tells_crossings ? "the run is recorded" : refused;
}

Episodes::Episodes(const FabricSpec& fabric, const Settings& settings, Observer& observer, const Part& part, Skips skips)
    : observer_(observer),
      simulator_(fabric, settings, *this, part),
      repeats_(simulator_, *this, skips.repeats),
      periods_(simulator_),
      skips_streams_(skips.repeats),
      remembers_(skips.episodes) {}

void Episodes::send(const FlowSpec& flow, u64 tick, bool is_after) {
    if (!remembers_) {
        repeats_.send(flow, tick, is_after);
        return;
    }
    batch_.push_back(flow);
    batch_at_ = tick;
    batch_is_after_ = is_after;
}

void Episodes::hears(u32 flow, bool is_completed) {
    if (!repeats_.hears(flow, is_completed) || is_quiet_) {
        return;
    }
    if (records_) {
        const Place of = of_flow_[flow];
        records_ = simulator_.state().chances() == now_in_.chances &&   // a draw depends on time
                   tree_.hear(now_in_.path.back(), {now_ - now_in_.start, of.batch, of.place, is_completed});
    }
    tell(flow, is_completed);
}

void Episodes::tell(u32 flow, bool is_completed) {
    under_way_ -= is_completed ? 1 : 0;
    is_completed ? observer_.completed(flow) : observer_.received(flow);
}

u64 Episodes::next_time() const {
    if (!batch_.empty()) {
        return batch_at_;
    }
    if (!replays_) {
        return repeats_.replays()     ? repeats_.next_time()
               : simulator_.empty() ? ~u64{0}
                                    : simulator_.next_time();
    }
    const Node& of = node();
    const u64 unknown = of.is_last ? ~u64{0} : now_in_.start + of.known + (of.with_it ? 1 : 0);
    return now_in_.told < of.heard.size() ? std::min(unknown, now_in_.start + of.heard[now_in_.told].after) : unknown;
}

// What a flow has not yet sent takes its time on the first link.
u64 Episodes::hears_at() {
    if (!batch_.empty() || replays()) {
        return next_time();
    }
    if (!simulator_.state().have_begun()) {
        return simulator_.now();
    }
    const Senders& senders = simulator_.senders();
    u64 earliest = ~u64{0};
    senders.each_under_way([&](u32, SenderId sender) {
        const Sender& of = senders[sender];
        earliest = std::min(earliest, simulator_.now() + senders.transmission.ticks(of.left(), of.line_rate));
    });
    return earliest;
}

// Whether nothing is left to simulate.
bool Episodes::is_told(u64 tick) {
    if (!batch_.empty()) {
        is_sent();
    }
    if (!replays_) {
        return false;
    }
    tell_until(tick);
    if (node().knows(tick - now_in_.start)) {
        return true;
    }
    go_live(now_in_.start + node().known, node().with_it);
    return false;
}

void Episodes::is_sent() {
    put_in_order(batch_, simulator_);
    const u64 tick = batch_at_;
    if (replays_ ? is_over(tick) : rests(tick)) {
        replays_ ? finish() : close();
        open(tick);
    } else if (replays_) {
        go_on();
    } else {
        goes_on_live();
    }
    under_way_ += static_cast<u32>(batch_.size());
    batch_.clear();
}

bool Episodes::rests(u64 tick) {
    if (under_way_ > 0) {
        return false;
    }
    if (repeats_.replays()) {
        repeats_.settle(repeats_.told_at());
    }
    while (!simulator_.empty() && simulator_.next_time() < tick) {
        simulator_.step();
    }
    return !simulator_.state().can_lose() && simulator_.state().rests();
}

void Episodes::enter(u32 number) {
    const u32 batch = static_cast<u32>(now_in_.path.size());
    now_in_.path.push_back(number);
    now_in_.told = 0;
    std::vector<u32>& flows = now_in_.flows.emplace_back();
    for (u32 place = 0; place < batch_.size(); ++place) {
        const u32 flow = batch_[place].flow;
        flows.push_back(flow);
        of_flow_.resize(std::max<std::size_t>(of_flow_.size(), flow + std::size_t{1}));
        of_flow_[flow] = {batch, place};
    }
}

void Episodes::open(u64 tick) {
    tree_.forget_if_full();
    now_in_ = Present{};
    now_in_.start = tick;
    std::vector<bool> turns = simulator_.state().turns();
    const EpisodeTree::Batch sent{0, false, batch_};
    const u32 known = tree_.first(sent, turns);
    replays_ = known != none;
    if (replays_) {
        enter(known);
        return;
    }
    now_in_.before = simulator_.state().counts();
    now_in_.chances = simulator_.state().chances();
    records_ = true;
    enter(tree_.add_first(sent, std::move(turns)));
    pass_on();
}

void Episodes::close() {
    if (std::exchange(records_, false) && simulator_.state().chances() == now_in_.chances) {
        Node& of = node();
        of.is_last = true;
        of.rest = std::max(simulator_.now(), now_in_.start) - now_in_.start;
        of.counted = simulator_.state().counts().since(now_in_.before);
        of.turns = simulator_.state().turns();
    }
    repeats_.settle(simulator_.now());
}

void Episodes::pass_on() {
    for (const FlowSpec& flow : batch_) {
        repeats_.send(flow, batch_at_, batch_is_after_);
    }
}

void Episodes::goes_on_live() {
    records_ = records_ && !node().is_full();
    if (records_) {
        enter(tree_.add_next(now_in_.path.back(), batch()));
    }
    pass_on();
}

// Replaying.
bool Episodes::is_over(u64 tick) const {
    const Node& of = node();
    return of.is_last && now_in_.told == of.heard.size() && tick - now_in_.start > of.rest;
}

void Episodes::finish() {
    const Node& of = node();
    simulator_.state().leap(0, 1, of.counted);
    simulator_.state().set_turns(of.turns);
    replays_ = false;
}

void Episodes::go_on() {
    const u32 next = tree_.next(now_in_.path.back(), batch());
    if (next != none) {
        enter(next);
        return;
    }
    go_live(batch_at_, batch_is_after_);
    goes_on_live();
}

void Episodes::tell_until(u64 tick) {
    const std::vector<EpisodeTree::Heard>& heard = node().heard;
    const u64 after = tick - now_in_.start;
    while (now_in_.told < heard.size() && heard[now_in_.told].after <= after &&
           node().knows(heard[now_in_.told].after)) {
        const EpisodeTree::Heard& next = heard[now_in_.told++];
        tell(now_in_.flows[next.batch][next.place], next.is_completed);
    }
    now_in_.told_at = tick;
}

// All that is before `tick`, or of it, was told.
void Episodes::go_live(u64 tick, bool with_it) {
    replays_ = false;
    is_quiet_ = true;
    now_in_.before = simulator_.state().counts();
    now_in_.chances = simulator_.state().chances();
    for (std::size_t batch = 0; batch < now_in_.path.size(); ++batch) {
        const Node& of = tree_[now_in_.path[batch]];
        const u64 then = now_in_.start + of.after;
        if (batch > 0) {
            drain(then, of.is_after);
        }
        for (u32 place = 0; place < of.sent.size(); ++place) {
            FlowSpec flow = of.sent[place];
            flow.flow = now_in_.flows[batch][place];
            repeats_.send(flow, then, of.is_after);
        }
        if (then < tick || with_it) {
            drain(then, true);
        }
    }
    drain(tick, with_it);
    is_quiet_ = false;
    records_ = true;
    tree_.leave_out_unknown(now_in_.path.back());
}

void Episodes::drain(u64 tick, bool with_it) {
    if (tick + (with_it ? 1 : 0) > 0) {
        const u64 last = tick - (with_it ? 0 : 1);
        repeats_.run_to(last, [this, last] {
            simulator_.step();
            leap([last] { return last + 1; });
        });
    }
}

void Episodes::doubt(u64 tick) {
    if (replays_) {
        go_live(tick, true);
    }
    records_ = false;
    repeats_.settle(tick);
}

void Episodes::end(u64 tick) {
    if (replays_ && node().is_last && now_in_.told == node().heard.size() && tick - now_in_.start >= node().rest) {
        finish();
    } else if (replays_) {
        go_live(tick, now_in_.told_at == tick);
    }
    remembers_ = records_ = skips_streams_ = false;
    repeats_.end(tick);
}

}  // namespace yantra::packet
