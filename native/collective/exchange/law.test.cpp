// What the law says of many happenings at once is what single ones come to.
// needs: collective/make.cpp
#include "collective/exchange/law.hpp"

#include "collective/exchange/test.hpp"

namespace {

using namespace yantra;
using exchange::Follows;
using exchange::Progress;
using test::check;

struct Member {
    explicit Member(const ExchangeProgram& program) : progress(program) {
        for (u64 left = program.window; left > 0; --left) {
            hand_over();
        }
    }
    void hand_over() {
        progress.hand_over();
        ++under_hand_over;
    }

    Progress progress;
    u64 under_hand_over = 0;
    u64 awaited = 0;   // receives posted less receipts
    u64 handed_over = 0;
};

void is_free(Member& m, u64 seed) {
    const ExchangeProgram& program = *m.progress.program;
    --m.under_hand_over;
    ++m.handed_over;
    const bool was_alone = m.progress.sends_one();
    const Follows follows = m.progress.is_free();
    check(!was_alone || follows == Follows{1, false}, "one send, alone", seed);
    for (u32 sent = 0; sent < follows.sends; ++sent) {
        if (m.progress.is_at_barrier()) {
            const u64 come = program.barrier_counts_hand_overs ? m.handed_over - program.window : m.progress.receipts;
            check(m.handed_over >= program.window || m.progress.counts_receipts(), "a window is not yet through", seed);
            check(come >= program.barrier_receipts, "a send passes the barrier", seed);
        }
        m.progress.send();
        ++m.awaited;
    }
    const bool is_over = m.progress.left == 0 && m.awaited == 0 && m.under_hand_over == 0;
    check(follows.ends == (is_over && !m.progress.waits_at_barrier()), "the end", seed);
    check(m.progress.free <= program.window, "more is free than the window holds", seed);
    if (m.progress.left > 0 && !m.progress.is_at_barrier()) {
        check(m.progress.free == 0 || program.window > 1, "a packet waits without a reason", seed);
    }
}

void many_are_so_many_single_ones(const Progress& now, u32 most, u64 seed) {
    Progress waits = now;
    const u32 waiting = waits.wait(most);
    Progress single = now;
    for (u32 at = 0; at < waiting; ++at) {
        check(single.is_free() == Follows{}, "one that waits", seed);
    }
    check(single == waits && waiting <= most, "those that wait", seed);

    single = now;
    Progress at_once = now;
    const u32 sending = now.sending(most);
    for (u32 at = 0; at < sending; ++at) {
        check(single.is_free() == Follows{1, false}, "one that is sent", seed);
        check(single.send() == at_once.send_at_once(), "the run of the next one", seed);
    }
    check(single == at_once && sending <= most, "those that are sent", seed);

    single = now;
    const u32 rounds = now.rounds();
    for (u32 round = 1; round <= rounds; ++round) {
        single.receive();
        check(single.hand_over() == now.handed_over.run && single.sends_one(), "a round", seed);
        check(single.is_free() == Follows{1, false} && !single.send(), "a round is of one run", seed);
        Progress passed = now;
        passed.pass(round);
        check(round == rounds || passed == single, "rounds that are passed", seed);
    }
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 20'000; ++seed) {
        test::Random random(seed);
        const ExchangeProgram program = test::any_exchange(random, 4);
        Member m(program);
        while (m.under_hand_over > 0 || m.awaited > 0) {
            many_are_so_many_single_ones(m.progress, 1 + static_cast<u32>(random.below(m.under_hand_over + 1)), seed);
            if (m.awaited == 0 || (m.under_hand_over > 0 && random.one_in(2))) {
                is_free(m, seed);
            } else {
                --m.awaited;
                m.progress.receive();
                m.hand_over();
            }
        }
        check(m.progress.left == 0 && m.progress.free == program.window, "it stops before the end", seed);
    }
}
