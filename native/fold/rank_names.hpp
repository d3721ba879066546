// RankNames: which communicators and peers the operations of each rank name, and which jobs are equal
// apart from these names.
//
// Ranks that do the same still name different peers and groups. So each name is replaced by its index:
// its place among the names of the job, in the order of their first use. Two ranks are compared by
// indices, and an index is turned back into a communicator or a rank where the network matters.
#pragma once

#include <vector>

#include "base/vector.hpp"
#include "model/model.hpp"

namespace yantra {

struct NamedCommunicator {
    u32 name;        // as Op::communicator has it
    u32 kinds = 0;   // bit set of CollectiveKind
};

// What the operations of one job name, in order of first use.
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

    // The lowest index that means this communicator or peer to the rank; none if the rank does not
    // name it.
    u32 communicator_index(u32 rank, u32 communicator) const;
    u32 peer_index(u32 rank, u32 peer) const;

    // By job: the first job that is equal to it apart from names.
    Vector<u32> first_equal_job() const;

private:
    const Model& model_;
    Vector<JobNames> jobs_;
    // By rank and index, for each is asked for many times; a rank's begin at first_.
    Vector<u32> communicators_;
    Vector<u32> first_;
};

}  // namespace yantra
