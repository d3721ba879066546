// Simulator: packets over switches with shared buffers, from NICs with a queue pair for each message.
//
// The rules are those of the ns-3 fork of the HPCC authors (Li et al., "HPCC: High precision congestion control",
// SIGCOMM 2019, and its published simulator), in docs/concepts/packet-network.md; what the fork does wrong is a quirk
// (network/packet/settings.hpp). It has a clock of its own, so it runs alone or beside an engine that asks when its
// next event is. Two events a packet and hop; memory is that of ports, flows and packets under way.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/vector.hpp"
#include "engine/rng.hpp"
#include "network/packet/congestion_control.hpp"
#include "network/packet/nic.hpp"
#include "network/packet/packet.hpp"
#include "network/packet/port.hpp"
#include "network/packet/queue_discipline.hpp"
#include "network/packet/seen.hpp"
#include "network/packet/sender.hpp"
#include "network/packet/settings.hpp"
#include "network/packet/shared_buffer.hpp"

namespace yantra::packet {

// Who wants to know of flows.
class Observer {
public:
    // The receiver has all of it.
    virtual void received(u32 flow) = 0;
    // The sender has the last ACK.
    virtual void completed(u32 flow) = 0;
    // A data packet of it holds a link between two ticks; only with `tells_crossings`.
    virtual void crosses(u32 /*flow*/, u32 /*link*/, u64 /*start*/, u64 /*end*/, u32 /*payload*/) {}

protected:
    ~Observer() = default;
};

struct FlowSpec {
    u32 flow = none;       // the caller's number
    u64 bytes = 0;
    u32 data_route = 0;
    u32 ack_route = 0;
    u32 first_way = 0;     // of add_ways(), if its packets are sprayed; ACKs take one way
    u32 ways = 0;
    u32 source = none;     // the caller's numbers of its ends
    u32 destination = none;
    u32 seen = none;       // its row in Seen; set by send()
    u16 order = 0;         // the least goes first of those whose packets come to a queue in one tick; of equal ones, any
};

// Why a run cannot go on.
struct Stuck {
    Vector<u32> cycle;     // links whose ports pause each other; else
    u64 drops = 0;              // since a byte was acknowledged last: packets are lost again and again; else
    u32 flow = none;            // one that waits for ever,
    u64 acknowledged = 0;       // and what of it was acknowledged
    u64 bytes = 0;
    u32 dropped_on = none;      // the link behind which most are dropped
    u64 since = 0;              // tick of the last progress
    u32 flows = 0;              // that have not ended
};

// What links that went down took with them.
struct Lost {
    u64 packets = 0;   // of data
    u64 bytes = 0;     // of their payload, which is sent again
};

class Simulator {
public:
    // std::invalid_argument for settings that cannot be, with the number that could.
    Simulator(const FabricSpec& fabric, const Settings& settings, Observer& observer);
    Simulator(const Simulator&) = delete;
    Simulator& operator=(const Simulator&) = delete;
    ~Simulator();

    // Remembers links one behind the other, for as many flows as one likes.
    u32 add_route(std::span<const u32> links);
    // Its links. No longer good when another is added.
    std::span<const u32> route(u32 number) const;
    u32 way(u32 number) const { return ways_[number]; }
    // Remembers routes over which packets of one message may be sprayed, which all begin with one link. Returns the
    // number of the first. std::invalid_argument where receivers take packets in order alone.
    u32 add_ways(std::span<const u32> routes);
    // Sends at a tick, not before now.
    void send(const FlowSpec& flow, u64 tick);

    // Notes the bytes that wait at a port at every multiple of `every` ticks, as long as flows are under way.
    void sample(u32 link, u64 every, Vector<u64>& into);

    bool empty() const { return at_once_done_ == at_once_.size() && senders_.wheel.empty(); }
    u64 now() const { return senders_.now(); }
    u64 next_time() const { return at_once_done_ < at_once_.size() ? now() : senders_.wheel.next_time(); }
    void advance_to(u64 tick) { senders_.wheel.advance_to(tick); }
    // The same for a tick that may be past.
    void pass_to(u64 tick) {
        if (tick > now()) {
            advance_to(tick);
        }
    }
    // Handles the next event. Precondition: not empty().
    void step();
    u64 events() const { return senders_.wheel.processed(); }

