// JointPhase: what a phase of the exchange machine takes among classes that do different things or lie at
// different distances, found without its messages once all of them have come.
//
// The ring of one member names, position by position, the classes that take part, and each rank of a class
// hears from ranks of the same classes in the same steps. With one packet at a time a member's next packet
// begins when its own has gone and its peer's has come: a recurrence over classes instead of events,
// linear over (max, +) (Baccelli et al., Synchronization and Linearity, 1992, section 2.3).
//
// Trade-off: a phase has such a form only if every member's end waits for the start of every other. So nobody
// can be over before the last has come, and it is then that all ends are found.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "base/vector.hpp"
#include "fold/shortcuts/closed_form.hpp"

namespace yantra {

class JointPhase {
public:
    const Vector<u32>& classes() const { return classes_; }   // ascending
    u32 column_of(u32 of_class) const;
    // The ticks at which the classes end, of those at which they start; by column. `gone` is kept for its memory.
    void ends(std::span<const u64> starts, Vector<u64>& ends, Vector<u64>& gone) const;

    u64 most() const { return most_; }                             // ticks from the last start to the last end, or more
    u64 messages() const { return messages_; }                     // that one rank sends
    const Vector<LinkUse>& use(u32 column) const { return use_[column]; }

private:
    friend class JointPhaseFinder;

    // Packets alike, in the order of the phase.
    struct Steps {
        u64 count = 0;              // hand-overs
        u64 sends = 0;              // of them followed by a send
        u64 work = 0;               // ticks of a hand-over and its reduction
        Vector<u32> from;      // by column: whose message it waits for
        Vector<u64> message;   // by column: ticks of what it sends
    };
    void play(Vector<u64>& ends, Vector<u64>& gone) const;

    Vector<u32> classes_;
    Vector<Steps> steps_;
    Vector<u64> together_;   // ticks to the end of each column where all start at once
    u64 most_ = 0;
    u64 messages_ = 0;
    Vector<Vector<LinkUse>> use_;
};

// None where only events can tell, or where all are of one class. The phase is as a member sees it.
std::optional<JointPhase> joint_phase(const LonePhase& phase, NetworkModel& network,
                               const std::function<u32(u32 rank)>& class_of);

}  // namespace yantra
