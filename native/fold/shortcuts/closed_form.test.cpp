// A closed form is what the phase takes when all ranks of the level play it by the law of the
// exchange.
// needs: collective/make.cpp
#include "fold/shortcuts/closed_form.hpp"

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

#include "base/test.hpp"
#include "collective/exchange/test.hpp"

namespace {

using namespace yantra;
using test::check;

constexpr u64 longest = u64{1} << 60U;

class OddNetwork final : public NetworkModel, public KnownTimes {
public:
    explicit OddNetwork(bool waits) : waits_(waits) {}
    void send(const Message&, Notice, Notice) override {}
    NetworkCapabilities capabilities() override { return {.known_times = waits_ ? nullptr : this}; }
    static u64 ticks(u32 src, u32 dst, u64 bytes) { return (src * 7 + dst * 5) % 11 + bytes; }
    u64 alone(const Message& message, u64 times, std::vector<LinkUse>& use) const override {
        use.resize(1);
        use[0].bytes += message.bytes * times;
        use[0].messages += times;
        return ticks(message.src.index(), message.dst.index(), message.bytes);
    }
    std::vector<LinkRecord> links() const override { return {}; }
    std::vector<LinkUse> dimensions() const override { return {}; }

private:
    bool waits_;
};

u64 reduction_ticks(u64 bytes) { return bytes / 3; }

test::ByLaw all_ranks(const LonePhase& phase, u64 until = never) {
    const auto ticks = [&](const exchange::PeersOf& of, u64 bytes) {
        const exchange::PeersOf own{of.program, of.run, phase.place, of.clockwise};
        return OddNetwork::ticks(phase.place.rank_at(phase.place.position), phase.place.rank_at(own.to()), bytes);
    };
    return test::ByLaw({phase.machine, std::vector<u64>(phase.place.size), phase.data, phase.round_up, phase.clockwise,
                        phase.hand_over_ticks, reduction_ticks, ticks},
                       until);
}

void forms_are_what_all_ranks_take() {
    OddNetwork network(false);
    u64 found = 0;
    u64 refused = 0;
    for (u32 seed = 0; seed < 20'000; ++seed) {
        test::Random random(seed);
        const u32 size = 2 + static_cast<u32>(random.below(5));
        const ExchangeProgram machine = test::any_exchange(random, size);
        const Place place{.size = size, .stride = 2, .base = 1,
                          .position = static_cast<u32>(random.below(size))};
        const LonePhase phase{machine, place, random.below(20), random.one_in(2), random.one_in(2),
                              random.below(6), reduction_ticks};
        const test::ByLaw all = all_ranks(phase);
        const u64 expected = std::ranges::max(all.ends);
        const std::optional<ClosedForm> form = closed_form(phase, network);
        if (!form) {
            check(expected == never || all.order_decides, "a form was refused", seed);
            ++refused;
            continue;
        }
        ++found;
        check(!all.order_decides, "the order of a tick decides", seed);
        check(form->ticks == expected, "the phase takes another time", seed);
        check(form->messages == machine.sends, "a rank sends another number of messages", seed);
        check(form->use.size() == 1 && form->use[0].messages == machine.sends, "uses", seed);
        check(form->use[0].bytes * size == all.bytes, "other bytes are sent", seed);
    }
    check(found > 5000 && refused > 500, "too few forms are found or refused", found);
}

// At every tick behind its start.
void a_moment_is_where_the_packets_are() {
    OddNetwork network(false);
    u64 under_way = 0;
    for (u32 seed = 0; seed < 4'000; ++seed) {
        test::Random random(seed);
        const u32 size = 2 + static_cast<u32>(random.below(5));
        const ExchangeProgram machine = test::any_exchange(random, size);
        const u32 position = static_cast<u32>(random.below(size));
        const Place place{.size = size, .stride = 2, .base = 1, .position = position};
        const LonePhase phase{machine, place, 1 + random.below(20), random.one_in(2), random.one_in(2),
                              random.below(6), reduction_ticks};
        const std::optional<ClosedForm> form = closed_form(phase, network);
        for (u64 tick = 1; form && tick < form->ticks; ++tick) {
            const PhaseMoment got = moment_after(phase, network, tick);
            const test::ByLaw wanted = all_ranks(phase, tick);
            const auto& member = wanted.member(position);
            check(got.progress == member.progress, "so far are its packets", seed);
            check(got.handed_over.size() == member.under_hand_over, "so many are handed over", seed);
            check(got.under_way.size() == member.under_way, "so many are under way", seed);
            check(std::ranges::equal(got.waiting, member.counters | std::views::take(got.waiting.size())),
                  "arrivals less receives posted", seed);
            under_way += member.under_way;
        }
    }
    check(under_way > 1000, "too few are under way", under_way);
}

std::optional<ClosedForm> of_length(u64 sends, u64 window, u64 hand_over, bool waits = false) {
    Run run;
    run.count = sends + window;
    run.out = 1;
    run.into = -1;
    run.bytes = {0, 1};
    ExchangeProgram machine;
    machine.runs = {run};
    machine.sends = sends;
    machine.window = window;
    const Place place{.size = 3};
    OddNetwork network(waits);
    return closed_form({machine, place, 0, true, true, hand_over, reduction_ticks}, network);
}

std::optional<ClosedForm> of_messages(u64 bytes) {
    Run run;
    run.count = 1;
    run.out = 1;
    run.into = -1;
    ExchangeProgram machine;
    machine.runs = {run, run};
    machine.sends = 1;
    OddNetwork network(false);
    return closed_form({machine, {.size = 3}, bytes, true, true, 0, reduction_ticks}, network);
}

bool takes(const std::optional<ClosedForm>& form, u64 ticks) { return form && form->ticks == ticks; }

void what_no_clock_holds_is_refused() {
    check(!of_length(1, 1, 10, true), "messages that may wait for each other", 0);
    for (u64 window : {u64{1}, u64{2}}) {
        const u64 all = longest - OddNetwork::ticks(0, 1, 0);   // of two hand-overs, one after the other
        check(takes(of_length(1, window, all / 2), all / 2 * 2 + 5), "a long phase", window);
        for (u64 hand_over : {longest / 2, longest, longest + 1, ~u64{0} / 2, ~u64{0}}) {
            check(!of_length(1, window, hand_over), "a phase that is too long", window);
        }
    }
    check(takes(of_length(0, 1, longest), longest), "as long as the clock goes", 0);
    check(!of_length(0, 1, longest + 1), "longer than the clock goes", 0);
    check(!of_length(u64{1} << 40U, 1, u64{1} << 40U), "a sum that is too large", 0);
    const u64 bytes = longest - OddNetwork::ticks(0, 1, 0);
    check(takes(of_messages(bytes), longest), "a message as long as the clock goes", 0);
    check(!of_messages(bytes + 1), "a message longer than the clock goes", 0);
    check(!of_length(u64{1} << 60U, 1, 1), "messages that take too long", 0);
}

void all_peers_are_asked() {
    ExchangeProgram machine;
    machine.runs.resize(2);
    machine.runs[0].out = 1;
    machine.runs[0].into = -1;
    machine.runs[1].out = 3;
    machine.runs[1].into = -3;
    const Place place{.size = 8, .stride = 10, .base = 5, .position = 2};
    std::set<u32> asked;
    check(all_peers(machine, place, [&](u32 rank) { return asked.insert(rank), true; }), "all are alike", 0);
    check(asked == std::set<u32>{15, 35, 55, 75}, "others were asked", asked.size());
    for (u32 other : asked) {
        check(!all_peers(machine, place, [&](u32 rank) { return rank != other; }), "one is not alike", other);
    }
    machine.runs[0].by_xor = machine.runs[1].by_xor = true;
    machine.runs[0].into = 1;
    machine.runs[1].into = 3;
    asked.clear();
    all_peers(machine, place, [&](u32 rank) { return asked.insert(rank), true; });
    check(asked == std::set<u32>{15, 35}, "others were asked by exclusive or", asked.size());
}

void forms_are_found_once_and_repeated() {
    ClosedForms forms;
    const ClosedForms::Key key{1, 2, 3, 4, 5, 6, true};
    u64 asked = 0;
    const auto find = [&] { return ++asked, std::optional(ClosedForm{10, 2, {}, {}}); };
    forms.of(key, find).times += 3;
    forms.mark();
    forms.of(key, find).times += 4;
    check(asked == 1, "a form is found again", asked);
    forms.repeat(5);
    forms.for_each([](u32 rank, const ClosedForm& form, u64 times) {
        check(rank == 2 && form.ticks == 10 && times == 3 + 4 + 4 * 5, "what was used is repeated", times);
    });
    for (u64 part = 0; part < 7; ++part) {
        ClosedForms::Key other = key;
        other.data += part == 0;
        other.rank += part == 1;
        other.plan += part == 2;
        other.communicator += part == 3;
        other.level += part == 4;
        other.program += part == 5;
        other.clockwise ^= part == 6;
        forms.of(other, find);
        check(asked == part + 2, "two phases share a form", part);
    }
}

}  // namespace

int main() {
    forms_are_what_all_ranks_take();
    a_moment_is_where_the_packets_are();
    what_no_clock_holds_is_refused();
    all_peers_are_asked();
    forms_are_found_once_and_repeated();
}
