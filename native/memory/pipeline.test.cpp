// The oracle moves single chunks.
#include "memory/pipeline.hpp"

#include <algorithm>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

constexpr u32 ranks = 6;

RemoteMemory any_memory(test::Random& random) {
    RemoteMemory memory;
    memory.kind = RemoteMemoryKind::pipeline;
    memory.latency_ns = random.below(5);
    memory.ranks_per_node = static_cast<u32>(1 + random.below(4));
    memory.chunk_bytes = 8.0;
    const MemoryLevel levels[] = {MemoryLevel::pool, MemoryLevel::node, MemoryLevel::rank};
    for (u32 hop = 0; hop < 3; ++hop) {
        memory.hops.push_back({levels[hop], static_cast<double>(1u << random.below(4))});
    }
    return memory;
}

u32 server(const RemoteMemory& memory, u32 hop, u32 rank) {
    return hop == 0 ? 0 : hop == 1 ? rank / memory.ranks_per_node : rank;
}

struct Oracle {
    RemoteMemory memory;
    std::vector<std::vector<u64>> free =
        std::vector<std::vector<u64>>(3, std::vector<u64>(ranks, 0));

    std::vector<u64> serve(u64 now, u64 bytes, const std::vector<u32>& members) {
        std::vector<u64> ends;
        auto left = free;
        for (const u32 rank : members) {
            std::vector<u64> at;
            u64 chunk_left[3] = {};
            for (u32 hop = 0; hop < 3; ++hop) {
                at.push_back(free[hop][server(memory, hop, rank)]);
            }
            u64 out = now;
            for (u64 moved = 0; moved < std::max<u64>(bytes, 1); moved += 8) {
                out = now;
                const u64 size = std::min<u64>(8, bytes - moved);
                for (u32 hop = 0; hop < 3; ++hop) {
                    u64 sharers = 0;
                    for (const u32 other : members) {
                        sharers += server(memory, hop, other) == server(memory, hop, rank);
                    }
                    const double ns = static_cast<double>(size * sharers) / memory.hops[hop].bytes_per_ns;
                    out = std::max(out, at[hop]) + static_cast<u64>(ns * 1000.0);
                    at[hop] = out;
                    chunk_left[hop] = out;
                }
            }
            for (u32 hop = 0; hop < 3; ++hop) {
                u64& of = left[hop][server(memory, hop, rank)];
                of = std::max(of, chunk_left[hop]);
            }
            ends.push_back(out + memory.latency_ns * 1000);
        }
        free = left;
        return ends;
    }
};

void accesses(u32 seed) {
    test::Random random(seed);
    const RemoteMemory memory = any_memory(random);
    MemoryPipeline pipeline(memory, ranks, TimeScale::picoseconds());
    Oracle oracle{memory};
    u64 now = 0;
    for (u32 group = 0; group < 60; ++group) {
        now += random.below(20) * 1000;
        std::vector<u32> members;
        for (u32 rank = 0; rank < ranks; ++rank) {
            if (random.below(2) == 0) {
                members.push_back(rank);
            }
        }
        const u64 bytes = random.below(60);
        check(pipeline.serve(now, bytes, members) == oracle.serve(now, bytes, members),
              "a group ends at another time", group);
    }
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 200; ++seed) {
        accesses(seed);
    }
}
