// What a run records (network/packet/seen.hpp), and why flows do not end.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "network/packet/common.hpp"
#include "network/packet/queues.hpp"

namespace yantra::packet {

// Flows and links as the caller numbers them.
struct Stuck {
    std::vector<u32> cycle;          // links whose ports pause each other; else
    u64 drops = 0;              // since the last acknowledged byte: packets are lost again and again; else
    u32 flow = none;            // a flow that waits for ever,
    u64 acknowledged = 0;       // and how much of it was acknowledged
    u64 bytes = 0;
    u32 dropped_on = none;      // the link after which most are dropped
    u64 since = 0;              // tick of the last progress
    u32 flows = 0;              // that have not ended
};

class Watch {
public:
    Watch(Common& all, const Queues& queues);

    [[gnu::always_inline]] void look(PortId port) {
        if (all_.now() >= all_.ports[port].next_look) [[unlikely]] {
            note(port);
        }
    }

    void is_sent(FlowSpec& flow, u64 tick);
    void begins(Sender& sender);
    void has_arrived(const Sender& sender) { seen_->arrived(sender, all_.now()); }
    void has_completed(Sender& sender) { seen_->completed(sender, all_.now()); }

    // While flows are under way.
    void sample(LinkId link, u64 every, std::vector<u64>& into);
    void note_sample();
    void sweep();

    std::shared_ptr<const Seen> seen();
    // Of several simulators.
    std::shared_ptr<const Seen> seen(const HugeVector<Port>& ports, const Totals& totals, u64 now,
                                     const std::vector<u64>& busy_ticks);
    // By link: how long they were busy up to then.
    std::vector<u64> busy_at(u64 tick, const HugeVector<Port>& ports) const;
    // What crosses it after note_end() is left out, until more is sent.
    const std::vector<u64>& busy_at_end() const { return busy_at_end_; }   // by link, or empty
    void note_end(u64 tick) { busy_at_end_ = busy_at(tick, all_.ports.all()); }
    void goes_on() { busy_at_end_.clear(); }

    std::optional<Stuck> stuck(bool has_events) const;

private:
    [[gnu::noinline]] void note(PortId port);
    u64 sweep_ticks() const;
    void begin_sweeps();

    // In diagnosis.cpp.
    std::vector<PortId> pause_cycle() const;
    bool follow(PortId port, IdVector<PortId, u8>& met, std::vector<PortId>& path) const;
    bool holds(PortId port, LinkId from) const;

    Common& all_;
    const Queues& queues_;
    const std::shared_ptr<Seen> seen_;
    LinkId sampled_;
    u64 sample_every_ = 0;
    std::vector<u64>* samples_ = nullptr;
    bool sweeps_ = false;           // a sweep is scheduled
    std::vector<u64> busy_at_end_;       // by link
};

}  // namespace yantra::packet
