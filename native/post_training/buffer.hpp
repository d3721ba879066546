// Buffer: groups that were submitted, what became of each, and which the trainer takes next.
#pragma once

#include <vector>

#include "post_training/job.hpp"
#include "post_training/pieces.hpp"

namespace yantra::post_training {

enum class Fate : u8 { running, buffered, trained, filtered, stale, surplus };

struct GroupColumns {
    std::vector<u8> fate;
    std::vector<Time> resolved;
    std::vector<Time> left;
    std::vector<i64> step;
};

class Buffer {
public:
    Buffer(const Job& job, const Pieces& pieces) : job_(&job), pieces_(&pieces) {}

    u32 submitted() const { return static_cast<u32>(columns_.fate.size()); }
    u32 running() const { return running_; }     // submitted and not resolved
    u32 accepted() const { return accepted_; }   // ever
    u32 filtered() const { return filtered_; }
    u32 buffered() const { return static_cast<u32>(in_order_.size()); }
    const GroupColumns& columns() const { return columns_; }

    // The next one.
    GroupId submit();
    // One of its samples is; it is resolved with the last.
    void rewarded(GroupId group);
    // Those whose last reward came; false if there are none.
    bool resolve(Time now);
    // Throws away what is too old when so many mini-batches are trained; false if nothing is.
    bool discard(Time now, u32 trained);
    // The batch of a step; false if it is not there yet.
    bool take(Time now, u32 step, std::vector<GroupId>& batch);
    void leaves(GroupId group, Time now) { columns_.left[group.index()] = now; }

private:
    Fate fate(GroupId group) const { return static_cast<Fate>(columns_.fate[group.index()]); }
    void settle(GroupId group, Fate fate) { columns_.fate[group.index()] = static_cast<u8>(fate); }
    u32 oldest_of(GroupId group) const;
    bool has_batch() const;

    const Job* job_;
    const Pieces* pieces_;
    GroupColumns columns_;
    std::vector<u32> unrewarded_;       // samples of each group
    std::vector<u32> oldest_;           // version of each that was accepted
    std::vector<GroupId> resolving_;    // at this instant
    std::vector<GroupId> in_order_;     // buffered, in the order in which they are taken
    u32 running_ = 0;
    u32 accepted_ = 0;
    u32 filtered_ = 0;
    u32 first_unresolved_ = 0;
    u32 judged_at_ = none;              // mini-batches trained when the age of all was looked at
};

}  // namespace yantra::post_training
