// State: what decides the future of a simulation without congestion control, recovery or look, with
// times from now on; and the simulation moved in time. Trade-off: a walk over all packets. Not in it:
// what follows from the rest (sizes of packets, queues and buffers; rates and windows, from routes;
// that a port is busy, from its event; which senders can send), what losses alone read (stamps), and
// pacing: a sender at the rate of its port may send when the port is free, so none waits on a timer.
#pragma once

#include <bit>
#include <functional>
#include <span>
#include <vector>

#include "base/content_hash.hpp"
#include "network/packet/common.hpp"

namespace yantra::packet {

class Hosts;
class Switches;

// 128 bits, so that two different ones of 10^9 states are equal with a chance below 10^-20.
class StateHash {
public:
    struct Value {
        u64 one = 0;
        u64 other = 0;
        friend bool operator==(const Value&, const Value&) = default;
    };

    void add(u64 word) {
        value_.one = folded_product(value_.one ^ word, 0x9e3779b97f4a7c15) + 0xd6e8feb86659fd93;
        value_.other = folded_product(std::rotl(value_.other, 29) ^ word, 0xff51afd7ed558ccd) + 0xa0761d6478bd642f;
        ++words_;
    }
    Value value() const { return value_; }
    u64 words() const { return words_; }

private:
    Value value_;
    u64 words_ = 0;
};

// Of a port, or with the totals' in the last row.
struct Counts {
    u64 packets = 0;
    u64 sent_bytes = 0;
    u64 payload_bytes = 0;
    u64 busy_ticks = 0;
    u64 pauses = 0;
    u64 resumes = 0;
    u64 paused_ticks = 0;
    u64 marks = 0;
};

struct AllCounts {
    std::vector<Counts> of_ports;   // of the state's, in their order
    Totals totals;
    u64 events = 0;

    AllCounts since(const AllCounts& before) const;
};

class State {
public:
    using OfFlow = std::function<u64(u32 flow)>;

    // `links`: that packets cross; empty: any.
    State(Common& all, Hosts& hosts, Switches& switches, const std::vector<u32>& links);

    // When `sent` are sent, in their order, and nothing else is to begin. `name`: of flows under way,
    // which their numbers do not decide.
    StateHash hash(u64 now, std::span<const FlowSpec> sent, const OfFlow& name) const;
    // As hash(), with bytes from what each flow under way has acknowledged on, and no matter how many are left: streams go
    // on alike while all send full packets. Precondition: all flows that were sent have begun.
    StateHash hash_of_streams(u64 now) const;
    bool have_begun() const { return all_.progress.active == all_.progress.unfinished; }
    // Nothing was drawn at random between two equal values.
    u64 chances() const;
    bool can_lose() const { return all_.can_lose; }
    AllCounts counts() const;
    // `bytes`: of each flow under way, which they send meanwhile.
    void leap(u64 ticks, u64 times, const AllCounts& counted, u64 bytes = 0);
    void rename(const OfFlow& number);

    // Nothing is under way and no port waits: all that decides the future then is whose turn it is.
    bool rests() const;
    std::vector<bool> turns() const;   // of the ports
    void set_turns(const std::vector<bool>& turns);

private:
    struct Writer;

    Common& all_;
    Hosts& hosts_;
    Switches& switches_;
    std::vector<PortId> ports_;
};

}  // namespace yantra::packet
