// NetworkModel: takes messages and schedules the events that the sender names: the last byte
// arrives, or has left. Its own are under Owner::network.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/ensure.hpp"
#include "base/ids.hpp"
#include "engine/component.hpp"

namespace yantra {

// `count` ranks send one like it.
struct Message {
    RankId src;
    RankId dst;
    u64 bytes = 0;
    u64 ranks = 1;
    // Order within a tick, independent of rank numbers. Upper half: sender; lower half, if not 0:
    // the chunk. Equal values between two ranks are one connection.
    u64 order = 0;
};

struct LinkUse {
    u64 bytes = 0;
    u64 messages = 0;
    u64 busy_ticks = 0;
};

struct LinkRecord {
    u32 dimension;
    u32 from;   // rank, or none for the one switch of the group of `to`; if a group has
    u32 to;     // several switches, these are numbered on from the last rank
    LinkUse use;
    double bytes_per_ns = 0.0;   // of a fabric's link; else 0: its dimension's
};

struct Disturbance {
    u64 rerouted = 0;       // messages that took another way
    u64 waited = 0;         // messages that waited for a failed link
    u64 waited_ticks = 0;   // their sum; if packets go apart, over parts
    u64 lost_packets = 0;   // where messages go as packets, which are resent
    u64 lost_bytes = 0;     // payload
};

// For equal messages that nothing can delay.
struct FixedWay {
    u64 ticks = 0;
    LinkUse* use = nullptr;   // null: no such way
};

namespace packet {
class Seen;
}

class HeldLinks;

struct OverLink {
    u32 link;
    Notice arrived;
    RankId src;
    RankId dst;
    u64 order = 0;   // as in Message
};

// Shortcuts for many equal messages, with the times and use of send().
class FastPath {
public:
    virtual FixedWay fixed_way(const Message&) { return {}; }
    virtual bool ways_are_alike() const { return false; }
    // None if the network must see each message.
    virtual u32 only_link(RankId /*src*/, RankId /*dst*/) { return none; }
    // `link` is from only_link().
    virtual void send_over(u32 /*link*/, const Message&, Notice /*arrived*/) { fail("a network that named no link"); }
    // Sends them in order, `bytes` each.
    virtual void send_over_links(std::span<const OverLink> /*many*/, u64 /*bytes*/) {
        fail("a network that named no link");
    }
    virtual void send_round(std::span<const OverLink> many, u64 bytes) { send_over_links(many, bytes); }
    // Ticks of one such round, if equal for all over distinct links that are free by then; else 0.
    virtual u64 ticks_of_rounds(std::span<const OverLink> /*many*/, u64 /*bytes*/) { return 0; }
    virtual void pass_rounds(std::span<const OverLink> /*many*/, u64 /*bytes*/, u64 /*rounds*/) {
        fail("a network that named no ticks of rounds");
    }

protected:
    ~FastPath() = default;
};

class KnownTimes {
public:
    virtual u64 alone(const Message& message, u64 times, std::vector<LinkUse>& use) const = 0;

protected:
    ~KnownTimes() = default;
};

// For a network whose state is its pending events.
class RecurringState {
public:
    virtual std::vector<LinkUse> what_repeats() const = 0;   // for repeat()
    virtual void repeat(const std::vector<LinkUse>& before, u64 times) = 0;
    // Relative to now; false if that is impossible now.
    virtual bool describe(std::vector<u64>& /*words*/) const { return true; }
    virtual void leap(u64 /*ticks*/) {}   // moves what it described

protected:
    ~RecurringState() = default;
};

struct NetworkCapabilities {
    FastPath* fast_path = nullptr;
    const KnownTimes* known_times = nullptr;   // messages never wait
    RecurringState* recurring_state = nullptr;
    HeldLinks* held_links = nullptr;           // for messages in turn that meet no others
};

// Of a network that can take several.
struct ThreadsTaken {
    u32 count = 0;
    std::string why;           // so many
};

struct NetworkReport {
    std::vector<u64> busiest;       // how long the busiest link of each dimension carried bytes; may be empty
    Disturbance disturbance;
    u64 under_way = 0;         // messages that it may keep for ever
    // Null for a network without packets.
    std::shared_ptr<const packet::Seen> packets;
    u64 wakes = 0;             // of the engine's events: they only lead to its own,
    u64 own_events = 0;        // which are these
    ThreadsTaken threads = {};
};

inline namespace YANTRA_RUN {

// At most eight virtual functions (tests/tidy).
class NetworkModel : public Component {
public:
    NetworkModel() = default;
    NetworkModel(const NetworkModel&) = delete;
    NetworkModel& operator=(const NetworkModel&) = delete;
    virtual ~NetworkModel() = default;

    virtual void send(const Message& message, Notice arrived, Notice departed) = 0;
    // Constant over the run.
    virtual NetworkCapabilities capabilities() { return {}; }

    // Links that carried something, by dimension.
    virtual std::vector<LinkRecord> links() const = 0;
    virtual std::vector<LinkUse> dimensions() const = 0;
    virtual NetworkReport report() { return {}; }
    virtual void ranks_end() {}
};

}  // namespace YANTRA_RUN

}  // namespace yantra
