// Remote memory: an access takes latency + bytes / bandwidth, or its own time (astra-sim-semantics
// 7.1; ASTRA-sim 2.0, section IV-D). A node's or the pool's memory serves one request at a time,
// first come first served.
#pragma once

#include <deque>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "engine/event.hpp"

namespace yantra {

enum class RemoteMemoryKind : u8 { absent, per_rank, per_node, pool, pipeline };
enum class MemoryLevel : u8 { rank, node, pool };

// On the way of every access; at `node` or `pool` it is shared.
struct MemoryHop {
    MemoryLevel level = MemoryLevel::rank;
    double bytes_per_ns = 0.0;
};

struct RemoteMemory {
    RemoteMemoryKind kind = RemoteMemoryKind::absent;
    u64 latency_ns = 0;
    double bytes_per_ns = 0.0;
    u32 ranks_per_node = 1;
    bool accesses_say = false;   // accesses have their own ticks, not latency and bandwidth
    double chunk_bytes = 0.0;    // of an access to a pipeline, on one hop at a time
    std::vector<MemoryHop> hops{};
};

struct MemoryRequest {
    ActorId actor;
    u32 place = none;    // of the node that waits, among those of all actors
    EventKind done;      // comes when it is served, with `a`
    u32 a = none;
    u64 ticks = 0;
};

class RemoteMemoryServers {
public:
    RemoteMemoryServers(const RemoteMemory& memory, u32 ranks, TimeScale scale)
        : memory_(memory), scale_(scale), servers_(server_count(memory, ranks)) {}

    bool exclusive() const {
        return memory_.kind == RemoteMemoryKind::per_node || memory_.kind == RemoteMemoryKind::pool;
    }
    u64 ticks(u64 bytes, u64 said) const {
        if (memory_.accesses_say) {
            return said;
        }
        const double transfer = memory_.bytes_per_ns > 0.0
                                    ? static_cast<double>(bytes) / memory_.bytes_per_ns
                                    : 0.0;
        return scale_.sum(scale_.whole(memory_.latency_ns), scale_.ticks(transfer));
    }
    u32 server_of(u32 rank) const {
        return memory_.kind == RemoteMemoryKind::per_node ? rank / memory_.ranks_per_node : 0;
    }

    // False: it waits for `next`.
    bool admit(u32 server, const MemoryRequest& request) {
        Server& s = servers_[server];
        if (s.busy) {
            s.waiting.push_back(request);
            return false;
        }
        s.busy = true;
        return true;
    }

    bool next(u32 server, MemoryRequest& request) {
        Server& s = servers_[server];
        s.busy = false;
        if (s.waiting.empty()) {
            return false;
        }
        request = s.waiting.front();
        s.waiting.pop_front();
        s.busy = true;
        return true;
    }

private:
    struct Server {
        bool busy = false;
        std::deque<MemoryRequest> waiting;
    };

    static u32 server_count(const RemoteMemory& memory, u32 ranks) {
        return memory.kind == RemoteMemoryKind::per_node
                   ? (ranks + memory.ranks_per_node - 1) / memory.ranks_per_node
                   : 1;
    }

    RemoteMemory memory_;
    TimeScale scale_;
    std::vector<Server> servers_;
};

}  // namespace yantra
