// Simulator: packets over switches with shared buffers, from NICs with a queue pair for each
// message, by the rules of the HPCC authors' ns-3 fork (Li et al., SIGCOMM 2019;
// docs/concepts/packet-network.md); its faults are quirks. Two events a packet and hop.
#pragma once

#include <span>

#include "network/packet/common.hpp"
#include "network/packet/faults.hpp"
#include "network/packet/hosts.hpp"
#include "network/packet/queues.hpp"
#include "network/packet/recovery.hpp"
#include "network/packet/state.hpp"
#include "network/packet/steering.hpp"
#include "network/packet/switches.hpp"
#include "network/packet/tick_order.hpp"
#include "network/packet/transmitter.hpp"
#include "network/packet/watch.hpp"

namespace yantra::packet {

class Simulator {
public:
    // Throws std::invalid_argument for impossible settings.
    Simulator(const FabricSpec& fabric, const Settings& settings, Observer& observer, const Part& part = {});
    Simulator(const Simulator&) = delete;
    Simulator& operator=(const Simulator&) = delete;

    u32 add_route(std::span<const u32> links);
    // All begin with one link. Returns the number of the first. Throws std::invalid_argument if
    // receivers take packets only in order.
    u32 add_ways(std::span<const u32> routes);
    // Packets may choose at each device. Throws as add_ways().
    Steering& steer_by(Chooser& chooser);
    const Routes& routes() const { return all_.routes; }
    std::shared_ptr<Routes> shared_routes() const { return all_.all_routes; }
    // Precondition: `tick` is not before now.
    void send(const FlowSpec& flow, u64 tick) { hosts_.send(flow, tick); }
    void crosses_by_formula(LinkId link, u64 bytes, u64 tick) { transmitter_.crosses_by_formula(link, bytes, tick); }

    // The least of those sent in a tick begins first.
    u64 place_of(const FlowSpec& flow) const { return hosts_.place_of(flow); }
    bool empty() const { return at_once_.empty() && all_.senders.wheel.empty(); }
    u64 now() const { return all_.now(); }
    u64 next_time() const { return at_once_.empty() ? all_.senders.wheel.next_time() : now(); }
    void advance_to(u64 tick) { all_.senders.wheel.advance_to(tick); }
    void pass_to(u64 tick) {
        if (tick > now()) {
            advance_to(tick);
        }
    }
    // Precondition: not empty().
    void step();
    // All that is before it.
    void run_before(u64 tick);
    Begun& begun() { return all_.begun; }
    // As many as the longest route has.
    void keep_hops();
    // From another part. Precondition: none is before now.
    void take_in(const Crossings& come);
    Border& border() { return all_.border; }
    u64 events() const { return all_.senders.wheel.processed(); }

    const HugeVector<Port>& ports() const { return all_.ports.all(); }
    const Senders& senders() const { return all_.senders; }
    Senders& senders() { return all_.senders; }
    const Totals& totals() const { return all_.totals; }
    u32 flows_under_way() const { return all_.progress.active; }
    u64 last_heard() const { return all_.progress.last; }
    u64 buffer_sharable(u32 device) const { return switches_.buffer_sharable(device); }
    // No event left, or no progress for long.
    std::optional<Stuck> stuck() const { return watch_.stuck(!empty()); }

    Watch& watch() { return watch_; }
    const Watch& watch() const { return watch_; }
    State& state() { return state_; }
    Faults& faults() { return faults_; }
    const Faults& faults() const { return faults_; }

private:
    struct Ahead;

    u32 next_event();
    u32 first_of_tick(u32 what);
    void arrive(PacketId packet);
    void fire(u32 timer);

    Common all_;
    Steering steering_;
    Queues queues_;
    Watch watch_;
    Transmitter transmitter_;
    Switches switches_;
    Hosts hosts_;
    Recovery recovery_;
    Faults faults_;
    State state_;
    TickOrder at_once_;
};

// As they begin, so that two orders of sending are one.
void put_in_order(std::span<FlowSpec> sent, const Simulator& simulator);

}  // namespace yantra::packet
