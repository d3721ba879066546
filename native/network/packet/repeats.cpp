#include "network/packet/repeats.hpp"

#include <algorithm>
#include <utility>

namespace yantra::packet {

namespace {

constexpr std::size_t most_sent = std::size_t{1} << 21;      // flows in what is remembered
constexpr std::size_t most_counts = std::size_t{1} << 20;    // ports in what is known: 64 MB
constexpr u64 most_doublings = 5;   // of events a word of state until the next look: then one costs a hundredth
constexpr u64 most_moments_without = u64{1} << 16;

}  // namespace

std::string Repeats::refusal(const Settings& settings) {
    if (settings.skip == Skip::never) {
        return "skip is off";
    }
    if (settings.quirks != 0) {
        return "semantics is ns3_fork";
    }
    if (settings.congestion_control != "none") {
        return "the state of the congestion control " + settings.congestion_control +
               " is not compared; static_window and none have none";
    }
    if (!settings.pauses || settings.recovery != RecoveryKind::go_back_n) {
        return "packets may be lost";
    }
    if (settings.queue != "fifo") {
        return "the state of the queue " + settings.queue + " is not compared";
    }
    if (settings.one_window) {
        return "one_window depends on messages yet to come";
    }
    if (settings.look != Look::nothing || settings.sweep_every_ns > 0.0) {
        return "it keeps queues over time; take look: nothing";
    }
    return settings.tells_crossings ? "the run is recorded" : "";
}

void Repeats::send(const FlowSpec& flow, u64 tick, bool is_after) {
    if (replays_) {
        now_.sent.push_back(flow);
        now_.sent_at = tick;
        now_.is_after = is_after;
        return;
    }
    if (is_on_) {
        sent_.push_back(flow);
        batch_at_ = tick;
        batch_is_after_ = is_after;
    }
    simulator_.send(flow, tick);
}

bool Repeats::hears(u32 flow, bool is_completed) {
    if (is_on_ && !replays_ && !is_quiet_ && !moments_.empty()) {
        const OfFlow of = of_flow_[flow];
        heard_.push_back({simulator_.now() - moments_.back().tick, last() - of.moment, of.place, is_completed});
    }
    return !is_quiet_;
}

void Repeats::begin_run() {
    if (batch_ == sent_.size()) {
        return;
    }
    if (sent_.size() > most_sent) {
        forget();
    }
    put_in_order(std::span(sent_).subspan(batch_), simulator_);
    moments_.push_back({batch_at_, batch_is_after_, batch_, heard_.size()});
    for (std::size_t at = batch_; at < sent_.size(); ++at) {
        name(sent_[at].flow, last(), static_cast<u32>(at - batch_));
    }
    batch_ = sent_.size();
    look_for_repetition(batch_at_);
}

void Repeats::name(u32 flow, u64 moment, u32 place) {
    of_flow_.resize(std::max<std::size_t>(of_flow_.size(), flow + std::size_t{1}));
    of_flow_[flow] = {moment, place};
}

void Repeats::forget() {
    first_ += moments_.size();
    moments_.clear();
    sent_.erase(sent_.begin(), sent_.begin() + static_cast<std::ptrdiff_t>(batch_));
    batch_ = 0;
    heard_.clear();
    known_.clear();
}

bool Repeats::is_worth_a_look() {
    const std::span<const FlowSpec> sent = sent_at(moments_.size() - 1);
    const auto is_like = [this](const FlowSpec& flow) { return are_alike(flow, search_.reference); };
    if (!search_.has_one || last() - search_.at_moment > most_moments_without) {
        search_.reference = sent.front();
        search_.has_one = true;
    } else if (std::none_of(sent.begin(), sent.end(), is_like)) {
        return false;
    }
    search_.at_moment = last();
    return simulator_.events() - search_.at_events >= search_.patience;
}

void Repeats::look_for_repetition(u64 tick) {
    if (simulator_.state().can_lose() || !is_worth_a_look()) {
        return;
    }
    const StateHash hash = simulator_.state().hash(tick, sent_at(moments_.size() - 1), [this](u32 flow) {
        return (last() - of_flow_[flow].moment) << 32U | of_flow_[flow].place;
    });
    search_.at_events = simulator_.events();
    search_.patience = hash.words() << std::min<u64>(known_.size() + search_.in_vain, most_doublings);
    const u64 chances = simulator_.state().chances();
    if (!known_.empty() && known_.back().chances != chances) {
        known_.clear();
    }
    AllCounts counts = simulator_.state().counts();
    const auto found = std::find_if(known_.begin(), known_.end(),
                                    [&hash](const Known& known) { return known.state == hash.value(); });
    if (found != known_.end() && begin_replay(*found, counts)) {
        return;
    }
    if (known_.size() * counts.of_ports.size() >= most_counts) {
        known_.pop_front();
    }
    known_.push_back({hash.value(), chances, last(), std::move(counts)});
}

// Of the flows under way in a state that returns, the oldest ends before it does.
bool Repeats::begin_replay(const Known& from, const AllCounts& counts) {
    const std::size_t begin = from.moment - first_;
    now_ = Replay{};
    for (std::size_t at = moments_[begin].first_heard; at < moments_.back().first_heard; ++at) {
        now_.most_back = std::max(now_.most_back, heard_[at].back);
    }
    if (moments_.size() - 1 < now_.most_back) {
        return false;
    }
    now_.moment = last();
    now_.tick = moments_.back().tick;
    now_.heard = moments_[begin].first_heard;
    now_.first_kept = last() - now_.most_back;
    for (u64 moment = now_.first_kept; moment <= last(); ++moment) {
        std::vector<u32>& flows = now_.flows.emplace_back();
        for (const FlowSpec& flow : sent_at(moment - first_)) {
            flows.push_back(flow.flow);
        }
    }
    now_.counted = counts.since(from.counts);
    repeats_ = last() - from.moment;
    first_ = from.moment;
    moments_.erase(moments_.begin(), moments_.begin() + static_cast<std::ptrdiff_t>(begin));
    replays_ = true;
    return true;
}

u64 Repeats::next_time() const {
    if (!now_.sent.empty()) {
        return now_.sent_at;
    }
    const Moment& next = moments_[like(now_.moment) + 1];
    const u64 missed = misses_at();
    return now_.heard < next.first_heard ? std::min(missed, now_.tick + heard_[now_.heard].after) : missed;
}

bool Repeats::replay(u64 tick) {
    const Moment& next = moments_[like(now_.moment) + 1];
    if (!now_.sent.empty()) {
        put_in_order(now_.sent, simulator_);
        if (!is_as_before()) {
            go_live(now_.sent_at, now_.is_after);
            return false;
        }
        go_on();
    } else if (tick >= misses_at()) {   // nothing was sent then
        go_live(next_moment(), next.is_after);
        return false;
    }
    hear(tick);
    return true;
}

u64 Repeats::next_moment() const {
    const std::size_t at = like(now_.moment);
    return now_.tick + (moments_[at + 1].tick - moments_[at].tick);
}

// When it is known that nothing is sent at the next moment.
u64 Repeats::misses_at() const { return next_moment() + (moments_[like(now_.moment) + 1].is_after ? 1 : 0); }

bool Repeats::is_as_before() const {
    const std::size_t at = like(now_.moment);
    const Moment& next = moments_[at + 1];
    const std::span<const FlowSpec> sent = sent_at(at + 1);
    return now_.heard == next.first_heard && now_.sent_at == next_moment() &&
           next.is_after == now_.is_after &&
           std::equal(sent.begin(), sent.end(), now_.sent.begin(), now_.sent.end(), are_alike);
}

void Repeats::go_on() {
    ++now_.moment;
    now_.tick = now_.sent_at;
    now_.heard = moments_[like(now_.moment)].first_heard;
    std::vector<u32>& flows = now_.flows.emplace_back();
    for (const FlowSpec& flow : now_.sent) {
        flows.push_back(flow.flow);
    }
    now_.sent.clear();
    if (like(now_.moment) == 0) {
        for (; now_.first_kept + now_.most_back < now_.moment; ++now_.first_kept) {
            now_.flows.pop_front();
        }
    }
}

void Repeats::hear(u64 tick) {
    const std::size_t end = moments_[like(now_.moment) + 1].first_heard;
    for (; now_.heard < end && now_.tick + heard_[now_.heard].after <= tick; ++now_.heard) {
        const Heard& heard = heard_[now_.heard];
        const u32 flow = flows_of(now_.moment - heard.back)[heard.place];
        heard.is_completed ? observer_.completed(flow) : observer_.received(flow);
    }
    now_.told_at = tick;
}

// All that is before `tick`, or of it, was told.
void Repeats::go_live(u64 tick, bool with_it) {
    do_again(tick, with_it);
    for (u64 moment = now_.first_kept; moment <= now_.moment; ++moment) {
        u32 place = 0;
        for (u32 flow : flows_of(moment)) {
            name(flow, moment, place++);
        }
    }
    replays_ = false;
    forget();
    first_ = now_.moment + 1;
    for (const FlowSpec& flow : std::exchange(now_.sent, {})) {
        send(flow, now_.sent_at, now_.is_after);
    }
    begin_run();
}

void Repeats::do_again(u64 tick, bool with_it) {
    const u64 end = first_ + repeats_;
    const u64 times = (now_.moment - end) / repeats_;
    const u64 base = end + times * repeats_;
    const u64 ticks = times * (moments_.back().tick - moments_.front().tick);
    simulator_.state().leap(ticks, times, now_.counted);
    simulator_.state().rename([&](u32 flow) {
        const OfFlow& of = of_flow_[flow];
        return flows_of(of.moment + times * repeats_)[of.place];
    });
    search_.in_vain = times > 0 ? 0 : search_.in_vain + 1;
    is_quiet_ = true;
    for (u64 moment = base + 1; moment <= now_.moment; ++moment) {
        const std::size_t at = moment - base;
        const u64 then = moments_.back().tick + ticks + (moments_[at].tick - moments_.front().tick);
        drain(then, moments_[at].is_after);
        const std::vector<u32>& flows = flows_of(moment);
        std::size_t place = 0;
        for (FlowSpec flow : sent_at(at)) {
            flow.flow = flows[place++];
            simulator_.send(flow, then);
        }
    }
    drain(tick, with_it);
    is_quiet_ = false;
}

void Repeats::drain(u64 tick, bool with_it) {
    while (!simulator_.empty() && simulator_.next_time() < tick + (with_it ? 1 : 0)) {
        simulator_.step();
    }
}

void Repeats::settle(u64 tick) {
    if (replays_) {
        go_live(tick, now_.told_at == tick);
    }
    forget();
}

void Repeats::end(u64 tick) {
    settle(tick);
    is_on_ = false;
}

}  // namespace yantra::packet
