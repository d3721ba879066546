// Islands: the parts of a fabric that meet in hosts alone, as the NVLink of each box and the network
// between boxes. A host's ports share nothing, so one island learns of another only through the job:
// each has a simulator and a memory (network/packet/episodes.hpp) of its own. Trade-off: each has a
// port for every link of the fabric.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "network/packet/episodes.hpp"

namespace yantra::packet {

class Islands final : private Observer {
public:
    // `may_part`: else there is one.
    Islands(const FabricSpec& fabric, const Settings& settings, Observer& observer, const Part& part, bool may_part,
            Episodes::Skips skips);

    Simulator& first() { return all_.front()->simulator(); }
    const Simulator& first() const { return all_.front()->simulator(); }
    bool are_many() const { return all_.size() > 1; }
    template <class Visit>
    void each(Visit&& visit) const {
        for (const auto& island : all_) {
            visit(island->simulator());
        }
    }

    // Throws OneThread if they are of several, or longer than what is remembered allows.
    void check(std::span<const u32> data, std::span<const u32> acks) const;
    // Over ways that begin with `link`.
    void send(u32 link, const FlowSpec& flow, u64 tick);
    // `step` handles an event of a simulator; the job does nothing before `until()`.
    template <class Step, class Until>
    void run_to(u64 tick, Step&& step, Until&& until) {
        hearing_.ran_at = tick;
        hearing_.waits = are_many();
        for (std::size_t at = 0; at < all_.size(); ++at) {
            if (next_[at] <= tick || !are_many()) {
                Simulator& simulator = all_[at]->simulator();
                all_[at]->run_to(tick, [&] { step(simulator); }, [&] { return std::min(until(), others_hear_at(at)); });
                next_[at] = all_[at]->next_time();
            }
        }
        if (are_many()) {
            tell();
            check_losses();
        }
    }
    u64 next_time() const {
        return are_many() ? *std::min_element(next_.begin(), next_.end()) : all_.front()->next_time();
    }
    bool replays() const;
    u64 told_at() const;
    void end(u64 tick);

    HugeVector<Port> ports() const;
    Totals totals() const;
    u64 events() const;
    // As Watch's.
    std::vector<u64> busy_at_end() const;
    void note_end(u64 tick);
    std::shared_ptr<const Seen> seen();

private:
    // In the present tick.
    struct Told {
        u64 place = 0;   // of the packet that tells
        u32 flow = 0;
        bool is_completed = false;
    };
    struct Hearing {
        u64 ran_at = ~u64{0};         // the last tick
        u64 heard_at = ~u64{0};
        bool waits = false;           // until all islands have told
        std::vector<Told> told;
    };
    struct Places {
        u64 received = 0;
        u64 completed = 0;
    };

    void received(u32 flow) override { hears(flow, false); }
    void completed(u32 flow) override { hears(flow, true); }
    void crosses(u32 flow, u32 link, u64 start, u64 end, u32 payload) override {
        observer_.crosses(flow, link, start, end, payload);
    }
    void hears(u32 flow, bool is_completed);
    void tell(u32 flow, bool is_completed);
    void tell();
    Places places_of(const FlowSpec& flow) const;
    u64 others_hear_at(std::size_t island);
    void check_losses() const;

    Observer& observer_;
    const u32 payload_bytes_;
    const bool has_long_headers_;   // of long ways, which what is remembered does not know
    std::vector<u32> of_link_;
    std::vector<std::unique_ptr<Episodes>> all_;
    std::vector<u64> next_;   // ticks; of one alone others may know more
    std::vector<Places> places_;   // by flow, if there are many
    Hearing hearing_;
};

}  // namespace yantra::packet
