// NetworkModel: takes messages, and later reports each one's arrival.
//
// Whoever sends names the events it wants: one when the last byte reaches the destination and, if
// asked for, one when it has left the source. A model schedules them on the engine's queue, and events
// of its own under Owner::network, whose kinds nobody else reads. It knows nothing of collectives. The
// implementations are the fidelity ladder.
#pragma once

#include <memory>
#include <span>

#include "base/ensure.hpp"
#include "base/ids.hpp"
#include "base/vector.hpp"
#include "engine/event.hpp"

namespace yantra {

// A message, and how many ranks send one like it at this time: counts are for all of them.
struct Message {
    RankId src;
    RankId dst;
    u64 bytes = 0;
    u64 ranks = 1;
    // Of those that its rank sends in one tick, for networks where messages wait for others: none of it may follow from
    // numbers of ranks. The upper half says by whom it is sent, the lower one, if not 0, which chunk of it: one
    // connection between two ranks carries those.
    u64 order = 0;
};

// What one link, or one dimension where links do not interact, carried.
struct LinkUse {
    u64 bytes = 0;
    u64 messages = 0;
    u64 busy_ticks = 0;
};

// The ends of a link and what it carried.
struct LinkRecord {
    u32 dimension;
    u32 from;   // rank, or none for the one switch of the group of `to`; where groups have
    u32 to;     // several switches, these are numbered on from the last rank
    LinkUse use;
    double bytes_per_ns = 0.0;   // of a link of a fabric; else 0: that of its dimension
};

// What links that failed did to messages.
struct Disturbance {
    u64 rerouted = 0;       // messages that went on by another way
    u64 waited = 0;         // messages that waited for a link that was down
    u64 waited_ticks = 0;   // the sum of how long; where packets go apart, of each part of a message
    u64 lost_packets = 0;   // where messages go as packets, which are sent again
    u64 lost_bytes = 0;     // their payload
};

// Of messages of one size between two ranks, where none can delay another and all count for one use: how
// long each takes, and where it is counted. Whoever sends many alike asks once, and then schedules and
// counts them itself.
struct FixedWay {
    u64 ticks = 0;
    LinkUse* use = nullptr;   // null: there is no such way
};

namespace packet {
class Seen;
}

class HeldLinks;

// One of several messages of one size, each over a link that is all its way.
struct OverLink {
    u32 link;
    Notice arrived;
    RankId src;
    RankId dst;
    u64 order = 0;   // as in Message
};

// For who sends many messages alike, as collectives do: ways that are asked for once, links that need no search, and
// whole rounds. A network hands one out where it is worth its while; whoever uses it gets the times and the use of links
// that send() would give.
class FastPath {
public:
    virtual FixedWay fixed_way(const Message&) { return {}; }
    // Whether those of messages of one size are the same between any two ranks, and each has one.
    virtual bool ways_are_alike() const { return false; }
    // The link that is all the way between two ranks; none where there is no such link, or where the network wants to
    // know of each message.
    virtual u32 only_link(RankId /*src*/, RankId /*dst*/) { return none; }
    // Sends over the link that only_link() named for the ends of the message.
    virtual void send_over(u32 /*link*/, const Message&, Notice /*arrived*/) { fail("a network that named no link"); }
    // The same of many, in their order: each carries `bytes`.
    virtual void send_over_links(std::span<const OverLink> /*many*/, u64 /*bytes*/) {
        fail("a network that named no link");
    }
    // The same where nothing else happens in this tick, and no two are of one rank.
    virtual void send_round(std::span<const OverLink> many, u64 bytes) { send_over_links(many, bytes); }
    // The ticks of the same again and again, each time when all before have arrived: where all take as long, and
    // each link is free by then and meant once. Else 0.
    virtual u64 ticks_of_rounds(std::span<const OverLink> /*many*/, u64 /*bytes*/) { return 0; }
    // So many of these rounds are over.
    virtual void pass_rounds(std::span<const OverLink> /*many*/, u64 /*bytes*/, u64 /*rounds*/) {
        fail("a network that named no ticks of rounds");
    }

protected:
    ~FastPath() = default;
};

// Of a network on which messages never wait: how long each takes.
class KnownTimes {
public:
    // The ticks of a message, and in `use`, by dimension, `times` of it.
    virtual u64 alone(const Message& message, u64 times, Vector<LinkUse>& use) const = 0;

protected:
    ~KnownTimes() = default;
};

// Of a network whose pending events, what was carried and what describe() says are all its state: a run that comes to
// a state again is moved on.
class RecurringState {
public:
    virtual Vector<LinkUse> what_repeats() const = 0;   // what repeat() wants
    // What was carried since `before` is carried so many times more.
    virtual void repeat(const Vector<LinkUse>& before, u64 times) = 0;
    // Adds what its future depends on beside its events, from now on; false if that cannot be said now.
    virtual bool describe(Vector<u64>& /*words*/) const { return true; }
    virtual void leap(u64 /*ticks*/) {}   // moves on what it described

protected:
    ~RecurringState() = default;
};

// What others may rely on, each an interface that a network hands out or does not. One that says nothing promises
// nothing, and is right all the same.
struct NetworkCapabilities {
    FastPath* fast_path = nullptr;
    const KnownTimes* known_times = nullptr;   // messages never wait
    RecurringState* recurring_state = nullptr;
    HeldLinks* held_links = nullptr;           // for messages that come in turn and meet no others
};

// What there is to say of a network at the end, beside its links and dimensions.
struct NetworkReport {
    Vector<u64> busiest;       // how long the busiest link of each dimension carried bytes; empty without links
    Disturbance disturbance;
    u64 under_way = 0;         // messages that it was given and may keep for ever
    // What there is to look at of packets, up to now; null where nothing goes as packets.
    std::shared_ptr<const packet::Seen> packets;
};

inline namespace YANTRA_RUN {

// At most eight virtual functions (tests/tidy): what is for few networks goes into an interface of its own.
class NetworkModel {
public:
    NetworkModel() = default;
    NetworkModel(const NetworkModel&) = delete;
    NetworkModel& operator=(const NetworkModel&) = delete;
    virtual ~NetworkModel() = default;

    virtual void send(const Message& message, Notice arrived, Notice departed) = 0;
    virtual void handle(const Event& event) = 0;
    // Handles events of a run from `at` on, at most up to `until`; returns the first that it left.
    virtual u32 handle_run(const EventRun& run, u32 at, u32 /*until*/) {
        handle(run.event(at));
        return at + 1;
    }
    // The same for the whole run.
    virtual NetworkCapabilities capabilities() { return {}; }

    // Use of every link that carried something, by dimension.
    virtual Vector<LinkRecord> links() const = 0;
    // Use of each dimension; whether a hop or a crossing counts is the model's grain.
    virtual Vector<LinkUse> dimensions() const = 0;
    virtual NetworkReport report() { return {}; }
    // All ranks have finished: what crosses links from now on is none of the run's time, unless more is sent.
    virtual void ranks_end() {}
};

}  // namespace YANTRA_RUN

}  // namespace yantra
