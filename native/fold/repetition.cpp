#include "fold/repetition.hpp"

#include <algorithm>
#include <vector>

#include "base/hash.hpp"

namespace yantra {

namespace {

constexpr u32 fewest_times = 4;   // a block must follow itself

std::vector<u64> prints(const Job& job) {
    const Graph& graph = *job.graph;
    std::vector<u64> made;
    made.reserve(job.ops.size());
    for (u32 node = 0; node < job.ops.size(); ++node) {
        const Op& op = job.ops[node];
        u64 hash = mix(static_cast<u64>(op.kind), op.bytes);
        hash = mix(hash, op.ticks);
        hash = mix(hash, u64{op.communicator} << 32U | op.peer);
        for (u32 i = graph.child_begin[node]; i < graph.child_begin[node + 1]; ++i) {
            hash = mix(hash, graph.child[i] - node);
        }
        made.push_back(hash);
    }
    return made;
}

std::vector<u32> equal_ahead(const std::vector<u64>& all, u32 first) {
    const u32 size = static_cast<u32>(all.size()) - first;
    const u64* const text = all.data() + first;
    std::vector<u32> length(size, 0);
    u32 from = 0;
    u32 to = 0;   // end of the stretch known to equal the beginning
    for (u32 at = 1; at < size; ++at) {
        u32 known = at < to ? std::min(to - at, length[at - from]) : 0;
        while (at + known < size && text[known] == text[at + known]) {
            ++known;
        }
        length[at] = known;
        if (at + known > to) {
            from = at;
            to = at + known;
        }
    }
    return length;
}

}  // namespace

// From an eighth, a quarter and half of the job, as its ends differ.
Repeats find_repeats(const Job& job) {
    const std::vector<u64> all = prints(job);
    Repeats best;
    u64 most = 0;
    for (u32 part : {8u, 4u, 2u}) {
        const u32 first = static_cast<u32>(all.size()) / part;
        const std::vector<u32> length = equal_ahead(all, first);
        for (u32 period = 1; period < length.size(); ++period) {
            if (length[period] / fewest_times >= period && length[period] - period > most) {
                most = length[period] - period;
                best = {first, period};
            }
        }
    }
    return best;
}

bool repeats(const Job& job, u32 node, u32 later, u32 tag_step) {
    const Graph& graph = *job.graph;
    const u32 begin = graph.child_begin[node];
    const u32 other = graph.child_begin[later];
    const u32 children = graph.child_begin[node + 1] - begin;
    if (children != graph.child_begin[later + 1] - other) {
        return false;
    }
    for (u32 i = 0; i < children; ++i) {
        if (graph.child[other + i] - graph.child[begin + i] != later - node) {
            return false;
        }
    }
    if (position_of(job, later) - position_of(job, node) != later - node) {
        return false;
    }
    const Op& a = job.ops[node];
    const Op& b = job.ops[later];
    return a.kind == b.kind && a.node_class == b.node_class && a.resource == b.resource &&
           a.collective == b.collective && a.wakes == b.wakes &&
           a.communicator == b.communicator && a.peer == b.peer && a.bytes == b.bytes &&
           a.ticks == b.ticks && a.busy_ticks == b.busy_ticks &&
           b.tag - a.tag == (is_message(a) ? tag_step : 0);
}

}  // namespace yantra
