// Departures: when a message has left its sender, a latency before it arrives. Rates change, so a
// sender asks when it would be through, and again if it is not.
#pragma once

#include "network/flow/level/common.hpp"

namespace yantra::inline YANTRA_RUN::flow {

class Departures {
public:
    explicit Departures(Common& all) : all_(all) {}

    void ask(TransitId transit);
    void answer_all();
    void ask_when_through(const Part& part);
    void depart(Transit& transit);

private:
    void answer(TransitId transit);
    double leaves_ns(const Part& part);

    Common& all_;
    std::vector<TransitId> asking_;   // in this tick
};

}  // namespace yantra::inline YANTRA_RUN::flow
