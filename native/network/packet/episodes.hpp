// Episodes: what a part of a fabric did from rest to rest is remembered, as a tree of what was sent and
// what was heard until the next was. While the same is sent at the same distances, it is told what was
// heard, and no packet moves; where something else is sent, or nothing, the packets of the episode are
// simulated up to there, so nothing costs more than twice. Proof: at rest a port has no memory but whose
// turn it is (State::rests()), which is compared; nothing that depends on time itself was drawn; so what
// is heard follows from what was sent since. Trade-off: what is heard inside long episodes is kept.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "network/packet/episode_tree.hpp"
#include "network/packet/periods.hpp"
#include "network/packet/repeats.hpp"

namespace yantra::packet {

class Episodes final : private Observer {
public:
    // Empty, or why nothing can be remembered.
    static std::string refusal(const Settings& settings);

    struct Skips {
        bool episodes = false;
        bool repeats = false;
    };
    Episodes(const FabricSpec& fabric, const Settings& settings, Observer& observer, const Part& part, Skips skips);
    Episodes(const Episodes&) = delete;
    Episodes& operator=(const Episodes&) = delete;

    Simulator& simulator() { return simulator_; }
    const Simulator& simulator() const { return simulator_; }

    // `is_after`: after what was heard in that tick.
    void send(const FlowSpec& flow, u64 tick, bool is_after);
    // Handles all until `tick`, when all of that tick has been sent that will be before.
    // `step` handles an event of the simulator; nothing is sent before `until()`.
    template <class Step, class Until>
    void run_to(u64 tick, Step&& step, Until&& until) {
        now_ = tick;
        if (remembers_ && is_told(tick)) {
            return;
        }
        repeats_.run_to(tick, [&] {
            step();
            leap(until);
        });
    }
    bool replays() const { return replays_ || repeats_.replays(); }
    // When there is something to do or to tell; ~0: never.
    u64 next_time() const;
    // Nothing is heard before it, whatever is sent elsewhere.
    u64 hears_at();
    // The last tick of which all was told, while it replays.
    u64 told_at() const { return replays_ ? now_in_.told_at : repeats_.told_at(); }
    // What is sent now is not known to be caused by what was heard.
    void doubt(u64 tick);
    // The simulator is then where it would be, and nothing is skipped any more.
    void end(u64 tick);

private:
    using Node = EpisodeTree::Node;
    struct Place {
        u32 batch = 0;
        u32 place = 0;
    };

    // Of an episode, replayed or simulated.
    struct Present {
        u64 start = 0;
        std::vector<u32> path;          // nodes, by batch
        std::vector<std::vector<u32>> flows;   // by batch
        std::size_t told = 0;           // of the last node
        u64 told_at = ~u64{0};          // tick of which all was
        AllCounts before;
        u64 chances = 0;
    };

    void received(u32 flow) override { hears(flow, false); }
    void completed(u32 flow) override { hears(flow, true); }
    void crosses(u32 flow, u32 link, u64 start, u64 end, u32 payload) override {
        observer_.crosses(flow, link, start, end, payload);
    }
    template <class Until>
    void leap(Until&& until) {
        if (skips_streams_ && periods_.is_found()) [[unlikely]] {
            periods_.leap(until());
        }
    }
    void hears(u32 flow, bool is_completed);
    void tell(u32 flow, bool is_completed);

    bool is_told(u64 tick);
    void is_sent();
    bool rests(u64 tick);
    void open(u64 tick);
    void close();
    void go_on();
    void goes_on_live();
    void pass_on();
    bool is_over(u64 tick) const;
    void finish();
    void tell_until(u64 tick);
    void go_live(u64 tick, bool with_it);
    void drain(u64 tick, bool with_it);
    void enter(u32 node);
    EpisodeTree::Batch batch() const { return {batch_at_ - now_in_.start, batch_is_after_, batch_}; }
    Node& node() { return tree_[now_in_.path.back()]; }
    const Node& node() const { return tree_[now_in_.path.back()]; }

    Observer& observer_;
    Simulator simulator_;
    Repeats repeats_;
    Periods periods_;
    bool skips_streams_;
    bool remembers_;
    bool replays_ = false;
    bool records_ = false;         // the present episode
    bool is_quiet_ = false;
    u64 now_ = 0;
    u32 under_way_ = 0;

    std::vector<FlowSpec> batch_;  // sent, and not yet taken
    u64 batch_at_ = 0;
    bool batch_is_after_ = false;

    EpisodeTree tree_;
    std::vector<Place> of_flow_;   // by its number
    Present now_in_;
};

}  // namespace yantra::packet
