#include "network/packet/periods.hpp"

#include <algorithm>
#include <numeric>

namespace yantra::packet {

namespace {

constexpr u64 kib = 1024;
constexpr u64 least_left = 8;     // times every_: less is simulated
constexpr u64 events_a_word = 4;   // of state, between two looks: then they cost a tenth
constexpr u32 most_stretch = 6;
constexpr u64 until_next = 4096;   // events, where there was none

}  // namespace

Periods::Periods(Simulator& simulator)
    : simulator_(simulator),
      every_(kib / std::gcd(kib, u64{simulator.senders().settings.payload_bytes})) {}

// Takes a flow under way for reference.
bool Periods::begin() {
    const Senders& senders = simulator_.senders();
    const u64 payload = senders.settings.payload_bytes;
    senders.each_under_way([&](u32, SenderId sender) {
        if (reference_.is_none() && senders[sender].left() > least_left * every_ * payload) {
            reference_ = sender;
        }
    });
    next_look_ = simulator_.events() + until_next;
    if (!reference_.is_none()) {
        serial_ = senders[reference_].serial;
        sent_ = senders[reference_].next / payload;
        kept_.reset();
        tries_ = 0;
        most_tries_ = 1;
    }
    return false;
}

bool Periods::sends_now() {
    const Sender& sender = simulator_.senders()[reference_];
    if (sender.serial != serial_ || sender.has_ended) {
        reference_ = SenderId::none;
        return false;
    }
    const u64 sent = sender.next / simulator_.senders().settings.payload_bytes;
    if (sent == sent_ || (!simulator_.empty() && simulator_.next_time() == simulator_.now())) {
        return false;
    }
    sent_ = sent;
    return simulator_.events() >= next_look_ && (!kept_ || (sent - kept_at_) % every_ == 0) &&
           simulator_.state().have_begun() && !simulator_.state().can_lose();
}

Periods::Moment Periods::moment(u64& words) const {
    const StateHash hash = simulator_.state().hash_of_streams(simulator_.now());
    words = hash.words();
    Moment made{hash.value(), simulator_.now(), simulator_.state().chances(), simulator_.state().counts(), {}};
    simulator_.senders().each_under_way([&](u32, SenderId sender) {
        const Sender& of = simulator_.senders()[sender];
        made.streams.push_back({sender, of.serial, of.acknowledged});
    });
    return made;
}

std::optional<Periods::Period> Periods::between(const Moment& before, const Moment& now) const {
    if (before.state != now.state || before.chances != now.chances || before.streams.size() != now.streams.size()) {
        return std::nullopt;
    }
    const u64 bytes = now.streams[0].acknowledged - before.streams[0].acknowledged;
    const auto is_like = [bytes](const Stream& one, const Stream& other) {
        return one.sender == other.sender && one.serial == other.serial && other.acknowledged - one.acknowledged == bytes;
    };
    if (bytes == 0 || bytes % kib != 0 ||
        !std::equal(before.streams.begin(), before.streams.end(), now.streams.begin(), is_like)) {
        return std::nullopt;
    }
    return Period{now.tick - before.tick, bytes, now.counts.since(before.counts)};
}

// Keeps a moment for twice as many looks each time (Brent, BIT 1980).
bool Periods::look() {
    u64 words = 0;
    Moment now = moment(words);
    found_ = kept_ ? between(*kept_, now) : std::nullopt;
    if (found_) {
        kept_.reset();
        reference_ = SenderId::none;
        next_look_ = simulator_.events();
        return true;
    }
    if (!kept_ || ++tries_ >= most_tries_) {
        kept_ = std::move(now);
        kept_at_ = sent_;
        most_tries_ = kept_ ? std::min(2 * most_tries_, u32{1} << most_stretch) : 1;
        tries_ = 0;
    }
    next_look_ = simulator_.events() + events_a_word * words * std::min(most_tries_, u32{1} << most_stretch) / 2;
    return false;
}

void Periods::leap(u64 until) {
    const Senders& senders = simulator_.senders();
    const u64 now = simulator_.now();
    u64 times = until > now ? (until - now - 1) / found_->ticks : 0;
    senders.each_under_way([&](u32, SenderId sender) {
        const Sender& of = senders[sender];
        const u64 last = of.next / kib >= most_links ? of.size : std::min(of.size, most_links * kib);
        const u64 periods = (last - std::min(last, of.next)) / found_->bytes;
        times = std::min(times, periods - std::min<u64>(periods, 1));
    });
    if (times > 0) {
        simulator_.state().leap(times * found_->ticks, times, found_->counts, times * found_->bytes);
    }
    next_look_ = simulator_.events() + (times > 0 ? 0 : until_next);
    found_.reset();
}

}  // namespace yantra::packet
