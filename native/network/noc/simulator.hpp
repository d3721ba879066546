// Simulator: messages between nodes over a network on chip, flit by flit, cycle by cycle, in
// packets of at most `packet_flits`. Trade-off: every flit that moves or waits costs each cycle;
// idle cycles are free.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "network/noc/channels.hpp"
#include "network/noc/packet.hpp"
#include "network/noc/settings.hpp"
#include "network/noc/shape.hpp"

namespace yantra::noc {

class Observer {
public:
    Observer() = default;
    Observer(const Observer&) = delete;
    Observer& operator=(const Observer&) = delete;
    virtual ~Observer() = default;

    // In now(), with its last flit.
    virtual void arrived(const Packet& packet) = 0;
    virtual void departed(u32 /*tag*/) {}
};

// Ports with full buffers, each waiting for the next; or, without a circle, the chain of one.
struct Stuck {
    u64 flits = 0;
    u64 cycles = 0;                  // since the oldest moved
    bool is_circle = false;
    std::vector<std::string> ports;
};

class Simulator {
public:
    // Throws std::invalid_argument with the reason.
    Simulator(const Settings& settings, Observer& observer);

    const Shape& shape() const { return shape_; }
    const Channels& channels() const { return channels_; }
    Channels& channels() { return channels_; }
    u64 now() const { return channels_.now(); }

    // Precondition: created <= now().
    void send(u32 source, u32 destination, u64 flits, u32 tag, u64 created);
    bool source_is_empty(u32 node) const { return sources_[node].messages.empty(); }
    bool is_idle() const { return busy_sources_.empty() && channels_.is_empty(); }

    // Throws Unsupported for a deadlock.
    void step();
    // Precondition: is_idle().
    void idle_until(u64 cycle);

    std::optional<Stuck> stuck() const;

    u64 flits_arrived() const { return flits_arrived_; }
    u64 flits_under_way() const { return flits_under_way_; }
    u64 created_under_way() const { return created_under_way_; }

    // Uncontended, with no credit late.
    u64 alone_cycles(u32 source, u32 destination, u64 flits) const;

private:
    struct Message {
        u32 destination;
        u32 tag;
        u64 flits_left;   // without those of the packet under way
        u64 created;
    };
    struct Source {
        std::deque<Message> messages;
        PacketId packet;        // being sent
        u32 flits_left = 0;     // of it
        u32 vc = none;          // of it; before, of the one before
        bool has_vc = false;
        bool is_busy = false;
    };

    void step_source(u32 node, Source& source);
    bool find_vc(u32 node, Source& source);
    void begin_packet(u32 node, Source& source);
    void eject(u32 node, Flit flit);
    void check_progress();
    VcId oldest_input(u64& waited) const;
    VcId blocker(VcId vc) const;
    std::string port_name(PortId of) const;

    Shape shape_;
    const u32 packet_flits_;
    const RouterTimes times_;
    Observer& observer_;
    Channels channels_;
    std::unique_ptr<Router> router_;
    std::vector<Source> sources_;
    std::vector<u32> busy_sources_;
    u64 flits_arrived_ = 0;
    u64 flits_under_way_ = 0;
    u64 created_under_way_ = 0;
};

}  // namespace yantra::noc
