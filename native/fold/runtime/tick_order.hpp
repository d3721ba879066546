// TickOrder: whether order within a tick could matter to an actor of a folded run: nodes that want
// the same slots, chunks that enter a queue or overtake in it, collectives with a common counter,
// interchangeable messages. Conservative: a doubt ends the folded run.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "transport/matcher.hpp"

namespace yantra {

class TickOrder {
public:
    static constexpr u64 everything = ~u64{0};

    explicit TickOrder(u32 actors) : touched_(actors) {}

    void next_event() { ++event_; }

    // `slots`: that the node holds or its children want.
    void node_ends(u32 actor, u64 tick, u32 node, u64 slots) {
        Touched& t = at(actor, tick);
        for (const End& end : t.ends) {
            if (end.event == event_ || (end.slots & slots) == 0) {
                continue;
            }
            if (t.contested_slots == 0) {
                t.node = end.node;
                t.other = node;
            }
            t.contested_slots |= end.slots & slots;
            if (slots == everything || end.slots == everything || shares_counter(t)) {
                note("two operations that end in one tick may start what follows in any order", actor,
                     end.node, node);
            }
        }
        t.ends.push_back({event_, slots, node});
    }

    // `strict`: the order of the running ones counts too.
    void enters(u32 actor, u64 tick, u32 queue, bool behind, bool strict) {
        if (visit(at(actor, tick), {event_, queue, true, behind, false}) && strict) {
            note("two chunks move in one queue in one tick", actor);
        }
    }

    void leaves(u32 actor, u64 tick, u32 queue) {
        visit(at(actor, tick), {event_, queue, false, true, false});
    }

    void collective_starts(u32 actor, u64 tick, u32 counter) {
        Touched& t = at(actor, tick);
        for (const auto& [event, other] : t.starts) {
            if (other == counter && (event != event_ || t.contested_slots != 0)) {
                note("two collectives start in one tick", actor);
            }
        }
        t.starts.emplace_back(event_, counter);
    }

    void meets_barrier(u32 actor, u64 tick, u32 stream, bool looks) {
        for (const auto& [other, looked] : at(actor, tick).barriers) {
            if (other == stream && looked != looks) {
                note("a chunk counts a message and looks for it in one tick", actor);
            }
        }
        touched_[actor].barriers.emplace_back(stream, looks);
    }

    void posts(u32 actor, u64 tick, const MatchKey& key) {
        Touched& t = at(actor, tick);
        for (const Post& post : t.posts) {
            if (post.key == key && (post.event != event_ || t.contested_slots != 0)) {
                note("two messages alike are sent or received in one tick", actor);
            }
        }
        t.posts.push_back({event_, key});
    }

    // Then its sends have one order in all of the class.
    bool alone(u32 actor, u64 tick) {
        const std::vector<End>& ends = at(actor, tick).ends;
        return std::all_of(ends.begin(), ends.end(),
                           [this](const End& end) { return end.event == event_; });
    }

    void note(const std::string& what, u32 actor, u32 node = none, u32 other = none) {
        if (found_.empty()) {
            found_ = what;
            actor_ = actor;
            node_ = node;
            other_ = other;
        }
    }
    template <class Wanted, class StillWaits>
    void settle(u32 actor, u64 tick, Wanted&& wanted_slots, StillWaits&& waits_in) {
        Touched& t = touched_[actor];
        if (t.tick == tick) {
            return;
        }
        if (t.contested_slots != 0 && (t.contested_slots & wanted_slots()) != 0) {
            note("two operations that end in one tick free or want a slot that more wait for", actor,
                 t.node, t.other);
        }
        for (u32 queue : t.contested_queues) {
            if (waits_in(queue)) {
                note("two chunks move in one queue in one tick, where more wait", actor);
            }
        }
        t.contested_slots = 0;
        t.contested_queues.clear();
    }

    // Not yet judged.
    struct Open {
        u64 slots;
        const std::vector<u32>& queues;
    };
    Open open(u32 actor) const {
        const Touched& t = touched_[actor];
        return {t.contested_slots, t.contested_queues};
    }

    u64 event() const { return event_; }
    const std::string& found() const { return found_; }
    u32 actor() const { return actor_; }
    u32 node() const { return node_; }
    u32 other() const { return other_; }

private:
    struct End {
        u64 event;
        u64 slots;
        u32 node;
    };
    struct Visit {
        u64 event;
        u32 queue;
        bool enters;
        bool behind;
        bool several = false;   // events, of which this is the first
        bool is_like(const Visit& other) const {
            return queue == other.queue && enters == other.enters && behind == other.behind;
        }
    };
    struct Post {
        u64 event;
        MatchKey key;
    };
    struct Touched {
        u64 tick = ~u64{0};
        u32 node = none;             // the first two to contest the slots
        u32 other = none;
        u64 contested_slots = 0;
        std::vector<u32> contested_queues;
        std::vector<End> ends;
        std::vector<Visit> visits;
        std::vector<std::pair<u64, u32>> starts;
        std::vector<Post> posts;
        std::vector<std::pair<u32, bool>> barriers;
    };

    Touched& at(u32 actor, u64 tick) {
        Touched& t = touched_[actor];
        if (t.tick != tick) {
            t.tick = tick;
            t.contested_slots = 0;
            t.contested_queues.clear();
            t.ends.clear();
            t.visits.clear();
            t.starts.clear();
            t.posts.clear();
            t.barriers.clear();
        }
        return t;
    }

    // Whether order may matter.
    bool visit(Touched& t, const Visit& now) {
        bool contested = false;
        Visit* alike = nullptr;
        for (Visit& before : t.visits) {
            alike = before.is_like(now) ? &before : alike;
            const bool both_enter = now.enters && before.enters;
            const bool passes = now.enters != before.enters && !(now.behind && before.behind);
            // It is open which of a collective's last chunks ends it.
            const bool apart = before.several || before.event != now.event;
            contested |= before.queue == now.queue && (passes || (both_enter && apart));
        }
        if (contested && std::ranges::find(t.contested_queues, now.queue) == t.contested_queues.end()) {
            t.contested_queues.push_back(now.queue);
        }
        if (alike == nullptr) {
            t.visits.push_back(now);
        } else {
            alike->several |= alike->event != now.event;
        }
        return contested;
    }

    static bool shares_counter(const Touched& t) {
        for (std::size_t i = 0; i < t.starts.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                if (t.starts[i].second == t.starts[j].second) {
                    return true;
                }
            }
        }
        for (std::size_t i = 0; i < t.posts.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                if (t.posts[i].key == t.posts[j].key) {
                    return true;
                }
            }
        }
        return false;
    }

    u64 event_ = 0;
    std::vector<Touched> touched_;
    std::string found_;
    u32 actor_ = none;
    u32 node_ = none;
    u32 other_ = none;
};

}  // namespace yantra
