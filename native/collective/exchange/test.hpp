// For tests of the drivers: any program, and all members of its phase by the law alone.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/never.hpp"
#include "base/test.hpp"
#include "collective/exchange/law.hpp"
#include "collective/make.hpp"

namespace yantra::test {

struct ExchangeOfAll {
    const ExchangeProgram& program;
    std::vector<u64> starts;   // by position, as are all members
    u64 data = 0;
    bool round_up = false;
    bool clockwise = true;
    u64 hand_over = 0;   // ticks
    std::function<u64(u64 bytes)> reduction;
    std::function<u64(const exchange::PeersOf&, u64 bytes)> message;
};

class ByLaw {
public:
    explicit ByLaw(const ExchangeOfAll& of, u64 until = never)
        : of_(of), members_(of.starts.size()) {
        const auto size = static_cast<u32>(members_.size());
        for (u32 at = 0; at < size; ++at) {
            Member& m = members_[at];
            m.place = {.size = size, .stride = 1, .index_stride = 1, .base = 0, .position = at};
            m.progress = exchange::Progress(of.program);
            m.counters.resize(size);
            m.last_arrival.resize(size);
            in(of.starts[at], [this, &m] {
                for (u64 left = of_.program.window; left > 0; --left) {
                    hand_over(m);
                }
            });
        }
        while (!happenings_.empty() && happenings_.begin()->first < until) {
            const auto [tick, happens] = *happenings_.begin();
            happenings_.erase(happenings_.begin());
            now_ = tick;
            happens();
        }
        for (const Member& m : members_) {
            ends.push_back(m.end);
        }
    }

    std::vector<u64> ends;             // never if it never does
    bool order_decides = false;   // a receipt and a look for it came in one tick
    u64 bytes = 0;                // that all send

    struct Member {
        Place place;
        exchange::Progress progress;
        u64 under_hand_over = 0;
        u64 under_way = 0;          // messages
        std::vector<i32> counters;
        std::vector<u64> last_arrival;   // by counter of the receiver
        u64 end = never;
        u64 receipt = never;        // ticks of the last
        u64 look = never;
    };
    const Member& member(u32 position) const { return members_[position]; }

private:
    void in(u64 ticks, std::function<void()> happens) { happenings_.emplace(now_ + ticks, std::move(happens)); }

    void hand_over(Member& m) {
        const Run& run = of_.program.runs[m.progress.hand_over()];
        const u64 reduced = run.reduces() ? of_.reduction(run.reduce.of(of_.data, of_.round_up)) : 0;
        ++m.under_hand_over;
        in(of_.hand_over + reduced, [this, &m] { is_free(m); });
    }
    void is_free(Member& m) {
        --m.under_hand_over;
        if (m.progress.is_at_barrier() && m.progress.counts_receipts()) {
            m.look = now_;
            order_decides |= m.receipt == now_;
        }
        const exchange::Follows follows = m.progress.is_free();
        for (u32 sent = 0; sent < follows.sends; ++sent) {
            send(m);
        }
        if (follows.ends) {
            check(m.end == never, "a phase ends twice", now_);
            m.end = now_;
        }
    }
    void send(Member& m) {
        const Run& run = of_.program.runs[m.progress.sent.run];
        const exchange::PeersOf peers{of_.program, run, m.place, of_.clockwise};
        m.progress.send();
        const u64 size = run.bytes.of(of_.data, of_.round_up);
        bytes += size;
        u64 arrival = now_ + of_.message(peers, size);
        if (of_.program.returns) {
            arrival = exchange::in_order(m.last_arrival[peers.counter_of_to()], arrival);
        }
        ++m.under_way;
        in(arrival - now_, [this, &m, &to = members_[peers.to()], counter = peers.counter_there()] {
            --m.under_way;
            if (exchange::arrives(to.counters[counter])) {
                receive(to);
            }
        });
        if (exchange::is_posted(m.counters[peers.counter_of_from()])) {
            in(0, [this, &m] { receive(m); });
        }
    }
    void receive(Member& m) {
        m.progress.receive();
        m.receipt = now_;
        order_decides |= m.progress.counts_receipts() && m.look == now_;
        hand_over(m);
    }

    const ExchangeOfAll of_;
    std::vector<Member> members_;
    std::multimap<u64, std::function<void()>> happenings_;   // those of a tick in order
    u64 now_ = 0;
};

inline ExchangeProgram any_exchange(Random& random, u32 size) {
    const u64 window = random.one_in(3) ? 1 : 1 + random.below(4);
    const u64 sends = 1 + random.below(6);
    const bool is_ring = random.one_in(2);
    const bool by_xor = (size & (size - 1)) == 0 && !is_ring && random.one_in(2);
    const Share usual{random.below(3), 1 + random.below(3)};
    const bool in_sizes = random.one_in(2);
    std::vector<Run> runs;
    for (u64 packets = sends + window; packets > 0; packets -= std::min(packets, runs.back().count)) {
        Run run;
        run.count = 1 + random.below(packets + (random.one_in(3) ? 2 : 0));
        run.by_xor = by_xor;
        run.out = is_ring ? 1 : 1 + static_cast<i32>(random.below(size - 1));
        run.into = by_xor ? run.out : -run.out;
        run.bytes = in_sizes ? Share{random.below(3), 1 + random.below(3)} : usual;
        run.reduce = random.one_in(2) ? Share{0, 1} : Share{1 + random.below(2), 1 + random.below(2)};
        runs.push_back(run);
    }
    const std::size_t other = random.below(runs.size());
    if (runs[0].count == runs[other].count) {
        std::swap(runs[0].into, runs[other].into);
    }
    Barrier barrier;
    if (random.one_in(2)) {
        barrier.at = 1 + random.below(sends);
        barrier.receipts = random.below(sends - barrier.at + 1);
        barrier.counts_hand_overs = random.one_in(2);
    }
    return make_exchange(runs, window, sends, barrier);
}

}  // namespace yantra::test
