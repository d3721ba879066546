// Two states that differ in one part have two hashes; moved in time, and with other flow numbers, a
// state has the same.
#include "network/packet/state.hpp"

#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

#include "base/test.hpp"
#include "network/packet/faults.hpp"
#include "network/packet/hosts.hpp"
#include "network/packet/presets.hpp"
#include "network/packet/queues.hpp"
#include "network/packet/recovery.hpp"
#include "network/packet/simulator.hpp"
#include "network/packet/switches.hpp"

namespace {

using namespace yantra;
using namespace yantra::packet;
using test::check;

class Deaf : public Observer {
    void received(u32 /*flow*/) override {}
    void completed(u32 /*flow*/) override {}
};

FabricSpec star(u32 hosts) {
    FabricSpec fabric;
    fabric.is_host.assign(hosts + 1, true);
    fabric.is_host[hosts] = false;
    for (u32 host = 0; host < hosts; ++host) {
        fabric.links.push_back({host, hosts, 100'000'000'000, 500'000, 2 * host + 1});
        fabric.links.push_back({hosts, host, 100'000'000'000, 500'000, 2 * host});
    }
    return fabric;
}

// As the simulator has them, at a busy moment: two messages of host 0, of which the first is paused
// behind the switch.
struct Moment {
    explicit Moment(u64 now = 5'000'000, u32 first_flow = 0)
        : first_flow(first_flow),
          settings(settings_of("static_window", 100.0)),
          all(star(3), settings, deaf),
          queues(all),
          watch(all, queues),
          transmitter(all, queues, watch, switches, hosts, faults),
          switches(all, star(3), watch, transmitter, recovery, faults),
          hosts(all, watch, transmitter, recovery, switches),
          recovery(all, transmitter, hosts),
          faults(all, queues, watch, transmitter, switches, hosts, recovery),
          state(all, hosts, switches, {}) {
        all.senders.wheel.advance_to(now);
        for (u32 to = 1; to < 3; ++to) {
            const u32 there[] = {0, 2 * to + 1};
            const u32 back[] = {2 * to, 1};
            sent.push_back({first_flow + 1 + to, 9000, all.routes.add(there), all.routes.add(back), 0, 0, none, none,
                            none, static_cast<u16>(to)});
            begin(to);
        }
        first = packet(PacketKind::data, 4000);
        second = packet(PacketKind::data, 5000);
        port(3).waits.push(all.packets.pool, first);
        port(3).waits.push(all.packets.pool, second);
        port(3).is_paused = true;
        port(3).paused_since = now - 900;
        under_way = packet(PacketKind::data, 6000);
        happens(700, event(EventKind::arrived, under_way));
        nic().next(all.senders, all.senders.ready[LinkId(0)], false, [](SenderId) {});
    }

    void begin(u32 to) {
        const SenderId made = all.senders.add();
        Sender& of = all.senders[made];
        of.flow = first_flow + to - 1;
        of.size = 20'000;
        of.acknowledged = 2000;
        of.expected = 3000;
        of.next = 7000;
        of.port = LinkId(0);
        of.data_route = sent[to - 1].data_route;
        of.ack_route = sent[to - 1].ack_route;
        senders.push_back(made);
        hosts.enlist(made);
    }
    PacketId packet(PacketKind kind, u64 sequence) {
        const PacketId made = all.packets.take();
        Packet& of = all.packets[made];
        of = Packet{};
        of.kind = kind;
        of.link = LinkId(0);
        of.sender = senders[0];
        of.serial = all.senders[senders[0]].serial;
        of.sequence = sequence;
        of.payload = 1000;
        return made;
    }

    Port& port(u32 number) { return all.ports[LinkId(number)]; }
    Nic& nic() { return hosts.nic(LinkId(0)); }
    Packet& waits() { return all.packets[first]; }
    Sender& sender() { return all.senders[senders[0]]; }
    void happens(u64 after, u32 what) { all.senders.wheel.schedule(all.now() + after, what); }
    void pause_ends(u32 number, u64 after) { all.senders.start_timer(TimerKind::pause_ends, number, after); }
    StateHash::Value hash() const {
        return state.hash(all.now(), sent, [this](u32 flow) { return u64{flow} - first_flow; }).value();
    }

