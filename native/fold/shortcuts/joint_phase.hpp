// JointPhase: the time of an exchange phase among different classes, known once all have come: a
// recurrence over the ring's classes, linear over (max, +) (Baccelli et al., Synchronization and
// Linearity, 1992, section 2.3). Trade-off: only where every member's end waits for every other's
// start.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "fold/shortcuts/closed_form.hpp"

namespace yantra {

class JointPhase {
public:
    const std::vector<u32>& classes() const { return classes_; }   // ascending
    u32 column_of(u32 of_class) const;
    void ends(std::span<const u64> starts, std::vector<u64>& ends, std::vector<u64>& gone) const;

    u64 most() const { return most_; }                             // upper bound of ticks from the last start
                                                                   // to the last end
    u64 messages() const { return messages_; }                     // that one rank sends
    const std::vector<LinkUse>& use(u32 column) const { return use_[column]; }

private:
    friend class JointPhaseFinder;

    struct Steps {
        u64 count = 0;              // hand-overs
        u64 sends = 0;              // of them followed by a send
        u64 work = 0;               // ticks of a hand-over and its reduction
        std::vector<u32> from;      // by column: whose message it waits for
        std::vector<u64> message;   // by column: ticks of what it sends
    };
    void play(std::vector<u64>& ends, std::vector<u64>& gone) const;

    std::vector<u32> classes_;
    std::vector<Steps> steps_;
    std::vector<u64> together_;
    u64 most_ = 0;
    u64 messages_ = 0;
    std::vector<std::vector<LinkUse>> use_;
};

// None if only events can decide or all are of one class.
std::optional<JointPhase> joint_phase(const LonePhase& phase, NetworkModel& network,
                               const std::function<u32(u32 rank)>& class_of);

}  // namespace yantra
