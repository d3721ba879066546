// Samples are what each subject was at every multiple of the interval.
#include "network/packet/samples.hpp"

#include <map>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

struct Row {
    u64 tick = 0;
    u64 value = 0;
    u32 subject = 0;

    void at(u64 now) { tick = now; }
};

constexpr u32 subjects = 4;

u64 value_at(const std::map<u64, u64>& history, u64 tick, bool up_to) {
    auto after = up_to ? history.upper_bound(tick) : history.lower_bound(tick);
    return after == history.begin() ? 0 : std::prev(after)->second;
}

void run(u32 seed, u64 every, std::size_t most) {
    test::Random random(seed);
    packet::Samples<Row> samples(every, most);
    std::vector<std::map<u64, u64>> history(subjects);
    std::vector<u64> value(subjects);
    std::vector<u64> next_look(subjects);
    for (u32 subject = 0; subject < subjects; ++subject) {
        next_look[subject] = samples.begin(subject, 0);
    }
    u64 now = 0;
    for (u64 step = 0; step < 5000; ++step) {
        now += random.one_in(3) ? 0 : random.below(u64{1} << random.below(9));
        const u32 subject = static_cast<u32>(random.below(subjects));
        if (now >= next_look[subject]) {
            next_look[subject] = samples.note({0, value[subject], subject}, now);
        }
        value[subject] = history[subject][now] = 1 + random.below(1000);
    }
    for (u32 subject = 0; subject < subjects; ++subject) {
        samples.end({0, value[subject], subject}, now);
    }
    check(every == 0 || samples.rows().size() <= most + subjects, "how many rows", seed);
    std::vector<std::map<u64, u64>> told(subjects);
    for (std::size_t at = 0; at < samples.rows().size(); ++at) {
        const Row& row = samples.rows()[at];
        check(told[row.subject].empty() || told[row.subject].rbegin()->first <= row.tick, "rows in their order", at);
        told[row.subject][row.tick] = row.value;
    }
    for (u32 subject = 0; subject < subjects; ++subject) {
        const u64 step = every == 0 ? 1 : samples.every();
        for (u64 tick = step; tick < now; tick += step) {
            check(value_at(told[subject], tick, true) == value_at(history[subject], tick, every == 0), "a sample", tick);
        }
    }
}

}  // namespace

int main() {
    for (u32 seed = 1; seed <= 5; ++seed) {
        run(seed, 16, 1u << 20);
        run(seed, 16, 100);
        run(seed, 1, 300);
        run(seed, 0, 1u << 20);
    }
}
