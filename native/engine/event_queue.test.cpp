// EventQueue hands out events by time, and in the order of scheduling within a time.
//
// The oracle keeps all pending events in a vector and sorts it stably for every event.
#include "engine/event_queue.hpp"

#include <algorithm>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

// Many ties, near times, and now and then one far off.
u64 any_delay(test::Random& random) {
    switch (random.below(4)) {
        case 0:
            return 0;
        case 1:
            return random.below(4);
        case 2:
            return random.below(1000);
        default:
            return random.below(u64{1} << random.below(50));
    }
}

void run(u32 seed) {
    test::Random random(seed);
    EventQueue queue;
    std::vector<Event> pending;
    u32 scheduled = 0;
    auto schedule = [&] {
        const u64 time = queue.now() + any_delay(random);
        queue.schedule(time, {Owner::network, seed}, scheduled);
        pending.push_back({time, {Owner::network, seed}, scheduled, {}});
        ++scheduled;
    };
    for (u64 i = 0; i < 30; ++i) {
        schedule();
    }
    u64 step = 0;
    for (; !pending.empty(); ++step) {
        std::stable_sort(pending.begin(), pending.end(),
                         [](const Event& a, const Event& b) { return a.time < b.time; });
        check(!queue.empty(), "the queue lost an event", step);
        const Event event = queue.next();
        const Event& wanted = pending.front();
        check(event.time == wanted.time && event.index == wanted.index && event.kind == wanted.kind,
              "another event comes next", step);
        check(queue.now() == event.time, "the clock is not the event's", step);
        pending.erase(pending.begin());
        for (u64 more = random.below(3); more > 0 && scheduled < 1500; --more) {
            schedule();
        }
    }
    check(queue.empty(), "the queue has an event too many", step);
    check(queue.processed() == scheduled, "events are counted wrong", step);
}

void the_past_is_refused() {
    EventQueue queue;
    queue.schedule(10, {Owner::network, 0}, 0);
    queue.next();
    bool thrown = false;
    try {
        queue.schedule(9, {Owner::network, 0}, 0);
    } catch (const std::exception&) {
        thrown = true;
    }
    check(thrown, "an event in the past was taken", 0);
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 20; ++seed) {
        run(seed);
    }
    the_past_is_refused();
    return 0;
}
