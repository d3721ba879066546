// InStep: the exchange of ranks in step, and of packets that come together, in loops over events.
//
// Most packets begin and end nothing. For them a loop keeps in registers what is constant, and
// queues their events as runs; any other event ends it and is handled singly. Recorded runs have no
// runs of events, so there is no probe here; there must be no watcher either.
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

    // Handle events from `at` to `until`. The second returns where it stopped: at another component's
    // event, a pause, or a batch with further events, which it leaves running.
    void handle_arrivals(const EventRun& run, u32 at, u32 until);
    u32 handle_of_ranks(const EventRun& run, u32 at, u32 until);
    // `count` events of a chunk's successive packets; returns how many were handled.
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
    Vector<OverLink> over_links_;
};

}  // namespace yantra::exchange
