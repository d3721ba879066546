// Events come by time, and in the order of scheduling within a time. The oracle is a stably sorted
// vector.
#include "engine/event_queue.hpp"

#include <algorithm>
#include <vector>

#include "base/test.hpp"
#include "engine/event_row.hpp"

namespace {

using namespace yantra;
using test::check;

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
        const u32 stride = static_cast<u32>(random.below(3));
        const u32 kind_stride = random.below(2) == 0 ? 0 : static_cast<u32>(random.below(3)) - 1;
        const u64 other_owners = 8 + 100 * random.below(2);
        const auto events = static_cast<u32>(1 + random.below(random.below(8) == 0 ? 200 : 6));
        const bool in_a_row = random.below(2) == 0;
        EventRow row(queue, events);
        u32 kind = 1000;
        u32 index = static_cast<u32>(random.below(100));
        for (u32 i = 0; i < events; ++i) {
            const Owner owner = random.below(other_owners) == 0 ? Owner::transport : Owner::network;
            if (in_a_row) {
                row.schedule(time, {owner, kind}, index);
            } else {
                queue.schedule(time, {owner, kind}, index);
            }
            pending.push_back({time, {owner, kind}, index, {}});
            kind += kind_stride;
            index += random.below(8) == 0 ? 7 : stride;
            ++scheduled;
        }
        row.flush();
    };
    u64 step = 0;
    auto is_next = [&](const Event& event) {
        const Event& wanted = pending.front();
        check(event.time == wanted.time && event.index == wanted.index && event.kind == wanted.kind,
              "another event comes next", step);
        check(queue.now() == event.time, "the clock is not the event's", step);
        pending.erase(pending.begin());
        for (u64 more = random.below(2); more > 0 && scheduled < 1500; --more) {
            schedule();
            std::stable_sort(pending.begin(), pending.end(),
                             [](const Event& a, const Event& b) { return a.time < b.time; });
        }
        ++step;
    };
    for (u64 i = 0; i < 30; ++i) {
        schedule();
    }
    while (!pending.empty()) {
        std::stable_sort(pending.begin(), pending.end(),
                         [](const Event& a, const Event& b) { return a.time < b.time; });
        check(!queue.empty(), "the queue lost an event", step);
        check(queue.next_time() == pending.front().time, "the next time is not that of the next event", step);
        if (random.below(2) == 0) {
            is_next(queue.next());
            continue;
        }
        const EventRun run = queue.next_run();
        const u32 most = random.below(3) == 0 ? 1 + static_cast<u32>(random.below(run.count)) : run.count;
        for (u32 at = 0; at < most; ++at) {
            is_next(run.event(at));
        }
        if (most < run.count) {
            queue.put_back(run, most);
        }
    }
    check(queue.empty(), "the queue has an event too many", step);
    check(queue.processed() == scheduled, "events are counted wrong", step);
}

bool is_idle_for(const EventQueue& queue, u64 ticks) {
    return queue.tick_is_over() && queue.is_idle_behind_tick(ticks);
}

void the_clock_passes_idle_times(u32 seed) {
    test::Random random(seed);
    EventQueue queue;
    std::vector<u64> times;
    u64 passed = 0;
    for (u32 i = 0; i < 200; ++i) {
        times.push_back(queue.now() + any_delay(random));
        queue.schedule(times.back(), {Owner::network, 0}, i);
        std::sort(times.begin(), times.end());
        const u64 ticks = random.below(300);
        const bool is_idle = times.front() > queue.now() + ticks;
        check(is_idle || !is_idle_for(queue, ticks), "the queue is idle at an event", i);
        if (is_idle_for(queue, ticks)) {
            const u64 before = queue.now();
            queue.pass(ticks, 1);
            check(queue.now() == before + ticks, "the clock passed another time", i);
            ++passed;
        }
        if (random.below(3) > 0) {
            check(queue.next().time == times.front(), "an event comes at another time", i);
            times.erase(times.begin());
        }
    }
    const u64 left = times.size();
    check(queue.processed() == 200 - left + passed && passed > 0, "events are counted wrong", passed);
}

