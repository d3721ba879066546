// InStep: the exchange of ranks in step, in loops over events that keep in registers what is
// constant; any other event ends a loop and is handled singly. Only in plain runs without a
// watcher.
#pragma once

#include "collective/exchange/departures.hpp"
#include "collective/exchange/rounds.hpp"
#include "collective/exchange/single.hpp"

namespace yantra::exchange::inline YANTRA_RUN {

class InStep {
public:
    InStep(Engine& engine, Transport& transport, Peers& peers, HandOvers& hand_overs, Single& single, Rounds& rounds,
           bool is_watched)
        : engine_(engine), transport_(transport), peers_(peers), hand_overs_(hand_overs), single_(single),
          rounds_(rounds), arrives_in_step_(!is_watched && !hand_overs.cross_bus()) {}

    // The second returns where it stopped: at another component's event, a pause, or a batch with
    // further events.
    void handle_arrivals(const EventRun& run, u32 at, u32 until);
    u32 handle_of_ranks(const EventRun& run, u32 at, u32 until);
    u32 handle_many(const RankEvent& event, u32 count);

private:
    template <bool is_one_kind>
    u32 arrive(const EventRun& run, u32 at, u32 until);
    u32 go_on(const EventRun& run, u32 at, u32 until);
    u32 reduce(const EventRun& run, u32 at, u32 until);
    u32 send(const EventRun& run, u32 at, u32 until);
    Packets* sends_alone(const RankEvent* event);
    bool send_together(const Packets& x) const;
    u32 send_many(ChunkId chunk, Packets& x, u32 count);

    Engine& engine_;
    Transport& transport_;
    Peers& peers_;
    HandOvers& hand_overs_;
    Single& single_;
    Rounds& rounds_;
    const bool arrives_in_step_;
    std::vector<OverLink> over_links_;
};

}  // namespace yantra::exchange