    // Of flows of which some have not ended, with no event left or no progress for long.
    std::optional<Stuck> stuck() const;

    const HugeVector<Port>& ports() const { return ports_; }
    const Totals& totals() const { return totals_; }
    u32 flows_under_way() const { return active_; }
    const Senders& senders() const { return senders_; }
    // What a flow over a route, and ACKs over another, has as round trip (ticks) and window (bytes).
    u64 base_rtt(u32 data_route) const;
    u64 latency(u32 route) const;
    u64 window_of(u32 data_route) const;
    // What there is to look at when a run is over, with all that is known by now.
    std::shared_ptr<const Seen> seen();
    // How long a link carried something; what crossed it after note_end() is left out, until more is sent.
    u64 busy_ticks(u32 link) const { return busy_at_end_.empty() ? ports_[link].busy_ticks : busy_at_end_[link]; }
    void note_end(u64 tick);
    // A message crosses a link by formula, from a tick on.
    void crosses_by_formula(u32 link, u64 bytes, u64 tick);

    // Of failing.cpp: links that fail or change their rate, where flows have a timer.
    // From now on; 0: it is down. What waits for it and is on it then is lost.
    void change_link(u32 link, u64 bits_per_s);
    // To be called before the first flow, for each rate that a link will have; 0: it will be down.
    // std::invalid_argument for one that it could not have.
    void allow_rate(u64 bits_per_s) {
        table_of(bits_per_s);
        can_lose_ = true;
    }
    // Calls visit(flow, sender) for each that has begun and has not ended.
    template <class Visit>
    void each_under_way(Visit&& visit) const;
    // Packets, answers and what is sent again go these ways from now on; a sender that was cut begins again.
    void take_ways(u32 sender, const FlowSpec& ways);
    // It has no way: it sends nothing until it has.
    void cut(u32 sender);
    bool is_cut(u32 sender) const { return senders_[sender].is_cut; }
    u32 cut_senders() const { return cut_; }
    // Its ways are up again: what is not acknowledged is sent again.
    void go_on_again(u32 sender);
    const Lost& lost() const { return lost_; }

    u64 buffer_used(u32 device) const { return buffers_[device].used; }

private:
    // Of simulator.cpp.
    void add_ports(const FabricSpec& fabric);
    void add_queues();
    void add_buffers(const FabricSpec& fabric);
    void check_buffer(const std::string& name, u32 ports, u64 buffer, u64 needed) const;
    void add_buffer(const FabricSpec& fabric, u32 device, const Vector<u32>& incoming);
    u32 table_of(u64 bits_per_s);
    void start(u32 spec);
    void fire(u32 timer);
    u32 take_packet();
    u32 next_event();
    struct Ahead;
    void note_sample();
    void begin_sweeps();
    void sweep();
    u64 alone(const FlowSpec& flow) const;

    // Of tick_order.cpp.
    u32 first_of_tick(u32 what);
    void put_in_order(EventKind kind);
    u16 order_of(EventKind kind, u32 index) const;

    // Of failing.cpp.
    void flush(u32 port);
    void leave_unsent(u32 port, u32 packet);
    void lose(u32 packet);
    void set_ways(Sender& sender, const FlowSpec& ways);

    // Of switching.cpp.
    void transmit(u32 port);
    void transmit_host(u32 port);
    void begin_transmission(u32 port, u32 packet);
    u64 ticks_of(const Port& port, u32 bytes) const;
    void is_busy_by_formula(Port& port, u64 since, u64 ticks);
    void look(u32 port);
    void note(u32 port);
    void enqueue(u32 port, u32 packet, PacketQueue& queue);
    void depart(u32 port, u32 packet);
    bool draws_mark(const Port& port, u32 number, const Packet& packet);
    double draw(u32 number, const Packet& packet, u64 state);
    void write_telemetry(u32 port, u32 packet);
    void write_power(Port& port, Packet& packet);
    void arrive(u32 packet);
    bool read_route(u32 route, LinksAhead& into) const;
    void read_on(Packet& packet) const;
    bool has_next_link(Packet& packet) const;
    void forward(u32 packet);
    void send_pause(u32 port, PacketKind kind);
    void obey(u32 port, PacketKind kind);
    void end_pause(u32 port);
    bool is_control(const Packet& packet, bool at_host) const;