void the_clock_passes_long_idle_times(u32 seed) {
    test::Random random(seed);
    EventQueue queue;
    std::vector<u64> times;
    u64 far = 0;
    for (u32 i = 0; i < 200; ++i) {
        times.push_back(queue.now() + (u64{1} << random.below(40)) + random.below(3));
        queue.schedule(times.back(), {Owner::network, 0}, i);
        std::sort(times.begin(), times.end());
        const u64 idle = queue.is_idle_until() - queue.now();
        check(idle > 0 && queue.is_idle_until() <= times.front(), "the queue is idle at an event", i);
        const u64 ticks = random.below(4) == 0 ? idle - 1 : random.below(idle);
        far += ticks > EventWheel::ticks ? 1 : 0;
        queue.pass(ticks, 0);
        for (u64 more = random.below(3); more > 0 && !times.empty(); --more) {
            check(queue.next_time() == times.front(), "the next time is not that of the next event", i);
            check(queue.next().time == times.front(), "an event comes at another time", i);
            times.erase(times.begin());
            if (!queue.tick_is_over()) {
                more = std::max<u64>(more, 2);   // all of a tick
            }
        }
    }
    check(far > 0, "the clock never passed far", far);
}

void the_rest_of_a_tick_is_taken() {
    constexpr EventKind kind(Owner::exchange, 3);
    EventQueue queue;
    for (const u32 index : {0u, 1u, 2u, 7u, 8u, 4u}) {
        queue.schedule(5, kind, index);
    }
    queue.schedule(6, kind, 9);
    queue.next();
    std::vector<u32> rest;
    check(queue.rest_of_tick(kind, rest) && rest == std::vector<u32>{1, 2, 7, 8, 4}, "another rest", rest.size());
    check(!queue.rest_of_tick({Owner::exchange, 4}, rest), "the rest is of another kind", 0);
    check(queue.is_idle_behind_tick(0) && !queue.is_idle_behind_tick(1), "the tick behind has an event", 0);
    queue.take_rest_of_tick();
    check(queue.tick_is_over() && queue.processed() == 6 && queue.next_time() == 6, "the rest is still there", 0);
}

void sequences_may_take_turns(u32 seed) {
    test::Random random(seed);
    EventQueue queue;
    const u32 sequences = 2 + seed % 2;
    const u32 length = 2 + static_cast<u32>(random.below(40));
    std::vector<u32> next(sequences);
    for (u32 i = 0; i < length; ++i) {
        for (u32 sequence = 0; sequence < sequences; ++sequence) {
            queue.schedule(10 + 7 * sequence, {Owner::network, sequence}, i);
        }
    }
    u32 runs = 0;
    while (!queue.empty()) {
        const EventRun run = queue.next_run();
        ++runs;
        for (u32 at = 0; at < run.count; ++at) {
            const u32 sequence = run.kind(at).kind();
            check(run.time == 10 + 7 * sequence, "an event of another time", at);
            check(run.index(at) == next[sequence]++, "an event out of its order", at);
        }
    }
    check(sequences > 2 || runs == 2, "sequences that take turns are no runs", runs);
    check(next == std::vector<u32>(sequences, length), "events were lost", seed);
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

void the_end_of_the_clock_is_kept() {
    EventQueue queue;
    queue.schedule(latest_tick, {Owner::network, 0}, 0);
    queue.schedule(latest_tick + 5, {Owner::network, 0}, 7);
    check(queue.next().time == latest_tick, "the last moment was lost", 0);
    check(!is_idle_for(queue, 1), "the clock may pass its end", 0);
    u64 refused = 0;
    try {
        queue.schedule(latest_tick + latest_tick, {Owner::network, 0}, 0);
    } catch (const TooLong&) {
        ++refused;
    }
    try {
        queue.next();
    } catch (const TooLate& late) {
        refused += late.event.index == 7 ? 1 : 0;
    }
    check(refused == 2, "a moment that is too late was taken", refused);
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 20; ++seed) {
        run(seed);
        sequences_may_take_turns(seed);
        the_clock_passes_idle_times(seed);
        the_clock_passes_long_idle_times(seed);
    }
    the_rest_of_a_tick_is_taken();
    the_past_is_refused();
    the_end_of_the_clock_is_kept();
}
