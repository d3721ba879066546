// Memories that ranks share serve first come first served.
// needs: memory/local_bandwidth.cpp
#include "memory/memory.hpp"

#include <algorithm>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

constexpr u32 ranks = 6;

RemoteMemory any_memory(test::Random& random, RemoteMemoryKind kind) {
    RemoteMemory memory;
    memory.kind = kind;
    memory.latency_ns = random.below(50);
    memory.bytes_per_ns = 2.0;
    memory.ranks_per_node = static_cast<u32>(1 + random.below(4));
    return memory;
}

void accesses(u32 seed, RemoteMemoryKind kind) {
    test::Random random(seed);
    const RemoteMemory parameters = any_memory(random, kind);
    Engine engine(ranks);
    LocalBandwidth local(engine, 0.0, TimeScale::picoseconds(), ranks);
    Memory memory(engine, parameters, ranks, TimeScale::picoseconds(), local);
    std::vector<Memory::Access> all;
    std::vector<u64> expected;
    std::vector<u64> seen(200, ~u64{0});
    std::vector<u64> free(ranks, 0);   // by server
    u64 tick = 0;
    for (u32 at = 0; at < seen.size(); ++at) {
        const u32 rank = static_cast<u32>(random.below(ranks));
        const u64 bytes = random.below(200);
        all.push_back({ActorId(rank), RankId(rank), bytes, at, {Owner::execution, 0}, at});
        tick += random.below(40) * 1000;
        engine.queue.schedule(tick, {Owner::arrivals, 0}, at);
        const u64 ticks = parameters.latency_ns * 1000 + bytes * 500;
        const bool pool = kind == RemoteMemoryKind::pool;
        const bool shared = pool || kind == RemoteMemoryKind::per_node;
        u64& server = free[pool ? 0 : rank / parameters.ranks_per_node];
        expected.push_back((shared ? std::max(tick, server) : tick) + ticks);
        server = expected.back();
    }
    while (!engine.queue.empty()) {
        const Event event = engine.queue.next();
        if (event.kind.owner() == Owner::arrivals) {
            memory.access(all[event.index]);
            continue;
        }
        engine.of_ranks.run(event.index, [&](ActorId actor, const RankEvent& of, u32) {
            if (of.kind.owner() == Owner::memory) {
                memory.handle_of_actor(actor, of);
                return 1u;
            }
            check(all[of.a].actor == actor && seen[of.a] == ~u64{0}, "another access ends", of.a);
            seen[of.a] = engine.now();
            return 1u;
        });
    }
    for (u32 at = 0; at < seen.size(); ++at) {
        check(seen[at] == expected[at], "an access ends at another time", at);
    }
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 30; ++seed) {
        for (RemoteMemoryKind kind :
             {RemoteMemoryKind::per_rank, RemoteMemoryKind::per_node, RemoteMemoryKind::pool}) {
            accesses(seed, kind);
        }
    }
}
