#include "fold/rank_names.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <vector>

#include "base/hash.hpp"

namespace yantra {

namespace {

u32 index_of(const std::vector<u32>& names, u32 name) {
    return static_cast<u32>(std::find(names.begin(), names.end(), name) - names.begin());
}

u32 index_of(const std::vector<NamedCommunicator>& named, u32 name) {
    const auto found = std::find_if(named.begin(), named.end(),
                                    [name](const NamedCommunicator& c) { return c.name == name; });
    return static_cast<u32>(found - named.begin());
}

// 0 where it names nobody.
u64 index_in(const JobNames& names, const Op& op) {
    return op.kind == OpKind::collective ? index_of(names.communicators, op.communicator)
           : is_message(op)              ? index_of(names.peers, op.peer)
                                         : 0;
}

u64 hash_of(u64 hash, const JobNames& names, const Op& op) {
    constexpr u64 odd = 0x9e3779b97f4a7c15U;
    const u64 kinds = u64{static_cast<u8>(op.kind)} | u64{static_cast<u8>(op.node_class)} << 8U |
                      u64{op.resource} << 16U | u64{static_cast<u8>(op.collective)} << 24U |
                      u64{op.wakes} << 32U;
    hash = mix(hash, kinds ^ std::rotl(index_in(names, op), 40));
    hash = mix(hash, op.bytes ^ std::rotl(op.ticks * odd, 23));
    return mix(hash, op.tag ^ std::rotl(op.busy_ticks * odd, 17));
}

bool is_same_apart_from_names(const Op& a, const Op& b) {
    return a.kind == b.kind && a.node_class == b.node_class && a.resource == b.resource &&
           a.collective == b.collective && a.wakes == b.wakes && a.tag == b.tag && a.bytes == b.bytes &&
           a.ticks == b.ticks && a.busy_ticks == b.busy_ticks;
}

void add_communicator(JobNames& names, const Op& op) {
    const u32 index = index_of(names.communicators, op.communicator);
    if (index == names.communicators.size()) {
        names.communicators.push_back({op.communicator, 0});
    }
    names.communicators[index].kinds |= 1u << static_cast<u32>(op.collective);
}

void add_peer(JobNames& names, u32 index, const Op& op) {
    if (index == names.peers.size()) {
        names.peers.push_back(op.peer);
        names.sends.push_back(false);
    }
    names.sends[index] = names.sends[index] || op.kind == OpKind::send;
}

JobNames names_of(const Job& job) {
    JobNames names;
    names.job = &job;
    u32 last_peer = none;
    u32 last_index = none;
    for (const Op& op : job.ops) {
        names.accesses_memory |= op.kind == OpKind::memory;
        if (op.kind == OpKind::collective) {
            names.has_custom_collective |= op.custom != none;
            add_communicator(names, op);
        } else if (is_message(op)) {
            if (op.peer != last_peer) {
                last_peer = op.peer;
                last_index = index_of(names.peers, op.peer);
            }
            add_peer(names, last_index, op);
        }
    }
    for (const Op& op : job.ops) {
        names.hash = hash_of(names.hash, names, op);
    }
    for (u32 position : job.position) {
        names.hash = mix(names.hash, position);
    }
    return names;
}

bool equal(const JobNames& a, const JobNames& b) {
    const Graph& x = *a.job->graph;
    const Graph& y = *b.job->graph;
    if (x.child_begin != y.child_begin || x.child != y.child || a.job->position != b.job->position) {
        return false;
    }
    for (std::size_t i = 0; i < a.job->ops.size(); ++i) {
        const Op& one = a.job->ops[i];
        const Op& other = b.job->ops[i];
        if (!is_same_apart_from_names(one, other) || index_in(a, one) != index_in(b, other)) {
            return false;
        }
    }
    return true;
}

}  // namespace

RankNames::RankNames(const Model& model) : model_(model) {
    for (const auto& job : model.work.distinct_jobs) {
        jobs_.push_back(names_of(*job));
    }
    first_.reserve(model.work.job_of.size() + 1);
    for (u32 rank = 0; rank < model.work.job_of.size(); ++rank) {
        first_.push_back(static_cast<u32>(communicators_.size()));
        for (const NamedCommunicator& named : of(rank).communicators) {
            communicators_.push_back(model.work.communicator_at(rank, named.name));
        }
    }
    first_.push_back(static_cast<u32>(communicators_.size()));
}

u32 RankNames::communicator_index(u32 rank, u32 communicator) const {
    const auto begin = communicators_.begin() + first_[rank];
    const auto end = communicators_.begin() + first_[rank + 1];
    const auto found = std::find(begin, end, communicator);
    return found == end ? none : static_cast<u32>(found - begin);
}

u32 RankNames::peer_index(u32 rank, u32 peer) const {
    const std::vector<u32>& named = of(rank).peers;
    for (u32 index = 0; index < named.size(); ++index) {
        if (model_.work.peer_at(rank, named[index]) == peer) {
            return index;
        }
    }
    return none;
}

std::vector<u32> RankNames::first_equal_job() const {
    std::vector<u32> first(jobs_.size(), none);
    std::unordered_multimap<u64, u32> by_hash;
    for (u32 job = 0; job < jobs_.size(); ++job) {
        const auto [begin, end] = by_hash.equal_range(jobs_[job].hash);
        for (auto it = begin; it != end && first[job] == none; ++it) {
            first[job] = equal(jobs_[it->second], jobs_[job]) ? it->second : none;
        }
        if (first[job] == none) {
            first[job] = job;
            by_hash.emplace(jobs_[job].hash, job);
        }
    }
    return first;
}

}  // namespace yantra
