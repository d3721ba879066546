// Flows: parts of messages, from sending until their bytes are through. A tick's happenings are
// done in fixed order: ends, entries, questions.
#pragma once

#include <limits>

#include "network/flow/level/departures.hpp"
#include "network/flow/level/lines.hpp"

namespace yantra::inline YANTRA_RUN::flow {

class Faults;
class Holds;

// How long a message takes that shares no link.
struct Alone {
    double transfer_ns = 0.0;
    double latency_ns = 0.0;
};

class Flows {
public:
    Flows(Common& all, Lines& lines, Departures& departures, Holds& holds, Faults& faults)
        : all_(all), lines_(lines), departures_(departures), holds_(holds), faults_(faults) {}

    // By parts_left of the message.
    Alone send(TransitId transit, u32 from, u32 to, u64 bytes, u64 order);
    u32 parts_of(u64 bytes) const;
    PartId add(const Part& part);
    void comes(PartId part);
    void holds_links(PartId part, u32 flow);
    // What is through by then.
    void end(double until_ns);
    // Links by formula are crossed.
    void is_through(PartId part);
    // With the bytes carried until then.
    void stop(PartId part, double now_ns, u64 tick);
    void wake(u32 number) {
        if (number == wake_) {
            all_.settle_later();
        }
    }
    void settle();

private:
    static constexpr double no_end_ns = std::numeric_limits<double>::infinity();

    void enter_all();
    void begin(PartId part, double start_ns);
    void arrive(PartId part);
    void next_in_line(PartId part);
    void arrive_whole(TransitId transit);

    Common& all_;
    Lines& lines_;
    Departures& departures_;
    Holds& holds_;
    Faults& faults_;
    std::vector<PartId> part_of_;    // by flow
    std::vector<PartId> entering_;   // in this tick
    std::vector<u32> ended_;         // flows
    u32 wake_ = 0;
    double next_end_ns_ = no_end_ns;   // by the last solve
};

}  // namespace yantra::inline YANTRA_RUN::flow
