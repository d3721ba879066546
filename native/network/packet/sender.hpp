// Senders: the flows under way, their windows and rates. A message is one queue pair with a fresh
// state; a place is reused, `serial` distinguishes its flows.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/pool.hpp"
#include "base/types.hpp"
#include "engine/timers.hpp"
#include "network/packet/border.hpp"
#include "network/packet/ids.hpp"
#include "network/packet/packet.hpp"
#include "network/packet/ready.hpp"
#include "network/packet/scoreboard.hpp"
#include "network/packet/settings.hpp"
#include "network/packet/transmission.hpp"
#include "network/packet/wheel.hpp"

namespace yantra::packet {

enum class EventKind : u32 { sent, arrived, timer, begins, created, starts, samples, sweeps };
inline constexpr u32 event_index_bits = 28;
inline constexpr u32 event_index = (1u << event_index_bits) - 1;

constexpr u32 event(EventKind kind, u32 index) {
    return static_cast<u32>(kind) << event_index_bits | index;
}

template <class Tag>
constexpr u32 event(EventKind kind, Id<Tag> of) {
    return event(kind, of.index());
}

constexpr EventKind kind_of(u32 what) { return static_cast<EventKind>(what >> event_index_bits); }

// Kinds from `of_scheme` on are the congestion control's own.
enum class TimerKind : u32 { nic, pause_ends, retransmits, grants, of_scheme };

struct Timer {
    TimerKind kind = TimerKind::nic;
    u32 index = none;      // a port or a sender
    u32 own = 0;           // kind, of a scheme's
};

// In cache lines, by reader: a million flows do not fit in the cache.
struct alignas(64) Sender {
    // What a NIC looks at.
    u64 size = 0;
    u64 acknowledged = 0;      // bytes
    u64 next = 0;              // byte to be sent
    u64 next_available = 0;    // tick, by pacing
    u64 window_now = 0;        // bytes in force; 0 for none
    u64 rate = 0;              // bit/s
    u32 serial = 0;
    u32 data_route = 0;
    u32 retransmission = none; // timer
    u8 priority = 0;           // class of its packets
    u8 timeouts = 0;           // in a row, up to 255
    bool has_ended : 1 = true;
    bool is_open : 1 = true;   // it may send data
    bool was_looked_at : 1 = false;
    bool any_order : 1 = false;   // its receiver takes packets in any order, so it has a board
    bool is_sprayed : 1 = false;  // over `ways`
    bool is_steered : 1 = false;  // its packets choose at each device
    bool is_cut : 1 = false;      // all its ways are down: it waits, in no list
    bool data_is_all_ahead : 1 = false;
    bool resends_wait : 1 = false;   // for the window, as other packets do
    bool has_no_credit : 1 = false;

    u64 heard_at = 0;          // tick of its last progress, from which silence is counted
    u64 next_look = ~u64{0};   // tick from which a change of its rate is noted
    u64 elsewhere = 0;         // bytes before `next` that are not under way: arrived out of order, or known to be lost
    u64 line_rate = 0;
    LinksAhead data_ahead;     // behind the first link
    u32 resends = 0;           // its packets that are to be sent again
    PortId port;               // of its NIC
    u32 place = none;          // in its NIC's list; none: in no list
    u32 last_bytes = 0;        // of its last packet, with headers
    u32 seen = none;           // its row in Seen

    // What the receiver reads and writes.
    u64 expected = 0;
    u64 whole = 0;             // bytes
    u32 receives = 0;          // the serial, until all is acknowledged
    u32 board = none;          // if its receiver takes any order
    u32 ack_route = 0;
    PortId ack_port;
    LinksAhead ack_ahead;
    bool ack_is_all_ahead = false;
    u64 last_nack = 0;
    u64 nacks_again_at = 0;

    u64 window = 0;            // bytes; 0 for none
    u64 base_rtt = 0;          // ticks
    u64 silence = 0;           // ticks of silence that are a loss by the scheme; 0: it does not say
    u64 round_trip = 0;        // smoothed, and its mean deviation (RFC 6298); ticks
    u64 round_trip_varies = 0;
    u64 resent = 0;            // bytes
    u32 first_way = 0;         // of those over which its packets are sprayed; steered, their target
    u32 flow = none;           // as the caller numbers it
    u16 ways = 0;
    u16 data_links = 0;
    u16 order = 0;

