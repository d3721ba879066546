// OutsideEngine: an engine whose decisions are made outside the core and checked here
// (yantra.kinds.engine_laws). Trade-off: a call a step, and no two steps are one event.
#pragma once

#include <array>
#include <span>
#include <string>

#include "serving/queued.hpp"

namespace yantra::serving {

// By request, in the engine's order.
inline constexpr std::size_t seen_columns = 9;
struct Seen {
    // request, prompt, emitted, computed, limit, priority, user, arrival (ps), blocks
    std::array<std::vector<i64>, seen_columns> columns;
    std::size_t size() const { return columns[0].size(); }
};

struct Decision {
    std::vector<i64> requests;   // of the iteration, in its order
    std::vector<i64> tokens;     // of each
    std::vector<i64> preempted;  // they begin anew, and wait at the head
};

class Decider {
public:
    Decider() = default;
    Decider(const Decider&) = delete;
    Decider& operator=(const Decider&) = delete;
    virtual ~Decider() = default;

    virtual Decision decides(Time now, const Seen& waiting, const Seen& running, u32 free_blocks) = 0;
    [[noreturn]] virtual void refuses(const std::string& why) = 0;
};

struct OutsideLimits {
    u32 blocks;
    u32 block_size;
    u32 sequences;
    u32 tokens;
};

std::unique_ptr<Engine> outside_engine(const Engine::Place& place, const OutsideLimits& limits,
                                       std::unique_ptr<Decider> decider);

}  // namespace yantra::serving
