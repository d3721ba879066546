// Messages are reported in one order only where a log of all that happened says so.
#include "fold/runtime/send_order.hpp"

#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;
using Packet = SendOrder::Packet;

constexpr u32 actors = 2;
constexpr u32 chunks_each = 3;

struct Change {
    u32 actor;
    u64 tick;
    u64 event;
    u64 at;         // among all calls
};
struct Start {
    u64 tick = ~u64{0};
    u64 at = 0;
};
struct HandedOver {
    Packet packet;
    Start start;    // of its phase
    u64 at;
};
struct Sender {
    u32 actor;
    bool is_chunk;
    u64 name;
    bool on_time = false;
    Packet packet = {};
};

class SlowOrder {
public:
    bool actor_changes(u32 actor, u64 tick, u64 event) {
        const u64 first = first_event(actor, tick, event);
        changes_.push_back({actor, tick, event, ++now_});
        return first == event || !relied_on_[actor] || relied_in_ != tick;
    }
    void phase_starts(u32 chunk, u64 tick) {
        waiting_[chunk].clear();
        started_[chunk] = {tick, ++now_};
    }
    void hand_over(u32 chunk, const Packet& packet) {
        waiting_[chunk].push_back({packet, started_[chunk], ++now_});
    }
    Sender chunk_sends(u32 actor, u64 tick, u32 chunk, u64 name) {
        std::vector<HandedOver>& waiting = waiting_[chunk];
        Sender sender{actor, true, name};
        if (waiting.empty()) {
            return sender;
        }
        sender.packet = known(actor, waiting.front());
        sender.on_time = sender.packet.due == tick;
        for (const HandedOver& other : waiting) {
            sender.on_time &= other.packet.due > tick || known(actor, other) == sender.packet;
        }
        waiting.erase(waiting.begin());
        return sender;
    }
    bool in_one_order(const Sender& a, const Sender& b, u64 tick) {
        if (a.is_chunk == b.is_chunk && a.name == b.name) {
            return true;
        }
        const Packet& p = a.packet;
        const Packet& q = b.packet;
        if (!a.on_time || !b.on_time || p.registered != q.registered) {
            return a.on_time && b.on_time;
        }
        if (p.reduced != q.reduced || p.handed_over != q.handed_over) {
            return p.reduced == q.reduced;
        }
        if (p.handed_over == tick && first_event(a.actor, tick) != none_yet) {
            if (relied_in_ != tick) {
                relied_on_.assign(actors, false);
            }
            relied_in_ = tick;
            relied_on_[a.actor] = true;
        }
        return p.event == q.event && p.event != SendOrder::unknown;
    }

private:
    static constexpr u64 none_yet = ~u64{0} - 1;

    u64 first_event(u32 actor, u64 tick, u64 otherwise = none_yet) const {
        for (const Change& change : changes_) {
            if (change.actor == actor && change.tick == tick) {
                return change.event;
            }
        }
        return otherwise;
    }
    Packet known(u32 actor, const HandedOver& handed) const {
        Packet packet = handed.packet;
        const u64 tick = packet.handed_over;
        bool changed_before_start = false;
        for (const Change& change : changes_) {
            if (change.actor == actor && change.tick == tick) {
                const bool starts_in_it = handed.start.tick == tick && changed_before_start;
                const bool other = change.event != first_event(actor, tick);
                if (other && (change.at < handed.at || starts_in_it)) {
                    packet.event = SendOrder::unknown;
                }
                changed_before_start |= change.at < handed.start.at;
            }
        }
        return packet;
    }

    u64 now_ = 0;
    std::vector<Change> changes_;
    std::vector<Start> started_ = std::vector<Start>(actors * chunks_each);
    std::vector<std::vector<HandedOver>> waiting_ =
        std::vector<std::vector<HandedOver>>(actors * chunks_each);
    std::vector<bool> relied_on_ = std::vector<bool>(actors);
    u64 relied_in_ = SendOrder::unknown;
};

class Both {
public:
    explicit Both(u32 seed) : random_(seed) {
        for (u32 chunk = 0; chunk < actors * chunks_each; ++chunk) {
            start(chunk);
        }
    }

    void step(u64 step) {
        event_ += random_.one_in(6) ? 1 : 0;
        if (random_.one_in(10)) {
            ++tick_;
            senders_.clear();
        }
        const u32 actor = static_cast<u32>(random_.below(actors));
        const u32 chunk = actor * chunks_each + static_cast<u32>(random_.below(chunks_each));
        switch (random_.below(12)) {
            case 0: change(actor, step); break;
            case 1: start(chunk); break;
            case 2: hand_over(actor, chunk); break;
            case 3: hand_over_all(actor); break;
            case 4: add({actor, false, event_}, fast_.node_sends(actor, tick_, event_), step); break;
            default:
                add(slow_.chunk_sends(actor, tick_, chunk, chunk % 4),
                    fast_.chunk_sends(actor, tick_, chunk, chunk % 4), step);
        }
    }
    u64 in_order = 0;
    u64 open = 0;

private:
    void change(u32 actor, u64 step) {
        const bool sure = slow_.actor_changes(actor, tick_, event_);
        check(fast_.actor_changes(actor, tick_, event_) == sure, "an order that was relied on", step);
    }
    void start(u32 chunk) {
        slow_.phase_starts(chunk, tick_);
        fast_.phase_starts(chunk / chunks_each, tick_, chunk);
    }
    void hand_over(u32 actor, u32 chunk) {
        Packet packet{event_, tick_, tick_, tick_ + random_.below(2), random_.one_in(8)};
        packet.registered = packet.reduced ? packet.due : tick_;
        packet.due += packet.reduced ? random_.below(2) : 0;
        slow_.hand_over(chunk, packet);
        fast_.hand_over(actor, chunk, packet);
    }
    void hand_over_all(u32 actor) {
        for (u32 at = 0; at < chunks_each; ++at) {
            hand_over(actor, actor * chunks_each + at);
        }
    }
    void add(const Sender& sender, u64 number, u64 step) {
        check(number == senders_.size(), "senders of a tick are numbered from 0", step);
        senders_.push_back(sender);
        const u64 other = random_.below(senders_.size());
        const Sender& a = senders_[other];
        if (a.actor == sender.actor) {
            const bool expected = slow_.in_one_order(a, sender, tick_);
            check(fast_.in_one_order(other, number) == expected, "the order of two messages", step);
            const Packet& p = a.packet;
            const Packet& q = sender.packet;
            if (a.on_time && sender.on_time && a.name != sender.name && p.registered == q.registered &&
                p.handed_over == q.handed_over && p.reduced == q.reduced) {
                ++(expected ? in_order : open);
            }
        }
    }

    test::Random random_;
    SendOrder fast_{actors};
    SlowOrder slow_;
    std::vector<Sender> senders_;   // of the tick
    u64 tick_ = 0;
    u64 event_ = 0;
};

}  // namespace

int main() {
    u64 in_order = 0;
    u64 open = 0;
    for (u32 seed = 0; seed < 20'000; ++seed) {
        Both both(seed);
        for (u64 step = 0; step < 60; ++step) {
            both.step(step);
        }
        in_order += both.in_order;
        open += both.open;
    }
    check(in_order > 500 && open > 100, "too few messages were compared", in_order);
}
