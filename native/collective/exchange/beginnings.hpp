// Beginnings: how an actor's last phases began, to begin alike ones as copies. Some hundreds of
// actors, as more would leave the cache.
#pragma once

#include <algorithm>
#include <vector>

#include "collective/exchange/packets.hpp"

namespace yantra::exchange {

// Beside the chunk.
struct Beginning {
    const Program* program = nullptr;
    u64 data = 0;
    ActorId actor;
    u32 plan = none;
    u32 level = none;
    u32 communicator = none;
    u32 phase = 0;
    bool clockwise = true;
    bool fixed_hand_over = false;

    bool operator==(const Beginning&) const = default;
};

class Beginnings {
public:
    explicit Beginnings(u32 actors) : actors_(std::min(actors, most)) {}

    void keep(const Beginning& beginning, const Packets& packets) {
        if (begun_.empty()) {
            by_each_ = std::clamp(most_of_few / actors_, 1U, most_of_actor);
            begun_.resize(std::size_t{actors_} * by_each_);
            last_.resize(actors_);
        }
        const std::size_t actor = beginning.actor.index() % most;
        u32& last = last_[actor];
        last = last + 1 < by_each_ ? last + 1 : 0;
        begun_[actor * by_each_ + last] = {beginning, packets};
    }
    // Null if none.
    const Packets* like(const Beginning& beginning) {
        if (begun_.empty()) {
            return nullptr;
        }
        const std::size_t actor = beginning.actor.index() % most;
        const Begun* const known = &begun_[actor * by_each_];
        u32& last = last_[actor];
        if (known[last].beginning == beginning) [[likely]] {
            return &known[last].packets;
        }
        for (u32 at = 0; at < by_each_; ++at) {
            if (known[at].beginning == beginning) {
                last = at;
                return &known[at].packets;
            }
        }
        return nullptr;
    }

private:
    static constexpr u32 most = 512;
    static constexpr u32 most_of_few = 128;
    static constexpr u32 most_of_actor = 4;

    struct Begun {
        Beginning beginning;
        Packets packets;
    };

    u32 actors_;
    u32 by_each_ = 0;
    std::vector<Begun> begun_;   // by actor
    std::vector<u32> last_;      // by actor: the one looked for last
};

}  // namespace yantra::exchange
