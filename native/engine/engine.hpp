// Engine: the clock and the two lists of events.
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
    void pause() { paused = true; }
    // Set `more_of_run` if you handle several.
    bool is_last_of_tick() const { return !more_of_run && !of_ranks.has_more() && queue.tick_is_over(); }

    EventQueue queue;
    RankEvents of_ranks;
    bool paused = false;
    bool more_of_run = false;
    // When all work was done; set by whoever runs the engine.
    std::function<std::optional<u64>()> done_at;
};

}  // namespace yantra
