// RankNames: communicators and peers that each rank's operations name, by index in order of first
// use, and which jobs are otherwise equal.
#pragma once

#include <vector>

#include "model/model.hpp"

namespace yantra {

struct NamedCommunicator {
    u32 name;        // as Op::communicator has it
    u32 kinds = 0;   // bit set of CollectiveKind
};

struct JobNames {
    const Job* job = nullptr;
    std::vector<NamedCommunicator> communicators;
    std::vector<u32> peers;   // as Op::peer has them
    std::vector<bool> sends;  // by index of the peer: whether messages are sent to it
    bool has_custom_collective = false;
    bool accesses_memory = false;
    u64 hash = 0;             // of all operations, without the names
};

class RankNames {
public:
    explicit RankNames(const Model& model);

    const std::vector<JobNames>& by_job() const { return jobs_; }
    const JobNames& of(u32 rank) const { return jobs_[model_.work.job_of[rank]]; }

    u32 communicator(u32 rank, u32 index) const {
        return communicators_[first_[rank] + index];
    }
    u32 peer(u32 rank, u32 index) const { return model_.work.peer_at(rank, of(rank).peers[index]); }

    // The lowest index, or none.
    u32 communicator_index(u32 rank, u32 communicator) const;
    u32 peer_index(u32 rank, u32 peer) const;

    // By job, ignoring names.
    std::vector<u32> first_equal_job() const;

private:
    const Model& model_;
    std::vector<JobNames> jobs_;
    std::vector<u32> communicators_;
    std::vector<u32> first_;
};

}  // namespace yantra
