// Simulator: messages of nodes over a network on chip, flit by flit, a cycle at a time.
//
// A node has a queue without end. What it sends is cut into packets of at most `packet_flits` and goes in the order of
// sending, a flit a cycle, each packet on a VC of its own, in turn. What reaches a node is taken at once. Trade-off: a
// cycle costs for every flit that moves or waits for one, so it is for some thousands of nodes and some millions of
// cycles; cycles in which nothing moves cost nothing.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/types.hpp"
#include "base/vector.hpp"
#include "network/noc/channels.hpp"
#include "network/noc/packet.hpp"
#include "network/noc/settings.hpp"
#include "network/noc/shape.hpp"

namespace yantra::noc {

// Who is told of packets.
class Observer {
public:
    Observer() = default;
    Observer(const Observer&) = delete;
    Observer& operator=(const Observer&) = delete;
    virtual ~Observer() = default;

    // In now(), with its last flit at its destination.
    virtual void arrived(const Packet& packet) = 0;
    // The last flit of what was sent with a tag has left its node.
    virtual void departed(u32 /*tag*/) {}
};

// Flits that wait for each other: the ports whose buffers they fill, each waiting for the next one and the last for the
// first; or, where nothing moves and no circle was found, those that one waits for.
struct Stuck {
    u64 flits = 0;
    u64 cycles = 0;                  // for which the oldest has not moved
    bool is_circle = false;
    Vector<std::string> ports;
};

class Simulator {
public:
    // Throws std::invalid_argument, naming what is wrong.
    Simulator(const Settings& settings, Observer& observer);

    const Shape& shape() const { return shape_; }
    const Channels& channels() const { return channels_; }
    Channels& channels() { return channels_; }
    u64 now() const { return channels_.now(); }

    // Flits of a node to another, or to itself, that are there from cycle `created` on. Precondition: created <= now().
    void send(u32 source, u32 destination, u64 flits, u32 tag, u64 created);
    // Whether nothing of a node waits to leave it.
    bool source_is_empty(u32 node) const { return sources_[node].messages.empty(); }
    // Nothing is on its way or waits.
    bool is_idle() const { return busy_sources_.empty() && channels_.is_empty(); }

    // One cycle. Throws Unsupported if flits wait for each other for ever.
    void step();
    // Moves the clock. Precondition: is_idle().
    void idle_until(u64 cycle);

    // Flits that wait for each other, if so.
    std::optional<Stuck> stuck() const;

    u64 flits_arrived() const { return flits_arrived_; }
    // Of flits that are sent or that their node begins to send, and have not arrived, and the sum of when their packets
    // were created.
    u64 flits_under_way() const { return flits_under_way_; }
    u64 created_under_way() const { return created_under_way_; }

    // The cycles that a packet of so many flits takes between nodes if nothing is in its way, and no credit is late.
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
        u32 packet = none;      // that is being sent
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
    u32 oldest_input(u64& waited) const;
    u32 blocker(u32 vc_index) const;
    std::string port_name(u32 port_index) const;

    Shape shape_;
    const u32 packet_flits_;
    const RouterTimes times_;
    Observer& observer_;
    Channels channels_;
    std::unique_ptr<Router> router_;
    Vector<Source> sources_;
    Vector<u32> busy_sources_;
    u64 flits_arrived_ = 0;
    u64 flits_under_way_ = 0;
    u64 created_under_way_ = 0;
};

}  // namespace yantra::noc
