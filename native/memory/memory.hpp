// Memory: nodes' accesses to the memory behind their rank (astra-sim-semantics 7.1): shared ones
// first come first served, pipelines by groups of a tick.
#pragma once

#include <algorithm>
#include <vector>

#include "base/ids.hpp"
#include "engine/component.hpp"
#include "engine/engine.hpp"
#include "memory/local_bandwidth.hpp"
#include "memory/memory_probe.hpp"
#include "memory/pipeline.hpp"
#include "memory/remote.hpp"

namespace yantra::inline YANTRA_RUN {

class Memory final : public Component {
public:
    struct Access {
        ActorId actor;
        RankId rank;
        u64 bytes = 0;
        u32 place = none;   // of the node, among those of all actors
        EventKind done;
        u32 a = none;       // handed on to it
        u64 ticks = 0;      // that it takes alone, where accesses say so
    };

    Memory(Engine& engine, const RemoteMemory& memory, u32 ranks, TimeScale scale, LocalBandwidth& local)
        : engine_(engine),
          local_(local),
          is_pipeline_(memory.kind == RemoteMemoryKind::pipeline),
          servers_(memory, ranks, scale),
          pipeline_(memory, ranks, scale),
          probe_(engine.recorder()) {}

    void access(const Access& access) {
        if (is_pipeline_) {
            if (begun_.empty()) {
                engine_.queue.schedule(engine_.now(), {Owner::memory, 0}, 0);
            }
            begun_.push_back(access);
            return;
        }
        const u64 ticks = servers_.ticks(access.bytes, access.ticks);
        if (!servers_.exclusive()) {
            local_.schedule(access.actor, ticks, access.bytes, access.done, access.a);
            return;
        }
        const u32 server = servers_.server_of(access.rank.index());
        const MemoryRequest request{access.actor, access.place, access.done, access.a, ticks};
        if (servers_.admit(server, request)) {
            serve(server, request);
        }
    }

    void handle_of_actor(ActorId, const RankEvent& event) override {
        probe_.server_free(event, engine_.now());
        MemoryRequest request;
        if (servers_.next(event.a, request)) {
            serve(event.a, request);
        }
    }

    void handle(const Event&) override {
        std::stable_sort(begun_.begin(), begun_.end(), [](const Access& x, const Access& y) {
            return x.rank.index() < y.rank.index();
        });
        while (!begun_.empty()) {
            serve_group();
        }
    }

private:
    void serve_group() {
        std::vector<Access> group;
        std::vector<Access> rest;
        std::vector<u32> ranks;
        for (const Access& access : begun_) {
            const u32 rank = access.rank.index();
            if (access.bytes == begun_[0].bytes && (ranks.empty() || ranks.back() != rank)) {
                group.push_back(access);
                ranks.push_back(rank);
            } else {
                rest.push_back(access);
            }
        }
        const std::vector<u64> ends = pipeline_.serve(engine_.now(), group[0].bytes, ranks);
        for (std::size_t at = 0; at < group.size(); ++at) {
            const Access& access = group[at];
            const Recorder::Scope scope(engine_.recorder());
            probe_.begins(access.place);
            engine_.of_ranks.schedule(access.actor, ends[at] - engine_.now(), access.done, access.a);
        }
        begun_.swap(rest);
    }

    // The node completes before the server's next request, in the same tick.
    void serve(u32 server, const MemoryRequest& request) {
        const Recorder::Scope scope(engine_.recorder());
        probe_.serves(server, request.place, engine_.now());
        engine_.of_ranks.schedule(request.actor, request.ticks, request.done, request.a);
        engine_.of_ranks.schedule(request.actor, request.ticks, {Owner::memory, 0}, server);
    }

    Engine& engine_;
    LocalBandwidth& local_;
    bool is_pipeline_;
    RemoteMemoryServers servers_;
    MemoryPipeline pipeline_;
    std::vector<Access> begun_;   // in this tick, on a pipeline
    MemoryProbe probe_;
};

}  // namespace yantra
