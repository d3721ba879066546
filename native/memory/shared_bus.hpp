// SharedBus: the LogGP bus between a rank and its memory agent.
//
// Ports 0 (rank side) and 1 (memory side) of the outer bus, 2 and 3 of the inner bus owned by port
// 0. (LogGP: Alexandrov, Ionescu, Schauser and Scheiman, SPAA 1995; the protocol is upstream's,
// astra-sim-semantics 5.8.)
#pragma once

#include <array>
#include <deque>

#include "base/clock.hpp"
#include "base/cut_sizes.hpp"
#include "base/ids.hpp"
#include "engine/component.hpp"
#include "engine/completion.hpp"
#include "engine/engine.hpp"
#include "memory/shared_bus_parameters.hpp"
#include "memory/shared_bus_probe.hpp"

namespace yantra::inline YANTRA_RUN {

struct BusCrossing {
    ActorId actor;
    bool from_memory = false;   // starts at the memory side
    bool reduces = false;       // is reduced at the far side
    bool back = false;          // returns to where it came from
    u64 bytes = 0;
    u32 node = none;            // of the node it is for, among those of all actors
    Completion then;
};

class SharedBus final : public Component {
public:
    SharedBus(Engine& engine, Completions& completions, const SharedBusParameters& parameters,
              TimeScale scale, bool sizes_of_32_bits, u32 actors);

    // Throws Unsupported for sizes that upstream's 32 bits make negative.
    void cross(const BusCrossing& crossing);
    void handle_of_actor(ActorId actor, const RankEvent& event) override;
    const CutSizes& cut() const { return cut_; }

private:
    enum Kind : u32 { sent, received, processed };   // of an actor's events; a: the port

    // Crossing or waiting.
    struct Request {
        // When the request is done.
        enum Then : u8 { deliver, queue_send, queue_processing, retire_outer };
        Then then = deliver;
        bool process = false;      // is reduced at the far side
        bool back = false;         // returns to where it came from
        i64 bytes = 0;
        u32 node = none;
        Completion completion;
        // The outer request that an inner one represents.
        bool outer_process = false;
        bool outer_back = false;
        Then outer_then = deliver;
    };
    struct Port {
        enum Activity : u8 { idle, sending, receiving };
        Activity current = idle;
        Activity previous = idle;
        bool processing = false;
        u32 sent_in_a_row = 0;
        u64 last = 0;
        std::deque<Request> sends;
        std::deque<Request> receives;
        std::deque<Request> to_process;
    };
    using Ports = std::array<Port, 4>;

    static Request inner_request(const Request& outer, Request::Then then, bool back);
    static Request outer_request(const Request& inner);

    void enqueue(ActorId actor, u32 port, const Request& request);
    bool yields(ActorId actor, u32 port);
    void go_on(ActorId actor, u32 port);
    void start(ActorId actor, u32 port);
    void sent_by(ActorId actor, u32 port);
    void received_at(ActorId actor, u32 port);
    void return_or_retire(ActorId actor, u32 port, Request request);
    void process(ActorId actor, u32 port);
    void processed_at(ActorId actor, u32 port);
    void retire(ActorId actor, const Request& request);
    void schedule(ActorId actor, double ticks, Kind kind, u32 port) {
        engine_.of_ranks.schedule(actor, scale_.rounded(ticks), {Owner::bus, kind}, port);
    }

    Engine& engine_;
    Completions& completions_;
    SharedBusParameters parameters_;
    TimeScale scale_;
    bool sizes_of_32_bits_;
    SharedBusProbe probe_;
    IdVector<ActorId, Ports> ports_;
    CutSizes cut_;
};

}  // namespace yantra
