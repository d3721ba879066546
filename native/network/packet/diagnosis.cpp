// Why flows do not end.
#include <algorithm>
#include <vector>

#include "network/packet/watch.hpp"

namespace yantra::packet {

namespace {

constexpr double long_ns = 2e7;   // without a byte acknowledged

}  // namespace

std::optional<Stuck> Watch::stuck(bool has_events) const {
    if (all_.progress.active == 0) {
        return std::nullopt;
    }
    const bool has_timers = all_.has_timers();
    const double silence_ns =
        std::max(all_.settings.retransmission_ns, all_.senders.ns(all_.senders.longest_silence()));
    const double patience_ns = std::max(long_ns, has_timers ? 8.0 * silence_ns : 0.0);
    if (has_events && all_.senders.ns(all_.now() - all_.progress.last) < patience_ns) {
        return std::nullopt;
    }
    Stuck found;
    found.since = all_.progress.last;
    found.flows = all_.progress.active;
    all_.senders.each_under_way([this, &found](u32 flow, SenderId sender) {
        if (found.flow == none || flow < found.flow) {
            found.flow = flow;
            found.acknowledged = all_.senders[sender].acknowledged;
            found.bytes = all_.senders[sender].size;
        }
    });
    for (PortId port : pause_cycle()) {
        found.cycle.push_back(port.index());
    }
    found.drops = all_.totals.drops - all_.progress.drops;
    u64 most = 0;
    all_.ports.each([&](PortId port) {
        if (all_.ports[port].drops > most) {
            most = all_.ports[port].drops;
            found.dropped_on = port.index();
        }
    });
    return found;
}

// A paused port waits for the device behind its link to pass on what came over it.
std::vector<PortId> Watch::pause_cycle() const {
    IdVector<PortId, u8> met(all_.ports.size());   // 0 no, 1 on the path, 2 done
    std::vector<PortId> path;
    for (u32 at = 0; at < all_.ports.size(); ++at) {
        const PortId port(at);
        if (all_.ports[port].is_paused && met[port] == 0 && follow(port, met, path)) {
            return path;
        }
        path.clear();
    }
    return {};
}

bool Watch::holds(PortId port, LinkId from) const {
    std::vector<PacketId> waiting;
    for (const PacketQueue* queue : {&all_.ports[port].waits, &all_.ports[port].relayed}) {
        for (PacketId at = queue->first; !at.is_none();
             at = at == queue->last ? PacketId::none : all_.packets[at].next) {
            waiting.push_back(at);
        }
    }
    if (const QueueDiscipline* queue = queues_.of(port)) {
        queue->list(waiting);
    }
    return std::any_of(waiting.begin(), waiting.end(),
                       [&](PacketId packet) { return all_.packets[packet].link == from; });
}

// Then `path` is it.
bool Watch::follow(PortId port, IdVector<PortId, u8>& met, std::vector<PortId>& path) const {
    met[port] = 1;
    path.push_back(port);
    for (PortId next : all_.ports.leaving(all_.ports[port].to)) {
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
