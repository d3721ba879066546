// A timer comes once, at its time, unless it was stopped.
#include "engine/timers.hpp"

#include <map>
#include <vector>

#include "base/test.hpp"
#include "engine/event_queue.hpp"

namespace {

using namespace yantra;
using test::check;

void random_timers(u32 seed) {
    test::Random random(seed);
    EventQueue queue;
    Timers<u32> timers;
    std::vector<u32> all;                 // ever set, by payload; none where it came or was stopped
    std::map<u32, u64> pending;           // payload, and when it will come
    auto comes = [&] {
        const Event event = queue.next();
        const std::optional<u32> payload = timers.expire(event.index);
        if (!payload) {
            return;
        }
        const auto found = pending.find(*payload);
        check(found != pending.end(), "a timer came that was stopped, or has come", *payload);
        check(found->second == queue.now(), "a timer came at another time", *payload);
        pending.erase(found);
        all[*payload] = none;
    };
    for (u64 step = 0; step < 3000; ++step) {
        const u64 what = random.below(5);
        if (what < 2) {
            const u32 payload = static_cast<u32>(all.size());
            const u64 tick = queue.now() + random.below(50);
            all.push_back(timers.set(payload));
            queue.schedule(tick, {Owner::arrivals, 0}, all.back());
            pending.emplace(payload, tick);
        } else if (what < 4 && !all.empty()) {
            const auto any = static_cast<u32>(random.below(all.size()));
            check(timers.stop(all[any]) == (pending.erase(any) > 0),
                  "what is not pending was stopped, or what is was not", step);
        } else if (!queue.empty()) {
            comes();
        }
    }
    while (!queue.empty()) {
        comes();
    }
    check(pending.empty(), "a timer never came", seed);
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 10; ++seed) {
        random_timers(seed);
    }
}
