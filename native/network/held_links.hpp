// HeldLinks: links that a network keeps for messages that come in turn, whose times are then known beforehand.
//
// Who knows that nobody else sends over some links need not have every message played. Whether anybody will, only
// time shows: as soon as somebody is to send over a link that is held, whoever holds it is told, gives up all that
// it holds with that link, and sends from there on what it has left. Trade-off: a holder must be able to say at any
// tick how far its messages are.
#pragma once

#include <span>

#include "base/types.hpp"
#include "engine/event.hpp"
#include "network/network.hpp"

namespace yantra {

// Messages that are sent one after the other.
struct MessagesInTurn {
    Message message;
    u64 times = 0;
};

class HeldLinks {
public:
    // Who holds links, by a name of its own for each hold.
    class Holder {
    public:
        // Somebody sends over a link that is held. Precondition of the return: it is given up.
        virtual void meets(u32 name) = 0;

    protected:
        ~Holder() = default;
    };

    virtual void tell(Holder& holder) = 0;
    // The ticks of a message that meets no others but those alike; `never` where links are not held for it.
    virtual u64 undisturbed(const Message& message) = 0;
    // The link over which a message leaves, for which others of its sender wait in their order, and for how long.
    struct Departure {
        u32 link = none;     // none: their order is not known
        u64 ticks = 0;
    };
    virtual Departure departure(const Message&) { return {}; }
    // Messages that hold() will be asked for, by number.
    virtual u32 learn(std::span<const MessagesInTurn> messages) = 0;
    // Has the links of such messages for so many ticks from now, and counts what they carry; false if others are
    // under way on them or hold them.
    virtual bool hold(u32 learnt, u64 ticks, u32 name) = 0;
    // Counts what other messages carry over links that are held already.
    virtual void add(u32 learnt) = 0;
    // Gives them up before that time, when so many of each of the messages are through: the others do not count.
    virtual void give_up(u32 learnt, std::span<const u64> through) = 0;
    // Carries on a message that began to leave so many ticks ago over links that are given up now; below 0, will begin.
    virtual void carry_on(const Message& message, Notice arrived, i64 since) = 0;

protected:
    ~HeldLinks() = default;
};

}  // namespace yantra
