// What a run that cannot finish waits for: for every unfinished rank, its oldest waiting node.
#include <algorithm>

#include "sim/simulation.hpp"

namespace yantra {

namespace {

constexpr u32 point_to_point_tags = 500'000'000;  // collective and control tags lie above

}  // namespace

std::vector<Waiting> Simulation::diagnose() const {
    std::vector<Waiting> all;
    for (u32 rank = 0; rank < ranks_.size(); ++rank) {
        const Rank& r = ranks_[rank];
        if (r.finished) {
            continue;
        }
        u32 oldest = none;
        for (u32 node = 0; node < r.waiting.size(); ++node) {
            const u64 at = r.first_node + node;
            if (start_[at] != never && end_[at] == never &&
                (oldest == none || start_[at] < start_[r.first_node + oldest])) {
                oldest = node;
            }
        }
        all.push_back(explain(rank, oldest));
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Waiting& a, const Waiting& b) { return a.since < b.since; });
    return all;
}

Waiting Simulation::explain(u32 rank, u32 node) const {
    Waiting w;
    w.rank = rank;
    w.node = node;
    if (node == none) {
        return w;
    }
    w.since = start_[ranks_[rank].first_node + node];
    const Op& op = op_of(rank, node);
    switch (op.kind) {
        case OpKind::send:
        case OpKind::receive:
            explain_message(w, op);
            break;
        case OpKind::collective:
            explain_collective(w, op);
            break;
        case OpKind::memory:
            w.reason = Waiting::memory;
            break;
        case OpKind::timed:
        case OpKind::skip:
            break;
    }
    return w;
}

// A message of the same tag between the two ranks but of another size is the usual cause.
void Simulation::explain_message(Waiting& w, const Op& op) const {
    w.reason = Waiting::message;
    w.peer = op.peer;
    w.tag = op.tag;
    w.bytes = op.bytes;
    w.sends = op.kind == OpKind::send;
    const u32 src = w.sends ? w.rank : op.peer;
    const u32 dst = w.sends ? op.peer : w.rank;
    const Matcher::Side other = w.sends ? Matcher::Side::receive : Matcher::Side::send;
    matcher_.for_each([&](const MatchKey& key, Matcher::Side side, u32) {
        if (side == other && key.src == src && key.dst == dst && key.tag < point_to_point_tags) {
            if (key.tag == op.tag && key.bytes != op.bytes) {
                w.other_bytes = key.bytes;
            } else if (key.bytes == op.bytes && key.tag != op.tag) {
                w.other_tag = key.tag;
            }
        }
    });
}

// Members whose own collectives of the communicator are fewer never joined this one.
void Simulation::explain_collective(Waiting& w, const Op& op) const {
    w.reason = Waiting::collective;
    w.bytes = op.bytes;
    const std::vector<u32>& members = model_.communicators[op.communicator].members;
    const u64 own = ranks_[w.rank].streams[op.communicator];
    const u32 count = members.empty() ? static_cast<u32>(ranks_.size()) : static_cast<u32>(members.size());
    for (u32 i = 0; i < count; ++i) {
        const u32 member = members.empty() ? i : members[i];
        if (ranks_[member].streams[op.communicator] < own) {
            w.missing.push_back(member);
        }
    }
}

}  // namespace yantra
