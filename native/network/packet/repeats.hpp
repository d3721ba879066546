// Repeats: steps of a job that repeat are simulated once. Proof: State (network/packet/state.hpp)
// decides with what is sent later all that follows; so if two moments have one state, and the same
// is sent at the same distances after both, the same arrives at the same distances, until something
// else is sent. That is known when it comes: then the simulation leaps over the whole repetitions
// and does the last part of one again. Trade-off: only what repeats as a whole is skipped.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "network/packet/simulator.hpp"

namespace yantra::packet {

class Repeats {
public:
    // Empty, or why nothing can be skipped.
    static std::string refusal(const Settings& settings);

    Repeats(Simulator& simulator, Observer& observer, bool is_on)
        : simulator_(simulator), observer_(observer), is_on_(is_on) {}

    // `is_after`: after what was heard in that tick.
    void send(const FlowSpec& flow, u64 tick, bool is_after);
    // Handles all until `tick`, when all of that tick has been sent that will be before.
    // `step` handles an event of the simulator.
    template <class Step>
    void run_to(u64 tick, Step&& step) {
        if (is_on_ && !replays_) {
            begin_run();
        }
        if (replays_ && replay(tick)) {
            return;
        }
        while (!simulator_.empty() && simulator_.next_time() <= tick) {
            step();
        }
    }
    bool replays() const { return replays_; }
    // While it replays, when something is heard or should be sent.
    u64 next_time() const;
    // While it replays: the last tick of which all was heard.
    u64 told_at() const { return now_.told_at; }
    // False: it was heard before.
    bool hears(u32 flow, bool is_completed);
    // The simulator is then where it would be; nothing from before is known.
    void settle(u64 tick);
    // Also, nothing is skipped any more.
    void end(u64 tick);

private:
    static constexpr u64 never_ran = ~u64{0};

    // A moment at which flows were sent.
    struct Moment {
        u64 tick = 0;
        bool is_after = false;   // what was heard in that tick
        std::size_t first_sent = 0;
        std::size_t first_heard = 0;
    };
    struct Heard {
        u64 after = 0;           // ticks
        u64 back = 0;            // moments since the flow was sent
        u32 place = 0;           // among those sent then
        bool is_completed = false;
    };
    struct OfFlow {
        u64 moment = 0;
        u32 place = 0;
    };
    struct Known {
        StateHash::Value state;
        u64 chances = 0;
        u64 moment = 0;
        AllCounts counts;
    };

    struct Search {
        FlowSpec reference;         // states are compared when a flow like it is sent
        bool has_one = false;
        u64 at_events = 0;          // the last
        u64 at_moment = 0;
        u64 patience = 0;           // events until the next
        u32 in_vain = 0;            // replays in a row that skipped nothing
    };
    struct Replay {
        u64 moment = 0;             // the present one
        u64 tick = 0;               // its
        std::size_t heard = 0;      // of `heard_`, the next
        u64 told_at = never_ran;    // the last tick of which all was
        u64 most_back = 0;
        u64 first_kept = 0;         // moment
        std::deque<std::vector<u32>> flows;   // sent at the moments kept
        std::vector<FlowSpec> sent;   // at the next moment
        u64 sent_at = 0;
        bool is_after = false;
        AllCounts counted;            // in one repetition
    };

    // Recording.
    void begin_run();
    void name(u32 flow, u64 moment, u32 place);
    void look_for_repetition(u64 tick);
    bool is_worth_a_look();
    bool begin_replay(const Known& from, const AllCounts& counts);
    void forget();

    // Replaying.
    bool replay(u64 tick);
    u64 next_moment() const;
    u64 misses_at() const;
    bool is_as_before() const;
    void go_on();
    void hear(u64 tick);
    void go_live(u64 tick, bool with_it);
    void do_again(u64 tick, bool with_it);
    void drain(u64 tick, bool with_it);

    u64 last() const { return first_ + moments_.size() - 1; }
    std::size_t like(u64 moment) const { return (moment - first_) % repeats_; }   // in `moments_`
    std::span<const FlowSpec> sent_at(std::size_t at) const {
        const std::size_t end = at + 1 < moments_.size() ? moments_[at + 1].first_sent : batch_;
        return {sent_.data() + moments_[at].first_sent, end - moments_[at].first_sent};
    }
    const std::vector<u32>& flows_of(u64 moment) const { return now_.flows[moment - now_.first_kept]; }

    Simulator& simulator_;
    Observer& observer_;
    bool is_on_;
    bool replays_ = false;
    bool is_quiet_ = false;

    u64 first_ = 0;                 // number of the first of the moments
    std::vector<Moment> moments_;
    std::vector<FlowSpec> sent_;
    std::size_t batch_ = 0;         // of `sent_`: from here on at the next moment
    std::vector<Heard> heard_;
    std::vector<OfFlow> of_flow_;   // by its number
    u64 batch_at_ = 0;
    bool batch_is_after_ = false;
    std::deque<Known> known_;
    Search search_;
    Replay now_;
    u64 repeats_ = 0;               // moments of a repetition: all but the last, which is like the first
};

}  // namespace yantra::packet