    u32 first_flow;
    Deaf deaf;
    const Settings settings;
    Common all;
    Queues queues;
    Watch watch;
    Transmitter transmitter;
    Switches switches;
    Hosts hosts;
    Recovery recovery;
    Faults faults;
    State state;
    std::vector<FlowSpec> sent;
    std::vector<SenderId> senders;
    PacketId first;
    PacketId second;
    PacketId under_way;
};

using Change = std::function<void(Moment&)>;

const std::vector<Change> changes = {
    [](Moment&) {},
    // A packet.
    [](Moment& m) { ++m.waits().payload; },
    [](Moment& m) { m.waits().kind = PacketKind::ack; },
    [](Moment& m) { m.waits().is_marked = true; },
    [](Moment& m) { m.waits().is_all_ahead = true; },
    [](Moment& m) { ++m.waits().order; },
    [](Moment& m) { ++m.waits().route; },
    [](Moment& m) { m.waits().link = LinkId(4); },
    [](Moment& m) { m.waits().ahead[0] = LinkId(4); },
    [](Moment& m) { m.waits().ahead[1] = LinkId(4); },
    [](Moment& m) { m.waits().ahead[2] = LinkId(4); },
    [](Moment& m) { m.waits().sender = m.senders[1], m.waits().serial = m.all.senders[m.senders[1]].serial; },
    [](Moment& m) { m.waits().sender = SenderId::none; },
    [](Moment& m) { ++m.waits().serial; },
    [](Moment& m) { ++m.waits().sequence; },
    [](Moment& m) { ++m.all.packets[m.under_way].sequence; },
    // Its queue.
    [](Moment& m) { std::swap(m.all.packets[m.first].sequence, m.all.packets[m.second].sequence); },
    [](Moment& m) { m.port(3).waits.pop(m.all.packets.pool); },
    [](Moment& m) { std::swap(m.port(3).waits, m.port(3).control); },
    [](Moment& m) { std::swap(m.port(3).waits, m.port(3).relayed); },
    [](Moment& m) { std::swap(m.port(3).waits, m.port(5).waits); },
    [](Moment& m) { m.port(3).control.push(m.all.packets.pool, m.packet(PacketKind::pause, 0)); },
    [](Moment& m) { m.port(3).relayed.push(m.all.packets.pool, m.packet(PacketKind::data, 0)); },
    // A port.
    [](Moment& m) { m.port(3).is_paused = false; },
    [](Moment& m) { m.port(5).is_paused = true, m.port(5).paused_since = m.all.now(); },
    [](Moment& m) { --m.port(3).paused_since; },
    [](Moment& m) { m.port(0).relays_next = true; },
    [](Moment& m) { m.port(0).has_paused = true; },
    [](Moment& m) { m.port(0).ingress_bytes = 1000; },
    [](Moment& m) { m.port(0).headroom_used = 1000; },
    // A sender, and its NIC.
    [](Moment& m) { m.sender().flow = m.first_flow + 9; },
    [](Moment& m) { ++m.sender().size; },
    [](Moment& m) { ++m.sender().acknowledged; },
    [](Moment& m) { ++m.sender().next; },
    [](Moment& m) { ++m.sender().expected; },
    [](Moment& m) { ++m.sender().order; },
    [](Moment& m) { ++m.sender().data_route; },
    [](Moment& m) { ++m.sender().ack_route; },
    [](Moment& m) { m.all.senders[m.senders[1]].has_ended = true; },
    [](Moment& m) { m.hosts.delist(m.senders[1]); },
    [](Moment& m) { m.hosts.delist(m.senders[0]), m.hosts.enlist(m.senders[0]); },
    [](Moment& m) { m.nic().next(m.all.senders, m.all.senders.ready[LinkId(0)], false, [](SenderId) {}); },
    // Events.
    [](Moment& m) { m.happens(100, event(EventKind::sent, LinkId(0))); },
    [](Moment& m) { m.happens(101, event(EventKind::sent, LinkId(0))); },
    [](Moment& m) { m.happens(100'000'000, event(EventKind::sent, LinkId(0))); },
    [](Moment& m) { m.happens(100, event(EventKind::sent, LinkId(2))); },
    [](Moment& m) { m.happens(700, event(EventKind::sent, LinkId(0))); },
    [](Moment& m) { m.happens(100, event(EventKind::arrived, m.packet(PacketKind::ack, 0))); },
    [](Moment& m) { m.happens(101, event(EventKind::arrived, m.packet(PacketKind::ack, 0))); },
    [](Moment& m) { m.pause_ends(3, 100); },
    [](Moment& m) { m.pause_ends(3, 101); },
    [](Moment& m) { m.pause_ends(5, 100); },
    // What is sent.
    [](Moment& m) { ++m.sent[0].bytes; },
    [](Moment& m) { ++m.sent[0].data_route; },
    [](Moment& m) { ++m.sent[0].ack_route; },
    [](Moment& m) { ++m.sent[0].order; },
    [](Moment& m) { m.sent[0].flow = m.first_flow + 9; },
    [](Moment& m) { std::swap(m.sent[0], m.sent[1]); },
    [](Moment& m) { m.sent.pop_back(); },
};

void check_moved(u64 now, u32 first_flow) {
    for (u64 at = 0; at < changes.size(); ++at) {
        Moment here;
        Moment there(now, first_flow);
        changes[at](here);
        changes[at](there);
        check(here.hash() == there.hash(), "a state depends on the time, or on numbers of flows", at);
    }
}

}  // namespace

int main() {
    std::vector<StateHash::Value> found;
    for (u64 at = 0; at < changes.size(); ++at) {
        Moment moment;
        changes[at](moment);
        found.push_back(moment.hash());
        for (u64 before = 0; before < at; ++before) {
            check(!(found[before] == found[at]), "another state has this hash", at);
        }
    }
    check_moved(5'000'001, 0);
    check_moved(777'777'777'777, 40);
}
