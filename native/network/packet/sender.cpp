#include "network/packet/sender.hpp"

#include <algorithm>

#include "network/packet/seen.hpp"

namespace yantra::packet {

SenderId Senders::add(u32 serial) {
    const SenderId made = senders_.take_as_left();
    places_ = std::max(places_, std::size_t{made.index()} + 1);
    Sender& sender = senders_[made];
    sender = Sender{};
    if (settings.recovery != RecoveryKind::go_back_n) {
        sender.any_order = true;
        sender.resends_wait = settings.trims;
        sender.board = boards_.take_as_left();
        boards_[sender.board].clear();
    }
    sender.serial = sender.receives = serial != 0 ? serial : ++serials_;
    sender.has_ended = false;
    return made;
}

void Senders::end(SenderId number) {
    Sender& sender = senders_[number];
    if (sender.any_order) {
        boards_.give_back(sender.board);
        sender.any_order = false;
    }
    sender.place = none;
    senders_.give_back(number);
}

void Senders::resend(SenderId number, u64 sequence) {
    Sender& sender = senders_[number];
    Scoreboard& board = boards_[sender.board];
    if (board.add_lost(sequence)) {
        sender.resent += std::min<u64>(settings.payload_bytes, sender.size - sequence);
        sender.resends = static_cast<u32>(board.lost.size());
        touch(number);
    }
}

void Senders::set_silence(SenderId sender, u64 ticks) {
    senders_[sender].silence = ticks;
    longest_silence_ = std::max(longest_silence_, ticks);
}

void Senders::took(SenderId number, u64 round_trip) {
    Sender& sender = senders_[number];
    if (sender.round_trip == 0) {
        sender.round_trip = round_trip;
        sender.round_trip_varies = round_trip / 2;
    } else {
        const u64 apart = std::max(sender.round_trip, round_trip) - std::min(sender.round_trip, round_trip);
        sender.round_trip_varies = (3 * sender.round_trip_varies + apart) / 4;
        sender.round_trip = (7 * sender.round_trip + round_trip) / 8;
    }
    longest_silence_ = std::max(longest_silence_, sender.round_trip + 4 * sender.round_trip_varies);
}

u64 Senders::silence_of(const Sender& sender) const {
    const u64 measured = sender.round_trip + 4 * sender.round_trip_varies;
    const u64 once = sender.silence != 0 ? sender.silence : std::max(ticks(settings.retransmission_ns), measured);
    return once << std::min<u32>(sender.timeouts, 6);
}

u64 Senders::window_at(const Sender& sender) const {
    if (!settings.variable_window || sender.window == 0) {
        return sender.window;
    }
    const auto scaled = static_cast<unsigned __int128>(sender.window) * sender.rate / sender.line_rate;
    return std::max<u64>(static_cast<u64>(scaled), 1);
}

void Senders::look(Sender& sender) {
    if (now() >= sender.next_look) {
        seen->note(sender, now());
    }
}

void Senders::set_window(SenderId number, u64 bytes) {
    Sender& sender = senders_[number];
    look(sender);
    sender.window_now = bytes;
    touch(number);
}

void Senders::set_rate(SenderId number, u64 rate) {
    Sender& sender = senders_[number];
    look(sender);
    sender.rate = rate;
    sender.window_now = window_at(sender);
    touch(number);
}

void Senders::change_rate(SenderId number, u64 rate) {
    Sender& sender = senders_[number];
    const u64 before = transmission.ticks(sender.last_bytes, sender.rate);
    const u64 after = transmission.ticks(sender.last_bytes, rate);
    const u64 available = sender.next_available + after;
    sender.next_available = available > before ? available - before : 0;
    const PortId port = sender.port;
    if (wake_timers[port] != none && sender.next_available < wake_ticks[port]) {
        stop_timer(wake_timers[port]);
        wake(port, std::max(sender.next_available, now()));
    }
    set_rate(number, rate);
}

u32 Senders::start_timer(TimerKind kind, u32 index, u64 delay, u32 own) {
    const u32 timer = timers_.set({kind, index, own});
    wheel.schedule(now() + delay, event(EventKind::timer, timer));
    return timer;
}

void Senders::wake(PortId port, u64 tick) {
    if (wake_timers[port] == none) {
        wake_timers[port] = start_timer(TimerKind::nic, port, tick - now());
        wake_ticks[port] = tick;
    }
}

}  // namespace yantra::packet
