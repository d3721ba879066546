// SharedBus: the LogGP bus between a rank and its memory agent.
//
// Four ports: 0 (rank side) and 1 (memory side) of the outer bus, 2 and 3 of the inner bus that port
// 0 owns. (LogGP: Alexandrov, Ionescu, Schauser and Scheiman, SPAA 1995; the protocol is upstream's,
// astra-sim-semantics 5.8.) The state lives here; Simulation runs it.
#pragma once

#include <array>
#include <deque>

#include "base/types.hpp"

namespace yantra {

struct BusRequest {
    // What happens when the request is done.
    enum Then : u8 { deliver, queue_send, queue_processing, retire_outer };
    Then then = deliver;
    bool process = false;      // is reduced at the far side
    bool back = false;         // returns to where it came from
    i64 bytes = 0;
    bool of_graph = false;     // carries a hand-over of the graph machine
    u32 stream = 0;
    u32 part = 0;              // run of the exchange or operation of the graph
    // The outer request an inner one stands for.
    bool outer_process = false;
    bool outer_back = false;
    BusRequest::Then outer_then = deliver;
};

struct BusPort {
    enum State : u8 { idle, sending, receiving };
    State current = idle;
    State previous = idle;
    bool processing = false;
    u32 sent_in_a_row = 0;
    u64 last = 0;
    std::deque<BusRequest> sends;
    std::deque<BusRequest> receives;
    std::deque<BusRequest> to_process;
};

struct SharedBus {
    std::array<BusPort, 4> ports;
};

}  // namespace yantra
