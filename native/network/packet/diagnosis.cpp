// Why flows do not end: ports that pause each other in a circle, packets lost again and again, or a loss that nobody
// notices.
#include <algorithm>

#include "base/vector.hpp"
#include "network/packet/simulator.hpp"

namespace yantra::packet {

namespace {

constexpr double long_ns = 2e7;   // without a byte acknowledged

}  // namespace

std::optional<Stuck> Simulator::stuck() const {
    if (active_ == 0) {
        return std::nullopt;
    }
    const bool has_timers = can_lose_ && !settings_.has(Quirk::no_retransmission_timer);
    const double silence_ns = std::max(settings_.retransmission_ns, senders_.ns(senders_.longest_silence()));
    const double patience_ns = std::max(long_ns, has_timers ? 8.0 * silence_ns : 0.0);
    if (!empty() && senders_.ns(now() - last_progress_) < patience_ns) {
        return std::nullopt;
    }
    Stuck found;
    found.since = last_progress_;
    found.flows = active_;
    for (u32 sender = 0; sender < senders_.count(); ++sender) {
        const Sender& of = senders_[sender];
        if (!of.has_ended && (found.flow == none || of.flow < found.flow)) {
            found.flow = of.flow;
            found.acknowledged = of.acknowledged;
            found.bytes = of.size;
        }
    }
    found.cycle = pause_cycle();
    found.drops = totals_.drops - drops_at_progress_;
    u64 most = 0;
    for (u32 port = 0; port < ports_.size(); ++port) {
        if (ports_[port].drops > most) {
            most = ports_[port].drops;
            found.dropped_on = port;
        }
    }
    return found;
}

// A paused port waits for the device behind its link to pass on what came over it: for the paused ports there in
// whose queues that lies.
Vector<u32> Simulator::pause_cycle() const {
    Vector<u8> seen(ports_.size());   // 0 no, 1 on the path, 2 done
    Vector<u32> path;
    for (u32 port = 0; port < ports_.size(); ++port) {
        if (ports_[port].is_paused && seen[port] == 0 && follow(port, seen, path)) {
            return path;
        }
        path.clear();
    }
    return {};
}

// Whether packets that came by a link wait at a port.
bool Simulator::holds(u32 port, u32 from) const {
    Vector<u32> waiting;
    for (const PacketQueue* queue : {&ports_[port].waits, &ports_[port].relayed}) {
        for (u32 at = queue->first; at != none; at = at == queue->last ? none : packets_[at].next) {
            waiting.push_back(at);
        }
    }
    if (!queues_.empty() && queues_[port] != nullptr) {
        queues_[port]->list(waiting);
    }
    return std::any_of(waiting.begin(), waiting.end(), [&](u32 packet) { return packets_[packet].link == from; });
}

// Whether a circle was found; then `path` is it.
bool Simulator::follow(u32 port, Vector<u8>& seen, Vector<u32>& path) const {
    seen[port] = 1;
    path.push_back(port);
    for (u32 next : ports_of_[ports_[port].to]) {
        const Port& out = ports_[next];
        if (!out.is_paused) {
            continue;
        }
        if (!holds(next, port)) {
            continue;
        }
        if (seen[next] == 1) {
            path.erase(path.begin(), std::find(path.begin(), path.end(), next));
            return true;
        }
        if (seen[next] == 0 && follow(next, seen, path)) {
            return true;
        }
    }
    seen[port] = 2;
    path.pop_back();
    return false;
}

}  // namespace yantra::packet
