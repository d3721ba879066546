// A pipelined memory: accesses cross its hops in chunks, first come first served (Won et al.,
// "ASTRA-sim2.0", ISPASS 2023, section IV-D). No chunk needs an event: chunk k of times t leaves
// hop h at the maximum over j <= h of free_j + t_j + ... + t_h + (k - 1) max(t_j, ..., t_h)
// (Baccelli et al., 1992, tandem queues).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "memory/remote.hpp"

namespace yantra {

class MemoryPipeline {
public:
    MemoryPipeline(const RemoteMemory& memory, u32 ranks, TimeScale scale)
        : memory_(memory), scale_(scale) {
        for (const MemoryHop& hop : memory.hops) {
            free_.emplace_back(servers(hop.level, ranks), 0);
            members_.emplace_back(free_.back().size(), 0);
        }
    }

    // In ticks; `ranks` are distinct.
    std::vector<u64> serve(u64 now, u64 bytes, const std::vector<u32>& ranks) {
        count(ranks, 1);
        std::vector<u64> ends;
        std::vector<std::vector<u64>> left = free_;
        for (const u32 rank : ranks) {
            ends.push_back(path(now, bytes, rank, left));
        }
        free_.swap(left);
        count(ranks, 0);
        return ends;
    }

private:
    u32 servers(MemoryLevel level, u32 ranks) const {
        switch (level) {
            case MemoryLevel::rank:
                return ranks;
            case MemoryLevel::node:
                return (ranks + memory_.ranks_per_node - 1) / memory_.ranks_per_node;
            case MemoryLevel::pool:
                break;
        }
        return 1;
    }
    u32 server(MemoryLevel level, u32 rank) const {
        return level == MemoryLevel::rank   ? rank
               : level == MemoryLevel::node ? rank / memory_.ranks_per_node
                                            : 0;
    }

    // `each` 0 resets.
    void count(const std::vector<u32>& ranks, u32 each) {
        for (std::size_t hop = 0; hop < free_.size(); ++hop) {
            for (const u32 rank : ranks) {
                u32& members = members_[hop][server(memory_.hops[hop].level, rank)];
                members = each == 0 ? 0 : members + each;
            }
        }
    }

    // `left` gets when each hop is then free.
    u64 path(u64 now, u64 bytes, u32 rank, std::vector<std::vector<u64>>& left) const {
        const double chunks = static_cast<double>(bytes) / memory_.chunk_bytes;
        const double whole = std::max(std::ceil(chunks) - 1.0, 0.0);
        const std::vector<u64> full = times(rank, 1.0);
        const std::vector<u64> last = times(rank, chunks - whole);
        u64 out = now;   // of the last chunk, from the hop before
        for (std::size_t hop = 0; hop < free_.size(); ++hop) {
            out = scale_.sum(std::max(out, free_after(now, rank, hop, whole, full)), last[hop]);
            u64& of = left[hop][server(memory_.hops[hop].level, rank)];
            of = std::max(of, out);
        }
        return scale_.sum(out, scale_.whole(memory_.latency_ns));
    }

    u64 free_after(u64 now, u32 rank, std::size_t hop, double whole,
                   const std::vector<u64>& full) const {
        const u64 free = free_[hop][server(memory_.hops[hop].level, rank)];
        u64 latest = std::max(free, now);
        if (whole < 1.0) {
            return latest;
        }
        u64 sum = 0;
        u64 longest = 0;
        for (std::size_t from = hop + 1; from-- > 0;) {
            sum = scale_.sum(sum, full[from]);
            longest = std::max(longest, full[from]);
            const u64 begin = std::max(free_[from][server(memory_.hops[from].level, rank)], now);
            const u64 rest = scale_.times(longest, static_cast<u64>(whole) - 1);
            latest = std::max(latest, scale_.sum(scale_.sum(begin, sum), rest));
        }
        return latest;
    }

    std::vector<u64> times(u32 rank, double part) const {
        std::vector<u64> ticks;
        for (std::size_t hop = 0; hop < free_.size(); ++hop) {
            const u32 members = members_[hop][server(memory_.hops[hop].level, rank)];
            const double bytes = memory_.chunk_bytes * part * static_cast<double>(members);
            ticks.push_back(scale_.ticks(bytes / memory_.hops[hop].bytes_per_ns));
        }
        return ticks;
    }

    RemoteMemory memory_;
    TimeScale scale_;
    std::vector<std::vector<u64>> free_;      // by hop and server
    std::vector<std::vector<u32>> members_;   // of the group that is served, likewise
};

}  // namespace yantra
