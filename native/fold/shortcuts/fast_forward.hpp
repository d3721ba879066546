// FastForward: a folded run that returns to a former state, some nodes on, repeats itself as often
// as its jobs do (engine/state.hpp); repetitions are written without events. When to look is
// guessed from the longest job (fold/repetition.hpp); how far back by Brent (BIT 20, 1980, section
// 2).
#pragma once

#include <optional>
#include <vector>

#include "fold/runtime/order_guard.hpp"
#include "fold/runtime/shortcuts.hpp"
#include "fold/shortcuts/known_phases.hpp"
#include "fold/shortcuts/state_visitors.hpp"
#include "run/simulation.hpp"

namespace yantra {

class FastForward {
public:
    FastForward(const Model& model, const ActorClasses& classes, Simulation& run, OrderGuard& guard,
                KnownPhases& phases);

    Shortcuts::NextLook next_look() const { return next_look_; }
    void look();
    u64 nodes_skipped() const { return skipped_; }

private:
    struct Posted {
        MatchKey key;
        u32 flight;
        u32 node;
    };
    struct Counts {
        u64 done = 0;
        u32 first_open = 0;            // the first node that has not ended
        i64 next_priority = 0;
    };
    struct State {
        u64 tick = 0;
        std::vector<u64> due;          // of what is pending, ticks from now
        std::vector<u64> words;
        std::vector<u64> counts;
        std::vector<u32> tags;
        Origins origins;
        IdVector<ActorId, Counts> actors;
        IdVector<ActorId, std::vector<Posted>> posted;       // by key, those of one in their order
        IdVector<ActorId, std::vector<u32>> waiting;         // of kept states
        std::vector<LinkUse> use;
    };
    // What changed between the two states.
    struct Shift {
        u32 by = 0;
        i64 more_in_flight = 0;
        u32 last_posted = 0;           // receive that still waits
        u32 highest = 0;               // node touched meanwhile
        u32 end = 0;                   // from here on nodes differ from those `by` before
        std::vector<u32> started;      // meanwhile
        std::vector<u32> begun;        // messages that had waited
        std::vector<u32> ended;
    };

    u32 actors() const { return static_cast<u32>(classes_.representative.size()); }
    const Nodes::OfActor& of(ActorId actor) const;
    const Job& job(ActorId actor) const { return *of(actor).parts.front().job; }
    u64* starts(ActorId actor);
    u64* ends(ActorId actor);
    u64* begins(ActorId actor);

    void list_due(std::vector<u64>& due);
    std::optional<State> state();
    bool in_step(State& state);
    bool list_posted(State& state);
    template <class Visitor>
    void visit(Visitor& v);
    template <class Visitor>
    void visit_events(Visitor& v);
    template <class Visitor>
    void visit_event_of_actor(Visitor& v, ActorId actor, RankEvent& event);
    template <class Visitor>
    void visit_guard(Visitor& v);

    void keep(State&& state);
    bool step_of_tags(const State& now);
    bool settle(ActorId actor, const State& now);
    void count_down(ActorId actor);
    void follow(ActorId actor);
    void compare_nodes(ActorId actor, const State& now);
    void compare_posted(ActorId actor, const State& now);
    u64 times() const;
    u64 times_before_the_end(u64 now) const;
    void skip(const State& now, u64 times);
    void write_times(ActorId actor, u64 ticks, u64 times);
    void move_waiting(ActorId actor, const State& now, u64 times);
    void move_events(u64 ticks);
    void move_tables(const std::vector<std::pair<u32, u64>>& tables);
    void match_again(const State& now, u32 tags, u64 times,
                     const std::vector<std::pair<MatchKey, u32>>& sent);
    void wait_again(const MatchKey& key, Matcher::Side side, u32 flight);
    u32 moved(ActorId actor, u32 node, u64 times) const {
        return node + static_cast<u32>(times) * shifts_[actor].by;
    }

    const Model& model_;
    const ActorClasses& classes_;
    Simulation& run_;
    OrderGuard& guard_;
    KnownPhases& phases_;
    Shortcuts::NextLook next_look_;
    u32 period_ = 0;                   // nodes of that actor
    IdVector<ActorId, u32> first_open_;   // as far as looked
    IdVector<ActorId, u32> counted_down_;   // the first whose only child may be uncounted
    std::optional<State> kept_;
    std::vector<u64> due_;             // now
    u64 since_kept_ = 0;
    u64 keep_after_ = 1;
    u64 words_written_ = 0;            // cost of looking
    std::optional<u32> tag_step_;
    IdVector<ActorId, Shift> shifts_;
    u64 skipped_ = 0;                  // nodes
};

}  // namespace yantra
