// Rounds: all ranks in step at once, from arrival over hand-over and reduction to the send, without
// events where nothing else happens until then and no rank comes twice. A message's receiver gives
// the order of the next round. Trade-off: all ranks are checked first; one that differs sends all
// to in_step.
#pragma once

#include <span>

#include "collective/exchange/departures.hpp"
#include "collective/exchange/hand_overs.hpp"
#include "collective/exchange/peers.hpp"

namespace yantra::exchange::inline YANTRA_RUN {

class Rounds {
public:
    Rounds(const Actors& actors, Engine& engine, Transport& transport, Peers& peers, HandOvers& hand_overs)
        : actors_(actors), engine_(engine), transport_(transport), peers_(peers), hand_overs_(hand_overs) {}

    // Simulates every message from now on.
    void pass_none() { passes_ = false; }
    // False, without effect, if observable.
    bool go(const EventRun& run);

private:
    [[gnu::noinline]] void make_room();
    bool are_alike(std::span<const u32> chunks, u32 mark);
    bool is_like(const Packets& first, Packets& x, u32 mark);
    void send(std::span<const u32> chunks, u32 slot);
    // `mark`: of the arrivals; `ticks`: from one to the send. Returns the next arrivals in order.
    std::span<const u32> pass(std::span<const u32> chunks, u32 mark, u64 ticks, u64 events);
    u64 ticks_of_way(std::span<const u32> chunks);
    bool send_to_each_other(std::span<const u32> chunks, u32 mark);
    u64 rounds_alike(std::span<const u32> chunks);
    void count(std::span<const u32> chunks, u32 rounds);
    std::span<const u32> order_after(std::span<const u32> chunks, u32 rounds);

    const Actors& actors_;
    Engine& engine_;
    Transport& transport_;
    Peers& peers_;
    HandOvers& hand_overs_;
    bool passes_ = true;
    struct Seen {
        u64 round = 0;
        u32 at = 0;   // among the chunks of the round
    };
    u64 round_ = 0;            // the last one tried
    std::vector<Seen> seen_;        // by actor: the last one in which it was looked at
    std::vector<u32> of_round_;     // its chunks, if not one list
    std::vector<u32> receivers_;    // by place, that of the receiver
    std::vector<u32> places_;
    std::vector<OverLink> over_links_;
};

}  // namespace yantra::exchange
