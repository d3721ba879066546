// RankNames: communicators and peers that each rank's operations name, and which jobs are equal
// except for these.
//
// Ranks are compared by the names' indices in their job's order of first use.
#pragma once

#include <vector>

#include "base/vector.hpp"
#include "model/model.hpp"

namespace yantra {

struct NamedCommunicator {
    u32 name;        // as Op::communicator has it
    u32 kinds = 0;   // bit set of CollectiveKind
};

struct JobNames {
    const Job* job = nullptr;
    Vector<NamedCommunicator> communicators;
    Vector<u32> peers;   // as Op::peer has them
    std::vector<bool> sends;  // by index of the peer: whether messages are sent to it
    bool has_custom_collective = false;
    bool accesses_memory = false;
    u64 hash = 0;             // of all operations, without the names
};

class RankNames {
public:
    explicit RankNames(const Model& model);

    const Vector<JobNames>& by_job() const { return jobs_; }
    const JobNames& of(u32 rank) const { return jobs_[model_.work.job_of[rank]]; }

    u32 communicator(u32 rank, u32 index) const {
        return communicators_[first_[rank] + index];
    }
    u32 peer(u32 rank, u32 index) const { return model_.work.peer_at(rank, of(rank).peers[index]); }

    // The lowest index, or none.
    u32 communicator_index(u32 rank, u32 communicator) const;
    u32 peer_index(u32 rank, u32 peer) const;

    // By job, ignoring names.
    Vector<u32> first_equal_job() const;

private:
    const Model& model_;
    Vector<JobNames> jobs_;
    // By rank and index; a rank's begin at first_.
    Vector<u32> communicators_;
    Vector<u32> first_;
};

}  // namespace yantra
