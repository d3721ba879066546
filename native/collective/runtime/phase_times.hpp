// PhaseTimes: somebody who may know what a phase of the exchange machine takes without its messages.
//
// A run has one only where it is known that all that take part in a phase do the same at the same time
// (fold/shortcuts/closed_form.hpp), or how those that do not wait for each other (fold/shortcuts/joint_phase.hpp).
// What was known may turn out not to hold, while the phase is under way: then it is played from where it is
// (PhaseProgress), and the end that was known is void.
#pragma once

#include <optional>
#include <span>

#include "base/vector.hpp"
#include "collective/runtime/phase_input.hpp"

namespace yantra {

// How far a phase is that hands over one packet at a time, before what happens in the present tick.
struct PhaseProgress {
    enum class Next : u8 { hand_over, reduction, arrival };   // that ends next, of the packet of now
    u64 packets = 0;   // before it: the messages of all of them are through
    Next next = Next::hand_over;
    u64 ticks = 0;     // until that; of an arrival, since the message was sent
};

// The same of a phase that has several packets under way.
struct PhaseMoment {
    struct HandOver {
        u64 ticks = 0;        // until it ends, or until the reduction after it does
        u32 run = 0;
        bool reduces = false;
    };
    struct UnderWay {
        u64 number = 0;       // of the message, among those that were sent
        i64 since = 0;        // ticks since it began to leave; below 0, until it will
    };
    u64 injected = 0;         // packets
    u64 sent = 0;
    u64 receipts = 0;
    u64 free = 0;
    Vector<HandOver> handed_over;
    Vector<UnderWay> under_way;   // in the order in which they were sent
    Vector<i64> waiting;          // by counter: arrivals less receives posted
};

// When a phase of a chunk ends.
struct KnownEnd {
    ActorId actor;
    ChunkId chunk;
    u64 ticks = 0;   // from now
};

class PhaseTimes {
public:
    // A chunk starts a phase. None where only events can tell; else the ends that are known now: its own, or those
    // of all that take part if it is the last of them to come, or no end where others have yet to come. Counts the
    // phase, if not none: its messages will not be sent.
    virtual std::optional<std::span<const KnownEnd>> ends(const PhaseInput& input, ChunkId chunk) = 0;
    // How many such phases may follow each other in one event, because their ends are always known once all have come
    // to the first, and a clock counts them; 0 if they are not. Of the input no chunk needs to be there.
    virtual u64 most_alike(const PhaseInput& input) = 0;
    // A chunk stands for further ones behind it, of so many bytes: its phase ends when theirs would.
    virtual void stands_for(ChunkId chunk, std::span<const u64> more) = 0;
    // Whether what was known may turn out not to hold, so that chunks have to be able to take turns.
    virtual bool may_not_hold() const { return false; }
    // Whether an end of a phase of a chunk that comes now is void.
    virtual bool is_void(ChunkId chunk) = 0;
    // Whether it is also that of the phases of all chunks that it stands for and could have taken turns with.
    virtual bool ends_all(ChunkId /*chunk*/) { return false; }

protected:
    ~PhaseTimes() = default;
};

}  // namespace yantra
