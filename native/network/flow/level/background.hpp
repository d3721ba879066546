// Background traffic in the flow network: it shares links, and nobody waits for it. After all work
// it begins nothing.
#pragma once

#include "network/flow/level/flows.hpp"

namespace yantra::inline YANTRA_RUN::flow {

class Background {
public:
    Background(Common& all, Flows& flows, const NetworkSetup& setup)
        : all_(all), flows_(flows), given_(setup.parameters.background), engine_(setup.engine) {
        schedule();
    }

    // Begins those of this tick.
    void start();
    // There is work again.
    void wake() {
        if (rests_) [[unlikely]] {
            wake_up();
        }
    }
    void stop_with_work() {
        if (!given_.empty() && !is_over_) [[unlikely]] {
            stop_if_done();
        }
    }

private:
    void schedule();
    void wake_up();
    void stop_if_done();
    void send(const BackgroundFlow& flow);

    Common& all_;
    Flows& flows_;
    const std::vector<BackgroundFlow>& given_;
    const Engine& engine_;
    std::size_t next_ = 0;
    bool is_over_ = false;   // as all work is done
    bool rests_ = false;     // and none is scheduled
};

}  // namespace yantra::inline YANTRA_RUN::flow
