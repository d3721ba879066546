// The wheel hands out events by time, and in the order of scheduling within a time.
#include "network/packet/wheel.hpp"

#include <algorithm>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

struct Pending {
    u64 time;
    u32 what;
};

struct Watcher {
    const packet::Wheel& wheel;
    const std::vector<Pending>& pending;
    u64& told;

    const Pending& find(u32 what) const {
        const auto at =
            std::find_if(pending.begin(), pending.end(), [what](const Pending& one) { return one.what == what; });
        check(at != pending.end(), "an event told ahead is pending", what);
        return *at;
    }
    void is_near(u32 what) const {
        check(find(what).time - wheel.now() < 4096, "a near event is near", what);
        ++told;
    }
    void is_far(u32 what) const { check(find(what).time > wheel.now(), "a far event is to come", what); }
};

u64 any_delay(test::Random& random) {
    return random.one_in(3) ? 0 : random.below(u64{1} << random.below(45));
}

void run(u32 seed) {
    test::Random random(seed);
    packet::Wheel wheel;
    std::vector<Pending> pending;
    u32 scheduled = 0;
    u64 told = 0;
    for (u64 step = 0; step < 20000; ++step) {
        if (pending.empty() || random.below(20) < (step / 2000 % 2 == 0 ? 11u : 9u)) {
            const u64 time = wheel.now() + any_delay(random);
            wheel.schedule(time, scheduled);
            pending.push_back({time, scheduled++});
            continue;
        }
        const auto first = std::min_element(pending.begin(), pending.end(),
                                            [](const Pending& a, const Pending& b) { return a.time < b.time; });
        check(wheel.next_time() == first->time, "the time of the next event", step);
        if (random.one_in(4) && first->time > wheel.now()) {
            wheel.advance_to(wheel.now() + random.below(first->time - wheel.now() + 1));
            continue;
        }
        if (random.one_in(50)) {
            const u64 ticks = random.below(u64{1} << random.below(40));
            wheel.leap(ticks, 0);
            for (Pending& of : pending) {
                of.time += ticks;
            }
            continue;
        }
        check(wheel.next(Watcher{wheel, pending, told}) == first->what, "the next event", step);
        check(wheel.now() == first->time, "the clock", step);
        pending.erase(first);
    }
    check(wheel.empty() == pending.empty(), "what is left", 0);
    check(told > 1000, "many events are told ahead", told);
}

}  // namespace

int main() {
    for (u32 seed = 1; seed <= 5; ++seed) {
        run(seed);
    }
}
