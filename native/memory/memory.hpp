// Memory: accesses of nodes to the memory behind their rank (astra-sim-semantics 7.1).
//
// A memory that several ranks share serves one request at a time, first come first served; others
// serve at once. How long an access takes and who shares what: remote.hpp.
#pragma once

#include "base/ids.hpp"
#include "engine/engine.hpp"
#include "memory/memory_probe.hpp"
#include "memory/remote.hpp"

namespace yantra::inline YANTRA_RUN {

class Memory {
public:
    // What comes when an access is done: an event of the actor's.
    struct Access {
        ActorId actor;
        RankId rank;
        u64 bytes = 0;
        u32 place = none;   // of the node, among those of all actors
        EventKind done;
        u32 a = none;       // handed on to it
        u64 ticks = 0;      // it takes alone, where accesses say so
    };

    Memory(Engine& engine, const RemoteMemory& memory, u32 ranks, TimeScale scale)
        : engine_(engine), servers_(memory, ranks, scale), probe_(engine.recorder()) {}

    void access(const Access& access) {
        const u64 ticks = servers_.ticks(access.bytes, access.ticks);
        if (!servers_.exclusive()) {
            engine_.of_ranks.schedule(access.actor, ticks, access.done, access.a);
            return;
        }
        const u32 server = servers_.server_of(access.rank.index());
        const MemoryRequest request{access.actor, access.place, access.done, access.a, ticks};
        if (servers_.admit(server, request)) {
            serve(server, request);
        }
    }

    // A server has done its request.
    void handle(const RankEvent& event) {
        probe_.server_free(event, engine_.now());
        MemoryRequest request;
        if (servers_.next(event.a, request)) {
            serve(event.a, request);
        }
    }

private:
    // The node completes first, then the server takes the next request, in the same tick.
    void serve(u32 server, const MemoryRequest& request) {
        const Recorder::Scope scope(engine_.recorder());
        probe_.serves(server, request.place, engine_.now());
        engine_.of_ranks.schedule(request.actor, request.ticks, request.done, request.a);
        engine_.of_ranks.schedule(request.actor, request.ticks, {Owner::memory, 0}, server);
    }

    Engine& engine_;
    RemoteMemoryServers servers_;
    MemoryProbe probe_;
};

}  // namespace yantra
