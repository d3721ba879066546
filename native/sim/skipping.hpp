// Skipping: a folded run that is back in a state it has been in, some nodes further on, does the same
// again, as often as its jobs say so; those times are written down without events.
//
// A state is everything a run's future depends on: what is pending and when, what runs, waits and
// has ended on every rank, chunks in their queues, messages under way, counters where they decide
// something. Two states are the same if all that is equal, with times counted from now, nodes from the
// number of nodes the rank has ended, and chunks, priorities and tags from the latest. If besides the
// operations that the second state has yet to run are those of the first, so far on, then by induction
// its future is that of the first, so far on and so much later, up to the first node that differs.
// Receives that are posted long before their messages come are compared that far. States are compared
// whole, never by hash. When to look is guessed from the longest job (repetition.hpp), and how far back by Brent's
// algorithm ("An improved Monte Carlo factorization algorithm", BIT 20, 1980, section 2): one state is
// kept and replaced after 1, 2, 4, ... others.
#pragma once

#include <optional>
#include <vector>

#include "sim/simulation.hpp"

namespace yantra {

class Simulation::Skipping {
public:
    explicit Skipping(Simulation& run);

    // Compares the state with one kept, and skips what comes again. Between two ticks.
    void look();
    u64 skipped() const { return skipped_; }

private:
    // What a rank has counted.
    struct Counts {
        u64 done = 0;
        u32 first_open = 0;            // the first node that has not ended
        i64 next_priority = 0;
        u64 compute_busy = 0;
        std::vector<u64> streams;      // by membership
        std::vector<u32> turns;
    };
    // A receive that waits for its message.
    struct Posted {
        MatchKey key;
        u32 message;
        u32 node;
    };
    struct State {
        u64 tick = 0;
        std::vector<u64> words;
        std::vector<u32> tags;         // of the messages that words tell of, in that order
        std::vector<std::vector<Posted>> posted;   // by rank; by key, those of one in their order
        std::vector<Counts> counts;    // by rank
        u64 messages = 0;
        u64 nodes_done = 0;
        std::vector<LinkUse> use;
        std::vector<std::vector<u32>> waiting;   // by rank and node; kept states only
    };
    // How a rank's nodes moved on from one state to the next.
    struct Shift {
        u32 by = 0;
        i64 more_in_flight = 0;
        u32 last_posted = 0;           // receive that waits since before
        u32 highest = 0;               // node that was touched meanwhile
        u32 end = 0;                   // from here on nodes are not those `by` before
        std::vector<u32> started;      // meanwhile
        std::vector<u32> ended;
    };

    std::optional<State> state();
    bool in_step(const State& state) const;
    Counts count(u32 rank);
    bool tell_rank(u32 rank, State& state);
    bool tell_queues(u32 rank, State& state);
    bool tell_stream(u32 stream, State& state);
    void tell_turns(u32 rank, State& state);
    bool tell_events(State& state);
    bool tell_batch(u32 batch, State& state);
    bool tell_message(u32 message, std::vector<u64>& words);
    bool tell_waiting_messages(State& state);
    u32 circle_of(const Stream& s) const { return run_.meetings_[s.meeting].communicator; }
    void tell_node(u32 rank, u32 node, std::vector<u64>& words) const {
        words.push_back(u64{rank} << 32U | (node - static_cast<u32>(run_.ranks_[rank].done)));
    }

    void keep(State&& state);
    bool step_of_tags(const State& now);
    bool settle(u32 rank, const State& now);
    void follow(u32 rank);
    void compare_nodes(u32 rank, const State& now);
    void compare_posted(u32 rank, const State& now);
    u64 times() const;
    void skip(const State& now, u64 times);
    void write_times(u32 rank, u64 ticks, u64 times);
    void move_rank(u32 rank, const State& now, u64 times);
    void move_streams(u32 rank, const State& now, u64 times);
    void move_collectives(u64 times);
    void move_turns(const State& now, u64 times);
    void move_events(u64 times, u64 ticks);
    void move_messages(const State& now, u64 times);
    void wait_again(const MatchKey& key, Matcher::Side side, u32 message);
    u32 moved(u32 rank, u32 node, u64 times) const {
        return node + static_cast<u32>(times) * shifts_[rank].by;
    }
    void stop() { run_.next_look_ = never; }

    Simulation& run_;
    u32 period_ = 0;                   // nodes of the rank looked at
    std::vector<u32> first_open_;      // by rank, as far as looked
    std::optional<State> kept_;
    u64 since_kept_ = 0;
    u64 keep_after_ = 1;
    u64 told_ = 0;                     // words, which looking has cost
    std::optional<u32> tag_step_;
    std::vector<Shift> shifts_;        // by rank
    std::vector<u32> live_;            // messages of the state that were sent
    std::vector<u32> datasets_;        // those that move on
    std::vector<std::pair<u32, u64>> meetings_;   // and by how many chunks
    u64 skipped_ = 0;                  // nodes
};

}  // namespace yantra
