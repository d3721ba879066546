// What an actor registers for one tick runs together, where the first of it was registered.
#include "engine/rank_events.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

constexpr u32 actors = 4;

class SlowRankEvents {
public:
    struct Batch {
        u64 tick;
        u32 actor;
        std::vector<std::pair<u32, u32>> events;
    };

    void schedule(u64 tick, u32 actor, u32 a, u32 b) {
        for (Batch& batch : batches_) {
            if (batch.tick == tick && batch.actor == actor) {
                batch.events.emplace_back(a, b);
                return;
            }
        }
        batches_.push_back({tick, actor, {{a, b}}});
    }
    Batch& first() {
        return *std::min_element(batches_.begin(), batches_.end(),
                                 [](const Batch& a, const Batch& b) { return a.tick < b.tick; });
    }
    void remove_first() { batches_.erase(batches_.begin() + (&first() - batches_.data())); }
    bool empty() const { return batches_.empty(); }

private:
    std::vector<Batch> batches_;
};

class Both {
public:
    explicit Both(u32 seed) : random_(seed), fast_(queue_, actors) {}

    void schedule() {
        const u32 actor = static_cast<u32>(random_.below(actors));
        const u64 delay = random_.below(3);
        const u32 a = static_cast<u32>(random_.below(2));
        const u32 some = 1 + static_cast<u32>(random_.below(4));
        const bool together = random_.one_in(2);
        if (together) {
            fast_.schedule(ActorId(actor), delay, {Owner::execution, 0}, a, count_, some);
        }
        for (u32 one = 0; one < some; ++one) {
            if (!together) {
                fast_.schedule(ActorId(actor), delay, {Owner::execution, 0}, a, count_);
            }
            slow_.schedule(queue_.now() + delay, actor, a, count_++);
        }
    }

    void run(u32 most) {
        while (!queue_.empty()) {
            const Event event = queue_.next();
            check(event.kind == EventKind(Owner::rank_events, 0), "an event of somebody else", count_);
            std::size_t at = 0;
            if (random_.one_in(3)) {
                look_at(event.index);
            }
            fast_.run(event.index, [&](ActorId actor, RankEvent of, u32 count) {
                const u32 handled = 1 + static_cast<u32>(random_.below(count));
                check(slow_.first().tick == queue_.now(), "a batch runs at another tick", of.b);
                check(slow_.first().actor == actor.index(), "a batch of another actor", of.b);
                for (u32 one = 0; one < handled; ++one, ++of.b) {
                    check(at < slow_.first().events.size(), "an event too many", of.b);
                    check(slow_.first().events[at++] == std::pair{of.a, of.b}, "another event of the batch", of.b);
                }
                for (u64 more = random_.below(3); more > 0 && count_ < most; --more) {
                    schedule();
                }
                return handled;
            });
            check(at == slow_.first().events.size(), "an event of the batch is missing", count_);
            slow_.remove_first();
        }
        check(slow_.empty(), "a batch never ran", count_);
    }

private:
    void look_at(u32 batch) {
        std::size_t at = 0;
        std::vector<std::pair<u32, u32>>& events = slow_.first().events;
        fast_.for_each(batch, [&](RankEvent& of) {
            check(at < events.size() && events[at] == std::pair{of.a, of.b}, "another event is seen", of.b);
            of.a += 5;
            events[at++].first += 5;
        });
        check(at == events.size(), "an event is not seen", count_);
    }

    test::Random random_;
    EventQueue queue_;
    RankEvents fast_;
    SlowRankEvents slow_;
    u32 count_ = 0;
};

}  // namespace

int main() {
    for (u32 seed = 0; seed < 30; ++seed) {
        Both both(seed);
        for (u32 i = 0; i < 5; ++i) {
            both.schedule();
        }
        both.run(1000);
    }
}
