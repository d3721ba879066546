// Why flows do not end: ports that pause each other in a circle, packets lost again and again, or a loss that nobody
// notices.
#include <algorithm>

#include "base/vector.hpp"
#include "network/packet/watch.hpp"

namespace yantra::packet {

namespace {

constexpr double long_ns = 2e7;   // without a byte acknowledged

}  // namespace

std::optional<Stuck> Watch::stuck(bool has_events) const {
    if (all_.progress.active == 0) {
        return std::nullopt;
    }
    const bool has_timers = all_.can_lose && !all_.settings.has(Quirk::no_retransmission_timer);
    const double silence_ns = std::max(all_.settings.retransmission_ns, all_.senders.ns(all_.senders.longest_silence()));
    const double patience_ns = std::max(long_ns, has_timers ? 8.0 * silence_ns : 0.0);
    if (has_events && all_.senders.ns(all_.now() - all_.progress.last) < patience_ns) {
        return std::nullopt;
    }
    Stuck found;
    found.since = all_.progress.last;
    found.flows = all_.progress.active;
    for (u32 sender = 0; sender < all_.senders.count(); ++sender) {
        const Sender& of = all_.senders[sender];
        if (!of.has_ended && (found.flow == none || of.flow < found.flow)) {
            found.flow = of.flow;
            found.acknowledged = of.acknowledged;
            found.bytes = of.size;
        }
    }
    found.cycle = pause_cycle();
    found.drops = all_.totals.drops - all_.progress.drops;
    u64 most = 0;
    for (u32 port = 0; port < all_.ports.size(); ++port) {
        if (all_.ports[port].drops > most) {
            most = all_.ports[port].drops;
            found.dropped_on = port;
        }
    }
    return found;
}

// A paused port waits for the device behind its link to pass on what came over it: for the paused ports there in
// whose queues that lies.
Vector<u32> Watch::pause_cycle() const {
    Vector<u8> met(all_.ports.size());   // 0 no, 1 on the path, 2 done
    Vector<u32> path;
    for (u32 port = 0; port < all_.ports.size(); ++port) {
        if (all_.ports[port].is_paused && met[port] == 0 && follow(port, met, path)) {
            return path;
        }
        path.clear();
    }
    return {};
}

// Whether packets that came by a link wait at a port.
bool Watch::holds(u32 port, u32 from) const {
    Vector<u32> waiting;
    for (const PacketQueue* queue : {&all_.ports[port].waits, &all_.ports[port].relayed}) {
        for (u32 at = queue->first; at != none; at = at == queue->last ? none : all_.packets[at].next) {
            waiting.push_back(at);
        }
    }
    if (const QueueDiscipline* queue = queues_.of(port)) {
        queue->list(waiting);
    }
    return std::any_of(waiting.begin(), waiting.end(), [&](u32 packet) { return all_.packets[packet].link == from; });
}

// Whether a circle was found; then `path` is it.
bool Watch::follow(u32 port, Vector<u8>& met, Vector<u32>& path) const {
    met[port] = 1;
    path.push_back(port);
    for (u32 next : all_.ports.leaving(all_.ports[port].to)) {
        const Port& out = all_.ports[next];
        if (!out.is_paused) {
            continue;
        }
        if (!holds(next, port)) {
            continue;
        }
        if (met[next] == 1) {
            path.erase(path.begin(), std::find(path.begin(), path.end(), next));
            return true;
        }
        if (met[next] == 0 && follow(next, met, path)) {
            return true;
        }
    }
    met[port] = 2;
    path.pop_back();
    return false;
}

}  // namespace yantra::packet
