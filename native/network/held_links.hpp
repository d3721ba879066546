// HeldLinks: links reserved for messages in turn, whose times are then known. When somebody else
// sends over one, the holder gives up the hold and sends the rest normally. Trade-off: a holder
// must know its messages' progress at any tick.
#pragma once

#include <span>

#include "base/types.hpp"
#include "engine/event.hpp"
#include "network/network.hpp"

namespace yantra {

struct MessagesInTurn {
    Message message;
    u64 times = 0;
};

class HeldLinks {
public:
    class Holder {
    public:
        // The hold must be given up before returning.
        virtual void meets(u32 name) = 0;

    protected:
        ~Holder() = default;
    };

    virtual void tell(Holder& holder) = 0;
    // `never` where links cannot be held.
    virtual u64 undisturbed(const Message& message) = 0;
    struct Departure {
        u32 link = none;     // none: their order is unknown
        u64 ticks = 0;
    };
    virtual Departure departure(const Message&) { return {}; }
    // Returns the number for hold().
    virtual u32 learn(std::span<const MessagesInTurn> messages) = 0;
    // False if links are in use or held.
    virtual bool hold(u32 learnt, u64 ticks, u32 name) = 0;
    virtual void add(u32 learnt) = 0;
    // Only the first `through` of each message count.
    virtual void give_up(u32 learnt, std::span<const u64> through) = 0;
    // Below 0: will begin to leave.
    virtual void carry_on(const Message& message, Notice arrived, i64 since) = 0;

protected:
    ~HeldLinks() = default;
};

}  // namespace yantra