    u64 left() const { return next < size ? size - next : 0; }
    u64 under_way() const { return next - acknowledged - (any_order ? elsewhere : 0); }
    bool is_blocked() const { return window_now != 0 && under_way() >= window_now; }
    bool can_send() const {
        return !has_no_credit &&
               ((next < size && !is_blocked()) || (any_order && resends != 0 && !(resends_wait && is_blocked())));
    }
};
static_assert(sizeof(Sender) == 4 * 64, "a sender is four lines of the cache");

// What an ACK reports.
struct Feedback {
    u64 acknowledged = 0;      // as it says; may be old
    u64 newly = 0;             // bytes newly known to have arrived
    u64 stamp = 0;             // tick at which the data was sent; of PINT, the power
    bool is_marked = false;
    bool is_nack = false;      // it reports a loss that was not known
    bool is_duplicate = false; // it reports nothing new, while data is under way
    std::span<const Telemetry> hops;
    u32 hop_count = 0;
};

class Seen;

class Senders {
public:
    explicit Senders(const Settings& settings)
        : settings(settings), transmission(settings.ticks_per_ns()), ticks_per_ns(settings.ticks_per_ns()) {}

    Sender& operator[](SenderId sender) { return senders_[sender]; }
    const Sender& operator[](SenderId sender) const { return senders_[sender]; }
    // Of a packet's `sender`: what its receiver has of it, in whatever part it began.
    const Sender& received_from(SenderId name) const {
        if (of_parts_.empty()) [[likely]] {
            return senders_[name];
        }
        return of_parts_[name.index() >> sender_bits][name.index() & ((1U << sender_bits) - 1)];
    }
    Sender& received_from(SenderId name) { return const_cast<Sender&>(std::as_const(*this).received_from(name)); }
    SenderId name_of(SenderId own) const { return SenderId(own.index() | part_ << sender_bits); }
    // Precondition: it began here.
    SenderId named(SenderId name) const { return SenderId(name.index() ^ part_ << sender_bits); }
    // Their places do not move, so that others may read them.
    Sender* reserve(u32 senders) { return senders_.reserve(senders); }
    void share(u32 part, std::vector<Sender*> of_parts) {
        part_ = part;
        of_parts_ = std::move(of_parts);
    }

    u64 now() const { return wheel.now(); }
    u64 ticks(double ns) const { return static_cast<u64>(ns * static_cast<double>(ticks_per_ns) + 0.5); }
    double ns(u64 ticks) const { return static_cast<double>(ticks) / static_cast<double>(ticks_per_ns); }

    u64 line_rate_of(LinkId link) const { return line_rates[link]; }
    // 0: the next serial.
    SenderId add(u32 serial = 0);
    void end(SenderId sender);
    Scoreboard& board(const Sender& sender) { return boards_[sender.board]; }
    // Whatever the window.
    void resend(SenderId sender, u64 sequence);
    // Doubled each time.
    void set_silence(SenderId sender, u64 ticks);
    // Unless the scheme sets a silence, this sets it (RFC 6298, section 2), at least to that of the
    // settings.
    void took(SenderId sender, u64 round_trip);
    u64 silence_of(const Sender& sender) const;
    u64 longest_silence() const { return longest_silence_; }
    u32 count() const { return static_cast<u32>(places_); }
    template <class Visit>
    void each_under_way(Visit&& visit) const {
        for (u32 at = 0; at < places_; ++at) {
            const SenderId sender(at);
            if (!senders_[sender].has_ended) {
                visit(senders_[sender].flow, sender);
            }
        }
    }

    u32& place_of(SenderId sender) { return senders_[sender].place; }
    void touch(SenderId sender) {
        const Sender& of = senders_[sender];
        if (of.place != none) {
            ready[of.port].set(of.place);
        }
    }

    // The present pause is not changed.
    void set_rate(SenderId sender, u64 rate);
    void change_rate(SenderId sender, u64 rate);
    void set_window(SenderId sender, u64 bytes);

    u32 start_timer(TimerKind kind, u32 index, u64 delay, u32 own = 0);
    template <class Tag>
    u32 start_timer(TimerKind kind, Id<Tag> of, u64 delay, u32 own = 0) {
        return start_timer(kind, of.index(), delay, own);
    }
    void stop_timer(u32& timer) { timers_.stop(timer); }
    // Nothing if it was stopped.
    std::optional<Timer> expire_timer(u32 timer) { return timers_.expire(timer); }

    // Null if it was stopped.
    const Timer* running(u32 timer) const { return timers_.running(timer); }

    void wake(PortId port, u64 tick);

    const Settings& settings;
    const Transmission transmission;
    const u64 ticks_per_ns;
    Wheel wheel;
    IdVector<PortId, Ready> ready;       // by port: the senders of its NIC to look at
    IdVector<LinkId, u64> line_rates;
    IdVector<PortId, u32> wake_timers;
    IdVector<PortId, u64> wake_ticks;
    Seen* seen = nullptr;           // records changes of rates

private:
    u64 window_at(const Sender& sender) const;
    void look(Sender& sender);

    IdPool<SenderId, Sender, Freed::readable> senders_;   // serials
    Timers<Timer> timers_;
    Pool<Scoreboard> boards_;
    u64 longest_silence_ = 0;
    std::size_t places_ = 0;
    u32 serials_ = 0;
    u32 part_ = 0;
    std::vector<Sender*> of_parts_;   // where each begins; empty: there is one
};

}  // namespace yantra::packet