    // Of ends.cpp.
    u32 next_packet(u32 sender);
    void receive_data(u32 packet);
    void answer(Sender& to, u32 packet, PacketKind kind, u32 beyond = none);
    void connect(u32 sender);
    void receive_opening(u32 packet);
    void go_on(u32 sender, u64 asked_at);
    void receive_ack(u32 packet);
    void complete(u32 sender);
    void expect_answer(u32 sender);
    void time_out(u32 sender);
    void lose_under_way(u32 sender);
    void begins_to_lose();

    // Of recovery.cpp.
    void receive_in_any_order(u32 packet);
    u64 note_answer(Sender& sender, const Packet& answer);
    bool find_lost(u32 sender);
    void lose_all(u32 sender);
    u64 next_lost(Sender& sender);
    u32 next_way(Sender& sender);

    // Of diagnosis.cpp.
    Vector<u32> pause_cycle() const;
    bool follow(u32 port, Vector<u8>& seen, Vector<u32>& path) const;
    bool holds(u32 port, u32 from) const;

    const Settings settings_;
    Observer& observer_;
    std::shared_ptr<Seen> seen_;
    Senders senders_;
    const Scheme* scheme_ = nullptr;
    std::unique_ptr<CongestionControl> control_;
    HugeVector<Port> ports_;              // by link
    Vector<Vector<u32>> ports_of_;   // by device: those that leave it
    std::vector<bool> is_host_;
    Vector<std::unique_ptr<QueueDiscipline>> queues_;   // by link, of switches; none for plain lists
    Vector<SharedBuffer> buffers_;    // by device
    Vector<Nic> nics_;
    Pool<Packet> packets_;
    u32 packets_made_ = 0;
    bool fetches_ = false;                 // what events will read, ahead of their time
    Vector<Vector<u32>> tables_; // transmission times, by rate, by bytes
    Vector<u64> table_rates_;
    Vector<u32> ways_;                // routes to spray over
    HugeVector<u32> routes_;              // links, each route ended by none
    HugeVector<Telemetry> telemetry_;     // by packet, `telemetry_hops_` of each
    u32 telemetry_hops_ = 5;
    u32 most_links_ = 0;
    Pool<FlowSpec> waiting_;               // flows to be sent
    Vector<Rng> random_;              // by port
    Totals totals_;
    u32 data_header_ = 36;
    u32 ack_bytes_ = 48;
    u32 active_ = 0;
    u32 unfinished_ = 0;                   // sent, and not ended
    u32 sampled_ = none;                   // link
    u64 sample_every_ = 0;
    Vector<u64>* samples_ = nullptr;
    bool can_lose_ = false;                // packets: else silence is no loss
    bool sweeps_ = false;                  // the next sweep is to come
    u64 last_progress_ = 0;
    u64 drops_at_progress_ = 0;
    u64 largest_rtt_ = 0;
    u64 largest_window_ = 0;
    bool links_change_ = false;            // some has
    u32 cut_ = 0;                          // senders
    Lost lost_;
    Vector<u64> busy_at_end_;              // by link
    Vector<u32> at_once_;                  // events of this tick, in their order
    std::size_t at_once_done_ = 0;
    Vector<u64> in_order_;
};

template <class Visit>
void Simulator::each_under_way(Visit&& visit) const {
    for (u32 sender = 0; sender < senders_.count(); ++sender) {
        if (!senders_[sender].has_ended) {
            visit(senders_[sender].flow, sender);
        }
    }
}

}  // namespace yantra::packet
