// A joint phase is what the phase takes when every rank of the ring plays it.
// needs: fold/shortcuts/closed_form.cpp, collective/make.cpp
#include "fold/shortcuts/joint_phase.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/test.hpp"
#include "collective/exchange/test.hpp"

namespace {

using namespace yantra;
using test::check;

class ByClass final : public NetworkModel, public KnownTimes {
public:
    ByClass(u32 classes, u64 least) : classes_(classes), least_(least) {}
    void send(const Message&, Notice, Notice) override {}
    NetworkCapabilities capabilities() override { return {.known_times = this}; }
    u64 alone(const Message& message, u64 times, std::vector<LinkUse>& use) const override {
        use.resize(1);
        use[0].bytes += message.bytes * times;
        use[0].messages += times;
        const u64 src = message.src.index() % classes_;
        const u64 dst = message.dst.index() % classes_;
        return least_ + src * 7 % 11 + dst * 5 % 13 + message.bytes;
    }
    std::vector<LinkRecord> links() const override { return {}; }
    std::vector<LinkUse> dimensions() const override { return {}; }

private:
    u32 classes_;
    u64 least_;
};

u64 reduction_ticks(u64 bytes) { return bytes / 3; }

std::vector<u64> played(const LonePhase& phase, const KnownTimes& network,
                        const std::vector<u64>& starts) {
    const auto ticks = [&](const exchange::PeersOf& peers, u64 bytes) {
        std::vector<LinkUse> use;
        return network.alone({RankId(peers.place.position), RankId(peers.to()), bytes}, 1, use);
    };
    return test::ByLaw({phase.machine, starts, phase.data, phase.round_up, phase.clockwise, phase.hand_over_ticks,
                        reduction_ticks, ticks})
        .ends;
}

ExchangeProgram ring(u32 size, bool reduces, u64 rounds) {
    ExchangeProgram machine;
    machine.sends = rounds * (size - 1);
    Run run;
    run.out = 1;
    run.into = -1;
    run.bytes = {1, size};
    run.count = machine.sends;
    run.reduce = {reduces ? u64{1} : u64{0}, size};
    machine.runs = {run, run};
    machine.runs[1].count = 1;   // the last hand-over, after which nothing is sent
    return machine;
}

ExchangeProgram doubling(u32 size) {
    ExchangeProgram machine;
    machine.neighbours_only = false;
    for (u32 distance = 1; distance < size; distance *= 2) {
        Run run;
        run.out = run.into = static_cast<i32>(distance);
        run.by_xor = true;
        run.bytes = {1, distance};
        run.count = 1;
        machine.runs.push_back(run);
    }
    machine.sends = machine.runs.size();
    machine.runs.push_back(machine.runs.back());
    return machine;
}

LonePhase phase_of(const ExchangeProgram& machine, u32 size, u64 data, u64 hand_over, bool clockwise) {
    Place place;
    place.size = size;
    return {machine, place, data, false, clockwise, hand_over, reduction_ticks};
}

void ends_are_those_of_all_messages() {
    test::Random random(11);
    u32 met = 0;
    for (u32 round = 0; round < 3000; ++round) {
        const u32 classes = u32{1} << (1 + random.below(3));
        const u32 size = classes * (u32{1} << random.below(3));
        const bool halves = random.below(2) == 0;
        const ExchangeProgram machine =
            halves ? doubling(size) : ring(size, random.below(2) == 0, 1 + random.below(2));
        ByClass network(classes, random.below(4) == 0 ? 0 : 1);
        const LonePhase phase = phase_of(machine, size, 1 + random.below(5000), random.below(5), random.below(2) == 0);
        const std::optional<JointPhase> form = joint_phase(phase, network, [&](u32 rank) { return rank % classes; });
        if (!form) {
            continue;
        }
        ++met;
        std::vector<u64> of_class(classes);
        for (u64& start : of_class) {
            start = random.below(3) == 0 ? 0 : random.below(100000);
        }
        if (random.below(4) == 0) {
            std::ranges::fill(of_class, random.below(100000));   // all come at once
        }
        std::vector<u64> starts(size);
        for (u32 rank = 0; rank < size; ++rank) {
            starts[rank] = of_class[rank % classes];
        }
        const std::vector<u64> all = played(phase, network, starts);
        std::vector<u64> ends;
        std::vector<u64> gone;
        form->ends(of_class, ends, gone);
        const u64 last = *std::max_element(of_class.begin(), of_class.end());
        for (u32 rank = 0; rank < size; ++rank) {
            check(ends[rank % classes] == all[rank], "the end of a rank in a joint phase", round);
            check(ends[rank % classes] >= last, "nobody ends before the last has come", round);
        }
        check(form->messages() == machine.sends && form->use(0)[0].messages == machine.sends, "messages of a joint phase", round);
    }
    check(met > 2000, "phases that have such a form", met);
}

void what_events_decide_has_no_form() {
    ByClass network(4, 1);
    const auto by_four = [](u32 rank) { return rank % 4; };
    const ExchangeProgram usual = ring(8, true, 1);
    check(joint_phase(phase_of(usual, 8, 800, 1, true), network, by_four).has_value(), "a ring of four classes", 0);
    check(!joint_phase(phase_of(usual, 8, 800, 1, true), network, [](u32) { return 3; }), "a ring of one class", 0);
    ExchangeProgram wide = usual;
    wide.window = 2;
    check(!joint_phase(phase_of(wide, 8, 800, 1, true), network, by_four), "two packets at a time", 0);
    ExchangeProgram barrier = usual;
    barrier.barrier_at = 1;
    check(!joint_phase(phase_of(barrier, 8, 800, 1, true), network, by_four), "a barrier", 0);
    ExchangeProgram short_one = usual;
    short_one.sends = 2;
    short_one.runs[0].count = 2;
    check(!joint_phase(phase_of(short_one, 8, 800, 1, true), network, by_four), "ends that wait for two of three others", 0);
    ByClass at_once(1, 0);
    check(!joint_phase(phase_of(usual, 8, 0, 1, true), at_once, by_four), "messages that take no time", 0);
}

}  // namespace

int main() {
    ends_are_those_of_all_messages();
    what_events_decide_has_no_form();
}
