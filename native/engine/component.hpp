// Component: a part of a run, as the loop sees it.
#pragma once

#include <array>

#include "base/ensure.hpp"
#include "base/ids.hpp"
#include "engine/completion.hpp"
#include "engine/event.hpp"
#include "engine/rank_events.hpp"

namespace yantra::inline YANTRA_RUN {

class Component {
public:
    virtual void handle(const Event&) { fail("an event of a component that has none of its own"); }
    // Events from `at` on, at most to `until`; returns the first left.
    virtual u32 handle_run(const EventRun& run, u32 at, u32 /*until*/) {
        handle(run.event(at));
        return at + 1;
    }
    virtual void handle_of_actor(ActorId, const RankEvent&) { fail("an actor's event of a component that has none"); }
    // Several that differ by 1 in `b` alone; returns how many were handled.
    virtual u32 handle_many(ActorId actor, const RankEvent& first, u32 /*count*/) {
        handle_of_actor(actor, first);
        return 1;
    }
    virtual void completed(const Completion&) { fail("a completion that nobody waits for"); }

protected:
    ~Component() = default;
};

class Components {
public:
    void add(Owner owner, Component& part) { parts_[static_cast<std::size_t>(owner)] = &part; }
    Component& operator[](Owner owner) const { return *parts_[static_cast<std::size_t>(owner)]; }

private:
    std::array<Component*, owners> parts_{};
};

}  // namespace yantra
