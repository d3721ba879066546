// Engine: the clock and the two lists of events, which all components schedule on.
#pragma once

#include <functional>
#include <optional>

#include "base/variant.hpp"
#include "engine/event_queue.hpp"
#include "engine/rank_events.hpp"

namespace yantra::inline YANTRA_RUN {

struct Engine {
    explicit Engine(u32 actors) : of_ranks(queue, actors) {}
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    u64 now() const { return queue.now(); }
    Recorder& recorder() { return queue.recorder(); }
    // Ends this slice of the run after the present event.
    void pause() { paused = true; }
    // Except the event being handled. Set `more_of_run` if you handle several.
    bool is_last_of_tick() const { return !more_of_run && !of_ranks.has_more() && queue.tick_is_over(); }

    EventQueue queue;
    RankEvents of_ranks;
    bool paused = false;
    bool more_of_run = false;
    // When all work was done, if nothing more is known to come; set by whoever runs the engine.
    std::function<std::optional<u64>()> done_at;
};

}  // namespace yantra
