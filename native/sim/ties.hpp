// Ties: whether the order of events of one tick could matter to a rank of a folded run.
//
// A run orders events of one tick by when they were scheduled, and that goes back to the order of rank
// numbers at the start: it is not the same on all ranks of a class. A representative therefore stands
// for its class only where the order of two events of one tick on one rank makes no difference. Most
// events commute: they touch one stream each, or count. Those that may not are told here: ends of nodes
// that want the same slots, chunks that enter one queue or pass each other in it, collectives that
// draw from one counter, receives that match the same message. Two of them in one tick of one rank end the
// folded run. Conservative: some of what is told here would have commuted.
#pragma once

#include <string>
#include <vector>

#include "base/types.hpp"
#include "network/matcher.hpp"

namespace yantra {

class Ties {
public:
    explicit Ties(u32 ranks) : touched_(ranks) {}

    // What follows belongs to another event.
    void next_event() { ++event_; }

    // A node ends that holds, or whose children want, these slots.
    void node_ends(u32 rank, u64 tick, u64 slots) {
        Touched& t = at(rank, tick);
        if (t.event != event_) {
            t.event = event_;
            t.slots_before |= t.slots;
            t.slots = 0;
        }
        t.slots |= slots;
        if ((t.slots_before & slots) != 0) {
            note("two operations that end in one tick free or want the same slot", rank);
        }
    }

    // A chunk enters a queue, `behind` all that wait there or not.
    void enters(u32 rank, u64 tick, u32 queue, bool behind) {
        for (const Visit& visit : at(rank, tick).visits) {
            if (visit.queue == queue && visit.event != event_ && (visit.enters || !behind)) {
                note("two chunks move in one queue in one tick", rank);
            }
        }
        touched_[rank].visits.push_back({event_, queue, true, behind});
    }

    void leaves(u32 rank, u64 tick, u32 queue) {
        for (const Visit& visit : at(rank, tick).visits) {
            if (visit.queue == queue && visit.event != event_ && visit.enters && !visit.behind) {
                note("two chunks move in one queue in one tick", rank);
            }
        }
        touched_[rank].visits.push_back({event_, queue, false, false});
    }

    // A collective starts; those of one `counter` take their numbers and queues in order.
    void collective_starts(u32 rank, u64 tick, u32 counter) {
        Touched& t = at(rank, tick);
        for (const auto& [event, other] : t.starts) {
            if (other == counter && event != event_) {
                note("two collectives start in one tick", rank);
            }
        }
        t.starts.emplace_back(event_, counter);
    }

    // A message is sent or a receive posted that others of its key could stand for.
    void posts(u32 rank, u64 tick, const MatchKey& key) {
        Touched& t = at(rank, tick);
        for (const Post& post : t.posts) {
            if (post.key == key && post.event != event_) {
                note("two messages alike are sent or received in one tick", rank);
            }
        }
        t.posts.push_back({event_, key});
    }

    void note(const char* what, u32 rank) {
        if (found_.empty()) {
            found_ = what;
            rank_ = rank;
        }
    }
    const std::string& found() const { return found_; }
    u32 rank() const { return rank_; }

private:
    struct Visit {
        u64 event;
        u32 queue;
        bool enters;
        bool behind;
    };
    struct Post {
        u64 event;
        MatchKey key;
    };
    // What the events of a rank in its latest tick touched.
    struct Touched {
        u64 tick = ~u64{0};
        u64 event = 0;
        u64 slots = 0;
        u64 slots_before = 0;
        std::vector<Visit> visits;
        std::vector<std::pair<u64, u32>> starts;
        std::vector<Post> posts;
    };

    Touched& at(u32 rank, u64 tick) {
        Touched& t = touched_[rank];
        if (t.tick != tick) {
            t.tick = tick;
            t.slots = t.slots_before = 0;
            t.visits.clear();
            t.starts.clear();
            t.posts.clear();
        }
        return t;
    }

    u64 event_ = 0;
    std::vector<Touched> touched_;
    std::string found_;
    u32 rank_ = none;
};

}  // namespace yantra
